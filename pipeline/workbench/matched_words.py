"""The words that a query and a passage share, by the stems that decide what a lexical search finds."""

from __future__ import annotations

from functools import lru_cache

from goldbench.pipeline.review.payload import LONGEST, stretches
from goldbench.pipeline.text.words import content_terms, index_terms

_WORDS_KNOWN = 2**17
"""Words whose stems are remembered."""


@lru_cache(maxsize=_WORDS_KNOWN)
def _stems(word: str, language: str | None) -> frozenset[str]:
    return index_terms(word, language)


@lru_cache(maxsize=1024)
def wanted_terms(query: str, language: str | None) -> frozenset[str]:
    """Return the stems of a query that carry meaning; see `content_terms`."""
    return frozenset(content_terms(query, language))


def matched_words(query: str, text: str, language: str | None) -> dict[str, list[str]]:
    """Return the stems that a passage shares with a query, each with the forms that it has in the passage.

    Args:
        query: The query.
        text: The passage, of which the first 50,000 characters count.
        language: The language of the query, ISO 639-1, or None.
    """
    wanted = wanted_terms(query, language)
    found: dict[str, list[str]] = {}
    if wanted:
        for word in dict.fromkeys(text[start:end] for start, end in stretches(text[:LONGEST])):
            for term in wanted & _stems(word, language):
                found.setdefault(term, []).append(word)
    return dict(sorted(found.items()))
