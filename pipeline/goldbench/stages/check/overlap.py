"""How many of a query's words stand in the text it was written from."""

from __future__ import annotations

from functools import partial

from goldbench.text.scripts import is_spaceless
from goldbench.text.words import content_terms, index_terms, stop_words, term_weight, terms, words

_NEXT = "\n"
"""Separates terms; it is never part of one."""


def overlap(query: str, indexed_text: str, language: str | None) -> float | None:
    """Return the share of the query's content terms that stand in the text, 0 to 1; None for a query without any.

    Args:
        query: The query.
        indexed_text: The chunk as retrievers see it.
        language: ISO 639-1, for function words and stems.
    """
    query_terms = set(content_terms(query, language))
    if not query_terms:
        return None
    return len(query_terms & index_terms(indexed_text, language)) / len(query_terms)


def copied_run(query: str, text: str) -> float:
    """Return the longest stretch of the query that stands word for word in the text, in words.

    Punctuation and case do not count. A name counts as one word, however it is put together: `dpkg-reconfigure` and
    `Red Hat Enterprise Linux` cannot be said otherwise. A character of a script without spaces counts as the part of a
    word given by ``term_weight``.
    """
    query_terms = weighted_terms(query)
    source = f" {' '.join(terms(text))} "
    longest = weight = 0.0
    start = 0
    for end, (_, added) in enumerate(query_terms, 1):
        weight += added
        while start < end and f" {' '.join(term for term, _ in query_terms[start:end])} " not in source:
            weight -= query_terms[start][1]
            start += 1
        longest = max(longest, weight)
    return longest


def weighted_terms(text: str) -> list[tuple[str, float]]:
    """Return the terms of a text, each with the part of a word that it counts for when it is copied."""
    weighted: list[tuple[str, float]] = []
    in_name = False
    for word in words(text):
        capital = word[0].isupper()
        parts = terms(word)
        share = 0.0 if in_name and capital else 1 / max(1, len(parts))
        weighted += [(part, share * term_weight(part)) for part in parts]
        in_name = capital and bool(weighted)
    return weighted


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
