"""How likely a model found its own reply: read from a response, and kept with the stored answer."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from goldbench.pipeline.ports import Likelihood

_FRAME = re.compile(r'[{\s]*"[^"]*"\s*:\s*"')
"""The JSON before the text of a reply with one field."""


def likelihood_of(choice: Mapping[str, Any]) -> Likelihood | None:
    """Return the likelihood of the text in the first choice of a response, None where the server gives none."""
    listed = choice.get("logprobs")
    tokens = listed.get("content") if isinstance(listed, dict) else None
    if not isinstance(tokens, list) or not tokens:
        return None
    try:
        pairs = [(str(token["token"]), float(token["logprob"])) for token in tokens]
    except (KeyError, TypeError, ValueError):
        return None
    values = _inside(pairs)
    if not values or not all(map(math.isfinite, values)):
        return None
    return Likelihood(math.fsum(values) / len(values), min(values))


def _inside(pairs: list[tuple[str, float]]) -> list[float]:
    """Return the values of the tokens between the quotation marks of the one field, of all where there is none."""
    whole = "".join(token for token, _ in pairs)
    frame = _FRAME.match(whole)
    start, end = (frame.end(), whole.rfind('"')) if frame else (0, len(whole))
    found, place = [], 0
    for token, value in pairs:
        if place >= start and place + len(token) <= end:
            found.append(value)
        place += len(token)
    return found


def dumped(likelihood: Likelihood | None) -> str:
    """Return a likelihood as the store keeps it, empty for none."""
    return "" if likelihood is None else json.dumps([likelihood.mean, likelihood.least])


def loaded(text: str) -> Likelihood | None:
    """Return the likelihood that `dumped` wrote."""
    return Likelihood(*json.loads(text)) if text else None
