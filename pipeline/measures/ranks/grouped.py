"""The ranks of judged documents in a run whose rows stand together by query, read frame by frame.

A frame has the columns ``query`` and ``doc`` (strings) and ``score`` (float64, finite). Only the rows of
the first and the last query of each are kept, because the frames around it may share these queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from goldbench.pipeline.measures.ranks.judged_ranks import DuplicateDocument, Hit, Placed, Qrels, Scores
from goldbench.pipeline.measures.ranks.judgment_columns import MIX, Judgments
from goldbench.pipeline.measures.ranks.order import count_above, rank_of
from goldbench.pipeline.measures.ranks.scattered import place_scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

Frames = Callable[[], Iterator[pl.DataFrame]]
"""Reads the rows from the first on; may be called again."""

_Tied = Callable[[int], Sequence[int]]


class _Scattered(Exception):
    """The rows of a query do not stand together."""


def place_frames(qrels: Qrels, frames: Frames, *, scores: Scores) -> tuple[dict[str, Placed], int]:
    """Return where each judged query has its judged documents, and how many queries are not judged.

    Args:
        qrels: The judgments.
        frames: Reads the rows of the run; at least one frame, none of them empty.
        scores: How scores are compared.

    Raises:
        DuplicateDocument: A query has a document twice.
    """
    judgments = Judgments(qrels)
    dtype = np.float32 if scores == "float32" else np.float64
    reading = frames()
    ahead = list(islice(reading, 1))
    if ahead and len(_starts(ahead[0]["query"])) > ahead[0]["query"].n_unique():
        return place_scattered(judgments, frames, dtype, reading=chain(ahead, reading))
    try:
        placed = _place_grouped(judgments, chain(ahead, reading), dtype)
    except _Scattered:
        return place_scattered(judgments, frames, dtype, reading=frames())
    extra = sum(query_id not in qrels for query_id in placed)
    return {query_id: at for query_id, at in placed.items() if query_id in qrels}, extra


def _place_grouped(judgments: Judgments, frames: Iterator[pl.DataFrame], dtype: type) -> dict[str, Placed]:
    """Place the queries that lie within each frame at once, those at its ends last."""
    placed: dict[str, Placed] = {}
    ends: list[pl.DataFrame] = []
    for frame in frames:
        starts = _starts(frame["query"])
        if len(starts) < 3:
            ends.append(frame)
            continue
        first, last = int(starts[1]), int(starts[-1])
        ends += [frame[:first], frame[last:]]
        _place_queries(judgments, frame[first:last], starts[1:-1] - first, dtype, placed)
    if ends:
        rows = pl.concat(ends)
        _place_queries(judgments, rows, _starts(rows["query"]), dtype, placed)
    return placed


def _starts(queries: pl.Series) -> NDArray[np.int64]:
    """Return the rows where the query differs from that of the row before."""
    changes = (queries != queries.shift(1)).fill_null(value=True)
    return changes.arg_true().to_numpy().astype(np.int64)


def _place_queries(
    judgments: Judgments, rows: pl.DataFrame, starts: NDArray[np.int64], dtype: type, placed: dict[str, Placed]
) -> None:
    """Add the queries of ``rows``, each of which is complete and begins at one of ``starts``."""
    query_ids = rows["query"].gather(starts).to_list()
    if len(set(query_ids)) < len(query_ids) or not placed.keys().isdisjoint(query_ids):
        raise _Scattered
    sizes = np.diff(starts, append=rows.height)
    _refuse_duplicates(rows, starts, sizes)
    found = judgments.found_in(rows)
    at = found["at"].to_numpy().astype(np.int64)
    with np.errstate(over="ignore"):
        scores: NDArray[Any] = rows["score"].to_numpy().astype(dtype, copy=False)
    above, equal, tied = _ranks(scores, starts, at)
    hits = _hits(rows["doc"], at, found["grade"].to_list(), above, equal, tied)
    bounds = np.searchsorted(at, np.append(starts, rows.height)).tolist()
    for i, (query_id, size) in enumerate(zip(query_ids, sizes.tolist(), strict=True)):
        placed[query_id] = Placed(size, sorted(hits[bounds[i] : bounds[i + 1]]))


def _refuse_duplicates(rows: pl.DataFrame, starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
    """Write each row's number into a hash table with 8 places per row; overwritten rows are suspects."""
    keys = rows["doc"].hash(0).to_numpy()
    room = np.repeat((sizes * 8).astype(np.uint64), sizes)
    slots = ((keys >> 32) * room >> 32) + np.repeat((starts * 8).astype(np.uint64), sizes)
    slots = slots.astype(np.int64)
    numbers = np.arange(len(keys), dtype=np.uint32)
    table = np.empty(8 * len(keys), np.uint32)
    table[slots] = numbers
    winner = table[slots]
    lost = np.flatnonzero(winner != numbers)
    suspects = np.sort(keys[lost] ^ ((np.searchsorted(starts, lost, "right")).astype(np.uint64) * MIX))
    if (keys[lost] == keys[winner[lost]]).any() or (suspects[1:] == suspects[:-1]).any():
        pairs = rows.select("query", "doc")[np.union1d(lost, winner[lost]).tolist()]
        repeated = pairs.filter(pairs.is_duplicated())
        if repeated.height:
            raise DuplicateDocument(repeated["query"][0], repeated["doc"][0])


def _ranks(
    scores: NDArray[Any], starts: NDArray[np.int64], at: NDArray[np.int64]
) -> tuple[list[int], list[int], _Tied]:
    """Return for each row of ``at`` how many rows of its query score higher, how many the same, and which."""
    owner = np.searchsorted(starts, at, "right") - 1
    rising = np.flatnonzero(scores[1:] > scores[:-1]) + 1
    if not np.isin(rising, starts, assume_unique=True).all():
        return _ranks_in_disorder(scores, starts, at, owner)
    new = np.empty(len(scores), bool)
    new[0] = True
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    new[starts] = True
    edges = np.append(np.flatnonzero(new), len(scores))
    group = np.searchsorted(edges, at, "right") - 1
    first, last = edges[group], edges[group + 1]
    return (first - starts[owner]).tolist(), (last - first).tolist(), lambda i: range(first[i], last[i])


def _ranks_in_disorder(
    scores: NDArray[Any], starts: NDArray[np.int64], at: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[list[int], list[int], _Tied]:
    above: list[int] = []
    equal: list[int] = []
    ends = np.append(starts[1:], len(scores))
    for query in np.unique(owner).tolist():
        own = at[owner == query]
        higher, same = count_above(scores[starts[query] : ends[query]], scores[own])
        above += higher
        equal += same

    def tied(i: int) -> Sequence[int]:
        start, end = starts[owner[i]], ends[owner[i]]
        rows: list[int] = (np.flatnonzero(scores[start:end] == scores[at[i]]) + start).tolist()
        return rows

    return above, equal, tied


def _hits(
    docs: pl.Series, at: NDArray[np.int64], grades: list[int], above: list[int], equal: list[int], tied: _Tied
) -> list[Hit]:
    hits = [Hit(higher + 1, grade, higher, same) for grade, higher, same in zip(grades, above, equal, strict=True)]
    for i, hit in enumerate(hits):
        if hit.equal > 1:
            rows = tied(i)
            equals = docs[rows[0] : rows[-1] + 1] if isinstance(rows, range) else docs.gather(list(rows))
            hits[i] = hit._replace(rank=rank_of(docs[int(at[i])], hit.above, equals.to_list()))
    return hits
