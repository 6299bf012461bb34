"""The words that a query and a passage share, by the stems that decide what a lexical search finds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from goldbench.pipeline.text.scripts import is_spaceless
from goldbench.pipeline.text.words import content_terms, parts, stems

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
    wanted = wanted_words(query, language)
    forms: dict[str, dict[str, None]] = {word: {} for word in wanted}
    for text in texts:
        own = forms_by_stem(text[:LONGEST], language)
        for word in wanted:
            forms[word] |= own.get(word, {}) or ({word: None} if is_spaceless(word) and word in text else {})
    return [sorted(found)[:_MOST_FORMS] for found in forms.values()]


def shares_words(query: str, text: str, language: str | None) -> bool:
    """Return whether a passage has a word of a query that carries meaning; true for a query without such words.

    Args:
        query: The query.
        text: The passage.
        language: As in `matched_forms`.
    """
    found = matched_forms(query, (text,), language)
    return not found or any(found)


@lru_cache(maxsize=2**12)
def forms_by_stem(text: str, language: str | None) -> Mapping[str, dict[str, None]]:
    """Return the words of a text in lower case, by their stems.

    Args:
        text: The text.
        language: As in `matched_forms`.
    """
    written = list(dict.fromkeys(word.lower() for word in parts(text)))
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for word, stem in zip(written, stems([word.casefold() for word in written], language), strict=True):
        found[stem][word] = None
    return found
