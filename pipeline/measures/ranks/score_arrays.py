"""The ranks of judged documents in dicts of scores, counted over arrays that hold the scores of many queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, repeat
from math import inf, nan
from struct import pack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from goldbench.pipeline.measures.ranks.judged_ranks import Placed, Qrels
from goldbench.pipeline.measures.ranks.order import count_above, in_tie_order
from goldbench.pipeline.measures.ranks.placed_columns import placed_queries

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOGETHER = 250_000
"""From this number of scores on no further query is counted with those before it."""


_Query = tuple[str, Mapping[str, float], Mapping[str, int]]
"""A query, its results and its judgments."""


@dataclass(frozen=True, slots=True)
class _Hits:
    """The judged documents that were retrieved, by query: those of query ``i`` are from ``ends[i]`` to ``ends[i + 1]``.

    ``turns`` is the place of each among the judged documents of its query, ``scores`` is as they are compared.
    """

    turns: NDArray[np.int64]
    grades: NDArray[np.int64]
    scores: NDArray[Any]
    ends: NDArray[np.int64]

    def parts(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, slice]]:
        """Yield the queries that are chosen, and where their documents are."""
        ends = self.ends.tolist()
        return ((query, slice(ends[query], ends[query + 1])) for query in np.flatnonzero(chosen).tolist())


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
        placed |= _placed(queries, np.float32 if single else np.float64)
    return placed


def _batches(qrels: Qrels, run: Mapping[str, Mapping[str, float]]) -> Iterator[list[_Query]]:
    """Yield the judged queries of the run in groups, in their order."""
    queries: list[_Query] = []
    size = 0
    for query_id, judged in qrels.items():
        documents = run.get(query_id)
        if documents is not None:
            queries.append((query_id, documents, judged))
            size += len(documents)
            if size >= _TOGETHER:
                yield queries
                queries, size = [], 0
    yield queries


def _placed(queries: Sequence[_Query], dtype: type) -> dict[str, Placed]:
    sizes = [len(documents) for _, documents, _ in queries]
    starts = [0, *accumulate(sizes)]
    values = _scores((documents.values() for _, documents, _ in queries), dtype)
    hits = _found(queries, dtype)
    each = np.diff(hits.ends)
    above, equal = _counted_alone(values, np.array(starts), hits)
    for query, part in hits.parts(each > 1):
        above[part], equal[part] = count_above(values[starts[query] : starts[query + 1]], hits.scores[part])
    rank = above + 1
    owner = np.repeat(np.arange(len(queries)), each)
    tied = np.flatnonzero(equal > 1)
    for query, part in _runs(owner[tied]):
        _, documents, judged = queries[query]
        scores, doc_ids, own = values[starts[query] : starts[query + 1]], list(judged), tied[part]
        asked = [doc_ids[turn] for turn in hits.turns[own].tolist()]
        rank[own] += _tied_before(documents, scores, asked, len(scores) - above[own], equal[own])
    found = placed_queries(sizes, owner, rank, hits.grades, above, equal)
    return {query_id: at for (query_id, _, _), at in zip(queries, found, strict=True)}


def _runs(owner: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """Yield every query that occurs, and where it does; they ascend."""
    ids, starts = np.unique(owner, return_index=True)
    ends = [*starts.tolist(), len(owner)]
    return ((query, slice(*part)) for query, part in zip(ids.tolist(), pairwise(ends), strict=True))


def _found(queries: Sequence[_Query], dtype: type) -> _Hits:
    """Return the judged documents that were retrieved, without those of negative grades."""
    starts = np.array([0, *accumulate(len(judged) for _, _, judged in queries)])
    scores = _packed("d", (map(documents.get, judged, repeat(nan)) for _, documents, judged in queries))
    grades = _packed("q", (judged.values() for _, _, judged in queries))
    kept = np.flatnonzero((grades >= 0) & ~np.isnan(scores))
    ends = np.searchsorted(kept, starts)
    with np.errstate(over="ignore"):
        compared: NDArray[Any] = scores[kept].astype(dtype, copy=False)
    return _Hits(kept - np.repeat(starts[:-1], np.diff(ends)), grades[kept], compared, ends)


def _scores(columns: Iterable[Collection[float]], dtype: type) -> NDArray[Any]:
    """Return the scores of all results, as they are compared.

    Args:
        columns: The scores of each query.
        dtype: The type in which they are compared.

    Raises:
        TypeError: A score is not a number.
        ValueError: A score is not finite.
    """
    numbers = _packed("d", columns)
    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(numbers.sum()) and not np.isfinite(numbers).all():
            raise ValueError
        return numbers.astype(dtype, copy=False)


def _packed(kind: Literal["d", "q"], columns: Iterable[Iterable[float]]) -> NDArray[Any]:
    """Return numbers in one array, floats or whole; struct takes no text for a number, as numpy would."""
    numbers: list[float] = []
    for column in columns:
        numbers += column
    return np.frombuffer(pack(f"{len(numbers)}{kind}", *numbers), kind)


def _counted_alone(
    values: NDArray[Any], starts: NDArray[np.int64], hits: _Hits
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the higher and the equal scores of each document that is the only judged one of its query; 0 for others."""
    alone = np.diff(hits.ends) == 1
    at = hits.ends[:-1][alone]
    bars = np.full(len(alone), inf, values.dtype)
    bars[alone] = hits.scores[at]
    bars = np.repeat(bars, np.diff(starts))
    counted = np.zeros((2, len(hits.scores)), np.int64)
    for counts, met in zip(counted, (values > bars, values == bars), strict=True):
        counts[at] = np.diff(np.searchsorted(np.flatnonzero(met), starts))[alone]
    return counted[0], counted[1]


def _tied_before(
    documents: Iterable[str],
    scores: NDArray[Any],
    asked: Sequence[str],
    ends: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> list[int]:
    """Return for some documents of a query how many of the same score rank before each.

    Args:
        documents: All documents of the query.
        scores: The score of each.
        asked: The documents that are asked for.
        ends: How many scores of the query are at most that of each.
        sizes: How many equal it.
    """
    ids = list(documents)
    best_first = (scores[1:] <= scores[:-1]).all()
    order = range(len(ids))[::-1] if best_first else np.argsort(scores).tolist()
    before: dict[str, int] = {}
    for doc_id, end, size in zip(asked, ends.tolist(), sizes.tolist(), strict=True):
        if doc_id not in before:
            before.update(zip(in_tie_order([ids[at] for at in order[end - size : end]]), range(size), strict=True))
    return [before[doc_id] for doc_id in asked]
