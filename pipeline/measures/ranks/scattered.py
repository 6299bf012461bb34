"""The ranks of judged documents in a run whose rows stand in any order, counted without sorting the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from goldbench.pipeline.measures.ranks.judged_ranks import DuplicateDocument, Placed
from goldbench.pipeline.measures.ranks.judgment_columns import MIX, Judgments, hashes_of
from goldbench.pipeline.measures.ranks.order import count_above
from goldbench.pipeline.measures.ranks.placed_columns import placed_queries, tied_before

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW_HITS = 8
"""Up to this number of documents, counting the scores above each is quicker than sorting all scores."""


@dataclass(slots=True)
class _Rows:
    """The rows of judged queries: the position of the query among the judged ones, the score, the document."""

    codes: NDArray[Any]
    scores: NDArray[Any]
    docs: pl.Series
    at: NDArray[np.int64]
    grades: NDArray[np.int64]
    extra: int


def place_scattered(
    judgments: Judgments, frames: Callable[[], Iterator[pl.DataFrame]], dtype: type, *, reading: Iterator[pl.DataFrame]
) -> tuple[dict[str, Placed], int]:
    """Return where each judged query has its judged documents, and how many queries are not judged.

    Args:
        judgments: The judgments.
        frames: Reads the rows of the run from the first on.
        dtype: The type in which scores are compared.
        reading: The rows of a call of ``frames`` that has begun.

    Raises:
        DuplicateDocument: A query has a document twice.
    """
    rows = _gather(judgments, frames, dtype, reading)
    owner = rows.codes[rows.at].astype(np.int64)
    order = np.argsort(owner, kind="stable")
    at, grades, owner = rows.at[order], rows.grades[order], owner[order]
    first = np.searchsorted(owner, owner)
    turn = np.arange(len(at)) - first
    layers = int(turn.max(initial=-1)) + 1
    if layers <= _FEW_HITS:
        above, equal, ties = _count_in_layers(rows, at, owner, turn, layers, len(judgments.query_ids))
    else:
        above, equal, ties = _count_by_query(rows, at, owner, len(judgments.query_ids))
    rank = above + 1
    if ties:
        rank[list(ties)] += tied_before(rows.docs, at, ties)
    sizes = np.bincount(rows.codes, minlength=len(judgments.query_ids)).tolist()
    found = zip(judgments.query_ids, placed_queries(sizes, owner, rank, grades, above, equal), strict=True)
    placed = {query_id: place for query_id, place in found if place.retrieved}
    return placed, rows.extra


def _gather(
    judgments: Judgments, frames: Callable[[], Iterator[pl.DataFrame]], dtype: type, reading: Iterator[pl.DataFrame]
) -> _Rows:
    queries = pl.Enum(judgments.query_ids)
    small = np.uint16 if len(judgments.query_ids) < 2**16 else np.uint32
    codes: list[NDArray[Any]] = []
    scores: list[NDArray[Any]] = []
    docs, keys, at, grades = [], [], [], []
    extra: set[str] = set()
    height = 0
    for frame in reading:
        hashes = hashes_of(frame["doc"])
        keys.append(pl.Series(_keys(frame, hashes)))
        code = frame["query"].cast(queries, strict=False)
        if code.null_count():
            extra.update(frame["query"].filter(code.is_null()).unique())
            judged = code.is_not_null()
            hashes = hashes[judged.to_numpy()]
            frame, code = frame.filter(judged), code.drop_nulls()  # noqa: PLW2901  only what is judged
        found = judgments.found_in(frame, hashes)
        at.append(found["at"].to_numpy().astype(np.int64) + height)
        grades.append(found["grade"].to_numpy())
        codes.append(code.to_physical().to_numpy().astype(small, copy=False))
        with np.errstate(over="ignore"):
            scores.append(frame["score"].to_numpy().astype(dtype, copy=False))
        docs.append(frame["doc"])
        height += frame.height
    _refuse_duplicates(pl.concat(keys), frames)
    return _Rows(
        np.concatenate(codes),
        np.concatenate(scores),
        pl.concat(docs),
        np.concatenate(at),
        np.concatenate(grades),
        len(extra),
    )


def _keys(frame: pl.DataFrame, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed: NDArray[np.uint64] = hashes ^ (frame["query"].hash(1).to_numpy() * MIX)
    return mixed


def _refuse_duplicates(keys: pl.Series, frames: Callable[[], Iterator[pl.DataFrame]]) -> None:
    if keys.n_unique() == len(keys):
        return
    suspects = keys.filter(keys.is_duplicated()).unique()
    seen: set[tuple[str, str]] = set()
    for frame in frames():
        is_suspect = pl.Series(_keys(frame, hashes_of(frame["doc"]))).is_in(suspects.implode())
        for pair in frame.filter(is_suspect).select("query", "doc").rows():
            if pair in seen:
                raise DuplicateDocument(*pair)
            seen.add(pair)


def _count_in_layers(
    rows: _Rows, at: NDArray[np.int64], owner: NDArray[np.int64], turn: NDArray[np.int64], layers: int, queries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, NDArray[np.int64]]]:
    """Compare every row with the score of its query's first hit, then of its second, and so on."""
    above, equal = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
    ties: dict[int, NDArray[np.int64]] = {}
    for layer in range(layers):
        hits = np.flatnonzero(turn == layer)
        bar = np.full(queries, np.inf, rows.scores.dtype)
        bar[owner[hits]] = rows.scores[at[hits]]
        asked = np.zeros(queries, bool)
        asked[owner[hits]] = True
        bars = bar[rows.codes]
        reached = np.flatnonzero(rows.scores >= bars)
        same = reached[(rows.scores[reached] == bars[reached]) & asked[rows.codes[reached]]]
        at_least = np.bincount(rows.codes[reached], minlength=queries)
        exactly = np.bincount(rows.codes[same], minlength=queries)
        above[hits] = (at_least - exactly)[owner[hits]]
        equal[hits] = exactly[owner[hits]]
        by_query = same[np.argsort(rows.codes[same], kind="stable")]
        ends = np.cumsum(exactly)
        for hit in hits[equal[hits] > 1].tolist():
            end = int(ends[owner[hit]])
            ties[hit] = by_query[end - int(equal[hit]) : end]
    return above, equal, ties


def _count_by_query(
    rows: _Rows, at: NDArray[np.int64], owner: NDArray[np.int64], queries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[int, NDArray[np.int64]]]:
    """Bring the rows in order of their queries, then count within each."""
    order = np.argsort(rows.codes, kind="stable")
    ends = np.cumsum(np.bincount(rows.codes, minlength=queries))
    scores = rows.scores[order]
    bounds = np.searchsorted(owner, np.arange(queries + 1))
    above, equal = np.empty_like(at), np.empty_like(at)
    ties: dict[int, NDArray[np.int64]] = {}
    for query in np.unique(owner).tolist():
        start, end = int(ends[query - 1]) if query else 0, int(ends[query])
        part = slice(int(bounds[query]), int(bounds[query + 1]))
        own = rows.scores[at[part]]
        above[part], equal[part] = count_above(scores[start:end], own)
        for i in np.flatnonzero(equal[part] > 1).tolist():
            ties[part.start + i] = order[start + np.flatnonzero(scores[start:end] == own[i])]
    return above, equal, ties
