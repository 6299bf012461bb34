"""Wordings of models that are no query and no answer: refusals, declining answers, placeholders, instructions.

The patterns are those of ``wordings.toml``, in the languages that models most often write in.
"""

from __future__ import annotations

from functools import cache

import regex

from goldbench.text import table

_LONGEST_DECLINING = 300
"""Characters of an answer that is searched for words which decline to answer; a longer one says something."""


def is_refusal(query: str) -> bool:
    """Return whether a text declines to write a query; «I cannot create an invoice» is a user's problem."""
    return _matches(_compiled("declines", "queries"), query)


def declines(answer: str) -> bool:
    """Return whether an answer says that it cannot be given: «N/A», «the text does not say»."""
    return len(answer) <= _LONGEST_DECLINING and (
        is_refusal(answer) or _matches(_compiled("declines", "answers"), answer)
    )


def placeholder(query: str, passage: str) -> str | None:
    """Return the part of a query that something else should stand for, None if all such parts stand in the passage."""
    for pattern in _compiled("placeholders", "patterns"):
        match = pattern.search(query)
        if match and match.group() not in passage:
            return str(match.group())
    return None


def is_instruction(query: str, passage: str) -> bool:
    """Return whether a text gives or follows an order; a passage that is about queries may be asked about them."""
    for pattern in _compiled("instructions", "patterns"):
        match = pattern.search(query)
        noun = match and match.groupdict().get("noun")
        if match and not (noun and noun.casefold() in passage.casefold()):
            return True
    return False


def is_yes_or_no(answer: str) -> bool:
    """Return whether an answer begins with yes or no."""
    return _matches(_compiled("yes-no", "answers"), answer)


def asks_why(query: str, language: str | None) -> bool:
    """Return whether a query asks for a reason; False in languages without a list."""
    return _matches(_compiled("why", _code(language)), query)


def gives_cause(text: str, language: str | None) -> bool:
    """Return whether a text holds words that introduce a cause or a purpose; True in languages without a list."""
    patterns = _compiled("cause", _code(language))
    return not patterns or _matches(patterns, text)


def _code(language: str | None) -> str:
    return (language or "").split("-")[0]


def _matches(patterns: tuple[regex.Pattern[str], ...], text: str) -> bool:
    return any(pattern.search(text) for pattern in patterns)


@cache
def _compiled(group: str, name: str) -> tuple[regex.Pattern[str], ...]:
    listed = table("wordings")[group].get(name, ())
    noun = table("wordings")["names"]["TEXT"]
    patterns = (listed,) if isinstance(listed, str) else listed
    return tuple(regex.compile(pattern.replace("<TEXT>", noun), regex.IGNORECASE) for pattern in patterns)
