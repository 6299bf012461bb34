"""The ranks of judged documents in a run whose rows stand together by query, read frame by frame.

A frame has the columns ``query`` and ``doc`` (strings) and ``score`` (float64, finite). Only the rows of
the first and the last query of each are kept, because the frames around it may share these queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from goldbench.pipeline.measures.ranks.judged_ranks import DuplicateDocument, Placed, Qrels, Scores
from goldbench.pipeline.measures.ranks.judgment_columns import Judgments, hashes_of
from goldbench.pipeline.measures.ranks.order import count_above
from goldbench.pipeline.measures.ranks.placed_columns import placed_queries, tied_before
from goldbench.pipeline.measures.ranks.scattered import place_scattered

if TYPE_CHECKING:
    from numpy.typing import NDArray

Frames = Callable[[], Iterator[pl.DataFrame]]
"""Reads the rows from the first on; may be called again."""

_Tied = Callable[[int], "NDArray[np.int64]"]
"""For a judged document, the rows of the same score."""


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
    """Return the rows where the query differs from that of the row before; pieces are compared where they lie."""
    starts, at, before = [np.zeros(0, np.int64)], 0, None
    for piece in queries.get_chunks():
        if len(piece):
            changes = (piece[1:] != piece[:-1]).arg_true().to_numpy().astype(np.int64) + at + 1
            starts += [changes] if piece[0] == before else [np.array([at]), changes]
            at, before = at + len(piece), piece[-1]
    return np.concatenate(starts)


def _place_queries(
    judgments: Judgments, rows: pl.DataFrame, starts: NDArray[np.int64], dtype: type, placed: dict[str, Placed]
) -> None:
    """Add the queries of ``rows``, each of which is complete and begins at one of ``starts``."""
    query_ids = rows["query"].gather(starts).to_list()
    if len(set(query_ids)) < len(query_ids) or not placed.keys().isdisjoint(query_ids):
        raise _Scattered
    sizes = np.diff(starts, append=rows.height)
    hashes = hashes_of(rows["doc"])
    _refuse_duplicates(rows, hashes, sizes)
    found = judgments.found_in(rows, hashes)
    at = found["at"].to_numpy().astype(np.int64)
    with np.errstate(over="ignore"):
        scores: NDArray[Any] = rows["score"].to_numpy().astype(dtype, copy=False)
    owner = np.searchsorted(starts, at, "right") - 1
    above, equal, tied = _counted(scores, starts, at, owner)
    rank = above + 1
    ties = {hit: tied(hit) for hit in np.flatnonzero(equal > 1).tolist()}
    if ties:
        rank[list(ties)] += tied_before(rows["doc"], at, ties)
    found_at = placed_queries(sizes.tolist(), owner, rank, found["grade"].to_numpy(), above, equal)
    placed.update(zip(query_ids, found_at, strict=True))


def _refuse_duplicates(rows: pl.DataFrame, hashes: NDArray[np.uint64], sizes: NDArray[np.int64]) -> None:
    """Sort a key of each row, its query's number before as much of the hash as fits; rows of equal keys are suspects.

    Args:
        rows: The rows, grouped by query.
        hashes: The hash of the document of each row.
        sizes: How many rows each query has.
    """
    bits = len(sizes).bit_length()
    numbers = np.arange(len(sizes), dtype=np.uint64) << np.uint64(64 - bits)
    keys = hashes >> np.uint64(bits)
    keys |= np.repeat(numbers, sizes)
    ordered = np.sort(keys)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        pairs = rows.select("query", "doc").filter(np.isin(keys, ordered[1:][twice]))
        repeated = pairs.filter(pairs.is_duplicated())
        if repeated.height:
            raise DuplicateDocument(repeated["query"][0], repeated["doc"][0])


def _counted(
    scores: NDArray[Any], starts: NDArray[np.int64], at: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], _Tied]:
    """Return for each row of ``at`` how many rows of its query score higher, how many the same, and which."""
    rising = np.flatnonzero(scores[1:] > scores[:-1]) + 1
    if not np.isin(rising, starts, assume_unique=True).all():
        return _counted_in_disorder(scores, starts, at, owner)
    new = np.empty(len(scores), bool)
    new[0] = True
    np.not_equal(scores[1:], scores[:-1], out=new[1:])
    new[starts] = True
    edges = np.append(np.flatnonzero(new), len(scores))
    group = np.searchsorted(edges, at, "right") - 1
    first, last = edges[group], edges[group + 1]
    return first - starts[owner], last - first, lambda hit: np.arange(first[hit], last[hit])


def _counted_in_disorder(
    scores: NDArray[Any], starts: NDArray[np.int64], at: NDArray[np.int64], owner: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], _Tied]:
    above, equal = np.empty_like(at), np.empty_like(at)
    ends = np.append(starts[1:], len(scores))
    bounds = np.searchsorted(owner, np.arange(len(starts) + 1)).tolist()
    for query in np.unique(owner).tolist():
        part = slice(bounds[query], bounds[query + 1])
        above[part], equal[part] = count_above(scores[starts[query] : ends[query]], scores[at[part]])

    def tied(hit: int) -> NDArray[np.int64]:
        start, end = starts[owner[hit]], ends[owner[hit]]
        rows: NDArray[np.int64] = np.flatnonzero(scores[start:end] == scores[at[hit]]) + start
        return rows

    return above, equal, tied
