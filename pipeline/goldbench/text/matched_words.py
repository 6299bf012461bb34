"""The words that a query and a passage share, by the stems that decide what a lexical search finds."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache

from goldbench.text.scripts import is_spaceless
from goldbench.text.words import content_terms, parts, stems

LONGEST = 50_000
"""Characters of a passage that are searched for words."""

_MOST_FORMS = 8
"""Forms of one word that are told apart; a text with more repeats itself in many inflections."""


def wanted_words(query: str, language: str | None) -> list[str]:
    """Return the distinct stems of a query that carry meaning, in order; see `content_terms`."""
    return list(dict.fromkeys(content_terms(query, language)))


def matched_forms(query: str, texts: Iterable[str], language: str | None) -> list[list[str]]:
    """Return for each word of a query that carries meaning the forms in which it stands in texts; empty for none.

    Args:
        query: The query.
        texts: The passages.
        language: The language of the query, ISO 639-1; None if it is not known.
    """
    forms: dict[str, dict[str, None]] = {word: {} for word in wanted_words(query, language)}
    spaceless = [word for word in forms if is_spaceless(word)]
    for text in texts:
        for word in distinct_words(text):
            stem = _stem(word, language)
            if stem in forms:
                forms[stem][word] = None
        for word in spaceless:
            if word in text[:LONGEST]:
                forms[word][word] = None
    return [sorted(form)[:_MOST_FORMS] for form in forms.values()]


def matched_words(query: str, text: str, language: str | None) -> dict[str, list[str]]:
    """Return the stems that a passage shares with a query, each with the forms that it has in the passage.

    Args:
        query: The query.
        text: The passage.
    """
    forms = zip(wanted_words(query, language), matched_forms(query, (text,), language), strict=True)
    return {word: matches for word, matches in sorted(forms) if matches}


def shares_words(query: str, text: str, language: str | None) -> bool:
    """Return whether a passage has a word of a query that carries meaning; true for a query without such words.

    Args:
        query: The query.
        text: The passage.
    """
    wanted = frozenset(wanted_words(query, language))
    begin = text[:LONGEST]
    return (
        not wanted
        or any(_stem(word, language) in wanted for word in distinct_words(text))
        or any(word in begin for word in wanted if is_spaceless(word))
    )


@lru_cache(maxsize=2**15)
def distinct_words(text: str) -> tuple[str, ...]:
    """Return the words of the first 50,000 characters of a text, in lower case, each once."""
    return tuple(dict.fromkeys(sys.intern(word.lower()) for word in parts(text[:LONGEST])))


@lru_cache(maxsize=2**17)
def _stem(word: str, language: str | None) -> str:
    return stems([word.casefold()], language)[0]
