"""How likely a model finds its reply, and how likely yes rather than no, by the log-probabilities of a response."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from goldbench.llm.reply_body import value_at
from goldbench.ports import Likelihood

_FRAME = re.compile(r'[{\s]*"[^"]*"\s*:\s*"')
"""The JSON before the text of a reply with one field."""
_YES = ("yes", "ja", "oui", "sí", "si", "sim", "是", "はい", "да", "نعم", "हाँ")
_NO = ("no", "nein", "non", "não", "否", "不", "不是", "いいえ", "нет", "لا", "नहीं")
"""Words for yes and no; asked in English, some models answer in the language of the passage."""
_AROUND = " \t\n▁Ġ.*\"'"
"""What may stand around the word in a token; the two letters are how some tokenizers show a space."""
_LEAST_SHARE = 0.5
"""The least that yes and no take together of the first token."""


def likelihood_of(choice: Mapping[str, Any]) -> Likelihood | None:
    """Return the likelihood of the text in the first choice of a response, None where the server gives none."""
    try:
        tokens = value_at(choice, "logprobs", "content") or ()
        values = _inside([(str(token["token"]), float(token["logprob"])) for token in tokens])
    except (KeyError, TypeError, ValueError):
        return None
    if not values or not all(map(math.isfinite, values)):
        return None
    return Likelihood(math.fsum(values) / len(values), min(values))


def _inside(pairs: list[tuple[str, float]]) -> list[float]:
    """Return the values of the tokens between the quotation marks of the one field, of all where there is none."""
    whole = "".join(token for token, _ in pairs)
    frame = _FRAME.match(whole)
    start = frame.end() if frame else 0
    end = whole.rfind('"') if frame else len(whole)
    values: list[float] = []
    position = 0
    for token, value in pairs:
        if position >= start and position + len(token) <= end:
            values.append(value)
        position += len(token)
    return values


def yes_probability(choice: Mapping[str, Any]) -> float | None:
    """Return how likely the first token is yes rather than no; None if the server does not list tokens.

    Spellings count together ("Yes", " yes"). None too if the model would mostly begin with something else, such as a
    thought: then the ratio of two unlikely words says nothing.
    """
    shares = dict.fromkeys((*_YES, *_NO), 0.0)
    try:
        for token in value_at(choice, "logprobs", "content", 0, "top_logprobs") or ():
            word = str(token["token"]).strip(_AROUND).casefold()
            value = float(token["logprob"])
            if word in shares and not math.isnan(value):
                shares[word] += math.exp(min(0.0, value))
    except (KeyError, TypeError, ValueError):
        return None
    yes = math.fsum(shares[word] for word in _YES)
    both = yes + math.fsum(shares[word] for word in _NO)
    return yes / both if both >= _LEAST_SHARE else None


def dumped(likelihood: Likelihood | None) -> str:
    """Return a likelihood as the store keeps it, empty for none."""
    return "" if likelihood is None else json.dumps([likelihood.mean, likelihood.least])


def loaded(text: str) -> Likelihood | None:
    """Return the likelihood that `dumped` wrote."""
    return Likelihood(*json.loads(text)) if text else None
