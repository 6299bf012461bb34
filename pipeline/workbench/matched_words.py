"""The words that a query and a passage share, by the stems that decide what a lexical search finds."""

from __future__ import annotations

from functools import lru_cache

from goldbench.pipeline.review.payload import LONGEST, stretches
from goldbench.pipeline.text.words import content_terms, index_terms

_WORDS_KNOWN = 2**17
"""Words whose stems are remembered."""

_PASSAGES_KNOWN, _QUERIES_KNOWN = 4096, 64
"""Passages whose words are remembered, and queries whose matches are."""


@lru_cache(maxsize=_WORDS_KNOWN)
def _stems(word: str, language: str | None) -> frozenset[str]:
    return index_terms(word, language)


@lru_cache(maxsize=_PASSAGES_KNOWN)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text, each once."""
    return tuple(dict.fromkeys(text[start:end] for start, end in stretches(text)))


class _Matcher:
    """Remembers which stems words share with a query."""

    def __init__(self, query: str, language: str | None) -> None:
        self._wanted, self._language = wanted_terms(query, language), language
        self._known: dict[str, tuple[str, ...]] = {}

    def shared(self, word: str) -> tuple[str, ...]:
        """Return the stems of the query that a word has."""
        found = self._known.get(word)
        if found is None:
            found = self._known[word] = tuple(self._wanted & _stems(word, self._language))
        return found


@lru_cache(maxsize=_QUERIES_KNOWN)
def _matcher(query: str, language: str | None) -> _Matcher:
    return _Matcher(query, language)


@lru_cache(maxsize=_PASSAGES_KNOWN)
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
    matcher = _matcher(query, language)
    found: dict[str, list[str]] = {}
    for word in _words(text[:LONGEST]):
        for term in matcher.shared(word):
            found.setdefault(term, []).append(word)
    return dict(sorted(found.items()))
