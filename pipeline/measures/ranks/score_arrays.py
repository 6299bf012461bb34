"""The ranks of judged documents in dicts of scores, counted over arrays that hold the scores of many queries."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from math import inf
from operator import itemgetter
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from goldbench.pipeline.measures.ranks.judged_ranks import Hit, Placed, Qrels
from goldbench.pipeline.measures.ranks.order import count_above, in_tie_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOGETHER = 250_000
"""From this number of scores on no further query is counted with those before it."""


_Query = tuple[str, Mapping[str, float], Sequence[tuple[str, int]]]
"""A query, its results, and the judged documents among them with their grades."""

_Row = tuple[int, int, int, int]
_HIT: Callable[[_Row], Hit] = partial(tuple.__new__, Hit)  # a call of `Hit` itself takes longer


def place_by_arrays(qrels: Qrels, run: Mapping[str, Mapping[str, float]], *, single: bool) -> dict[str, Placed]:
    """Return where each judged query of ``run`` has its judged documents.

    Args:
        qrels: The judgments.
        run: The score of each retrieved document, by query.
        single: Whether scores are compared in single precision.

    Raises:
        TypeError: A score is not a number.
        ValueError: A score is not finite.
    """
    placed: dict[str, Placed] = {}
    for queries in _batches(qrels, run):
        placed |= _placed(queries, single=single)
    return placed


def _batches(qrels: Qrels, run: Mapping[str, Mapping[str, float]]) -> Iterator[list[_Query]]:
    """Yield the judged queries of the run in groups, in their order."""
    queries: list[_Query] = []
    size = 0
    for query_id, judged in qrels.items():
        documents = run.get(query_id)
        if documents is not None:
            found = [(doc_id, grade) for doc_id, grade in judged.items() if doc_id in documents and grade >= 0]
            queries.append((query_id, documents, found))
            size += len(documents)
            if size >= _TOGETHER:
                yield queries
                queries, size = [], 0
    yield queries


def _placed(queries: Sequence[_Query], *, single: bool) -> dict[str, Placed]:
    dtype = np.float32 if single else np.float64
    sizes = [len(documents) for _, documents, _ in queries]
    values = _numbers([documents.values() for _, documents, _ in queries], sum(sizes), dtype)
    starts = [0, *accumulate(sizes)]
    places = [0, *accumulate(len(found) for _, _, found in queries)]
    own = _numbers([[documents[doc_id] for doc_id, _ in found] for _, documents, found in queries], places[-1], dtype)
    above, equal = _counted_alone(values, np.array(starts), own, np.array(places))
    placed = {}
    for at, (query_id, documents, found) in enumerate(queries):
        hits: list[Hit] = []
        if len(found) == 1:
            hits = [_HIT((above[at] + 1, found[0][1], above[at], equal[at]))]
        elif found:
            counts = count_above(values[starts[at] : starts[at + 1]], own[places[at] : places[at + 1]])
            hits = [_HIT((a + 1, grade, a, e)) for (_, grade), a, e in zip(found, *counts, strict=True)]
        if hits and any(hit.equal > 1 for hit in hits):
            scores = values[starts[at] : starts[at + 1]].tolist()
            hits = _by_id(found, hits, dict(zip(documents, scores, strict=True)))
        if len(hits) > 1:
            hits.sort(key=itemgetter(0))
        placed[query_id] = Placed(sizes[at], hits)
    return placed


def _numbers(columns: Sequence[Collection[float]], count: int, dtype: type) -> NDArray[Any]:
    """Return numbers in one array; struct takes no text for a number, as numpy would.

    Args:
        columns: The numbers.
        count: How many they are in all.
        dtype: The type in which they are compared.
    """
    numbers = np.frombuffer(Struct(f"{count}d").pack(*chain.from_iterable(columns)))
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(numbers.sum()) and not np.isfinite(numbers).all():
            raise ValueError
        return numbers.astype(dtype, copy=False)


def _counted_alone(
    values: NDArray[Any], starts: NDArray[np.int64], own: NDArray[Any], places: NDArray[np.int64]
) -> tuple[list[int], list[int]]:
    """Return for each query with one judged document how many scores are higher than its own, and how many equal."""
    alone = np.diff(places) == 1
    bars = np.full(len(alone), inf, values.dtype)
    bars[alone] = own[places[:-1][alone]]
    bars = np.repeat(bars, np.diff(starts))
    higher, same = (np.searchsorted(np.flatnonzero(met), starts) for met in (values > bars, values == bars))
    return np.diff(higher).tolist(), np.diff(same).tolist()


def _by_id(found: Sequence[tuple[str, int]], hits: Sequence[Hit], scores: Mapping[str, float]) -> list[Hit]:
    """Return the hits of a query, those of equal scores with the ranks that their ids give them.

    Args:
        found: The judged documents.
        hits: The hit of each of them.
        scores: All scores of the query, as they are compared.
    """
    tied: dict[float, list[str]] = {
        scores[doc_id]: [] for (doc_id, _), hit in zip(found, hits, strict=True) if hit.equal > 1
    }
    for doc_id, score in scores.items():
        if score in tied:
            tied[score].append(doc_id)
    ranks = {one: rank for ids in tied.values() for rank, one in enumerate(in_tie_order(ids))}
    return [
        hit if hit.equal == 1 else _HIT((hit.rank + ranks[doc_id], *hit[1:]))
        for (doc_id, _), hit in zip(found, hits, strict=True)
    ]
