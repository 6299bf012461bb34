"""How near a log is to passages and to the gold set's queries: by words, or by a system of vectors."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.coverage import Nearest, Words
from goldbench.ports import Retriever
from goldbench.text.words import content_terms, terms

DEEP = 50
"""Results of a system of vectors read for a query of the gold set to find the best passage that does not answer it."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """How near the log is to passages and to the gold set's queries, and how near the gold set is to both.

    ``gold_others`` is how near its queries are to passages that do not answer them.
    """

    measure: str
    log_passages: Nearest
    gold_passages: Nearest
    gold_others: Nearest
    log_gold: Nearest
    gold_gold: Nearest


def by_words(
    words: Words,
    texts: Sequence[str],
    queries: Mapping[str, str],
    answers: Mapping[str, Collection[int]],
    language: str | None,
) -> Neighbours:
    """Return how near queries are by their words.

    Args:
        words: The words of the passages.
        texts: The queries of the log.
        queries: The queries of the gold set, by id.
        answers: The positions of the passages that answer them.
        language: ISO 639-1 code of most passages, or None.
    """
    log, own = (
        [content_terms(text, language) or terms(text) for text in group] for group in (texts, list(queries.values()))
    )
    return Neighbours(
        measure="passages: weighted share of the query's words; queries: TF-IDF cosine",
        log_passages=words.coverage(log),
        gold_passages=words.coverage(own),
        gold_others=words.coverage(own, without=[answers[query_id] for query_id in queries]),
        log_gold=words.likeness(log, own),
        gold_gold=words.likeness(own),
    )


def by_vectors(
    name: str,
    system: Retriever,
    corpus: Mapping[str, str],
    texts: Sequence[str],
    queries: Mapping[str, str],
    answers: Mapping[str, Collection[int]],
) -> Neighbours:
    """Return how near queries are by the cosines of a system, which indexes the passages and then the queries.

    Args:
        name: The system's name.
        system: The system.
        corpus: The passages, by id.
        texts: The queries of the log.
        queries: The queries of the gold set, by id.
        answers: The positions of the passages that answer them.
    """
    log_texts = {f"log-{position}": text for position, text in enumerate(texts)}
    system.index(corpus)
    numbers = {doc_id: row for row, doc_id in enumerate(corpus)}
    log_passages = _first(system.search(log_texts, k=1), list(log_texts), numbers)
    deep = system.search(queries, k=min(DEEP, len(corpus)))
    gold_passages = _first(deep, list(queries), numbers)
    others = {
        query_id: {doc_id: score for doc_id, score in neighbours.items() if numbers[doc_id] not in answers[query_id]}
        for query_id, neighbours in deep.items()
    }
    gold_others = _first(others, list(queries), numbers)
    system.index(queries)
    numbers = {query_id: row for row, query_id in enumerate(queries)}
    return Neighbours(
        measure=f"cosine of {name}",
        log_passages=log_passages,
        gold_passages=gold_passages,
        gold_others=gold_others,
        log_gold=_first(system.search(log_texts, k=1), list(log_texts), numbers),
        gold_gold=_first(system.search(queries, k=2), list(queries), numbers, own=True),
    )


def _first(
    run: Mapping[str, Mapping[str, float]], query_ids: Sequence[str], numbers: Mapping[str, int], *, own: bool = False
) -> Nearest:
    likeness = np.zeros(len(query_ids))
    position = np.full(len(query_ids), -1, dtype=np.int64)
    for row, query_id in enumerate(query_ids):
        for doc_id, score in run.get(query_id, {}).items():
            if not (own and doc_id == query_id):
                likeness[row], position[row] = score, numbers[doc_id]
                break
    return Nearest(likeness, position)
