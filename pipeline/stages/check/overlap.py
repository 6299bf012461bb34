"""How many of a query's words stand in the text it was written from."""

from __future__ import annotations

from functools import partial

from goldbench.pipeline.text.scripts import is_spaceless
from goldbench.pipeline.text.words import content_terms, index_terms, stop_words, term_weight, terms

_NEXT = "\n"
"""Separates terms; it is never part of one."""


def overlap(query: str, indexed_text: str, language: str | None) -> float | None:
    """Return the share of the query's content terms that stand in the text, 0 to 1; None for a query without any.

    Args:
        query: The query.
        indexed_text: The chunk as retrievers see it.
        language: ISO 639-1, for function words and stems.
    """
    asked = set(content_terms(query, language))
    if not asked:
        return None
    return len(asked & index_terms(indexed_text, language)) / len(asked)


def copied_run(query: str, text: str) -> float:
    """Return the longest stretch of the query that stands word for word in the text, in words.

    Punctuation and case do not count. A character of a script without spaces counts as the part of a word given by
    ``term_weight``.
    """
    asked = terms(query)
    there = f" {' '.join(terms(text))} "
    longest, start, weight = 0.0, 0, 0.0
    for end, term in enumerate(asked, 1):
        weight += term_weight(term)
        while start < end and f" {' '.join(asked[start:end])} " not in there:
            weight -= term_weight(asked[start])
            start += 1
        longest = max(longest, weight)
    return longest


def holds_answer(query: str, answer: str, language: str | None) -> bool:
    """Return whether the content words of an answer of at least two words stand in a row in the query.

    Args:
        query: The query.
        answer: The answer to the query.
        language: As in `overlap`.
    """
    stop = stop_words(language)
    if sum(term_weight(term) for term in terms(answer) if term not in stop) < 2:
        return False
    # Character n-grams between function words do not keep their order: there the answer counts as written.
    parts = terms if is_spaceless(answer) else partial(content_terms, language=language)
    wanted = parts(answer)
    return bool(wanted) and f"\n{_NEXT.join(wanted)}\n" in f"\n{_NEXT.join(parts(query))}\n"
