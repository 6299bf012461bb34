"""The ranks of judged documents in a run that is read frame by frame, its rows in any order.

A frame has the columns ``query`` and ``doc`` (strings) and ``score`` (float64, finite).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from goldbench.pipeline.measures.ranks.judged_ranks import DuplicateDocument, Placed, Qrels, Scores
from goldbench.pipeline.measures.ranks.order import in_tie_order

Frames = Callable[[], Iterator[pl.DataFrame]]
"""Reads the rows from the first on; may be called again."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: a query and a document that change places have another key."""
_SPARSE, _LARGEST = 6, 26
"""The table of hashes has at least 2**_SPARSE places for each judgment, and 2**_LARGEST at most."""


def in_utf8(ids: Iterable[str]) -> list[str]:
    """Return the ids that UTF-8 can hold: no other can be in a frame."""
    return [text for text in ids if text.isascii() or text.encode("utf-8", "ignore").decode() == text]


def place_frames(qrels: Qrels, frames: Frames, *, scores: Scores) -> tuple[dict[str, Placed], int]:
    """Return where each judged query has its judged documents, and how many queries are not judged.

    Args:
        qrels: The judgments.
        frames: Reads the rows of the run, frames that are not empty.
        scores: How scores are compared.

    Raises:
        DuplicateDocument: A query has a document twice.
    """
    rows = _judged_rows(qrels, frames, np.float32 if scores == "float32" else np.float64)
    order = _best_first(rows)
    codes = rows.codes[order]
    values = rows.scores[order]
    changes = np.flatnonzero((codes[1:] != codes[:-1]) | (values[1:] != values[:-1])) + 1
    ties = np.concatenate([[0], changes, [len(order)]])  # where rows of another query or score begin
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    tie = np.searchsorted(ties, position[rows.at], "right") - 1
    first = ties[tie]
    equal = ties[tie + 1] - first
    owner = rows.codes[rows.at].astype(np.int64)
    sizes = np.bincount(codes, minlength=len(rows.query_ids))
    above = first - (np.cumsum(sizes) - sizes)[owner]
    rank = above + 1 + _before(rows, order, first, equal)
    by_rank = np.lexsort((rank, owner))
    columns = [column[by_rank].tolist() for column in (rank, rows.grades, above, equal)]
    ends = np.searchsorted(owner[by_rank], np.arange(len(sizes) + 1)).tolist()
    placed = {
        query_id: Placed(size, *(column[start:end] for column in columns))
        for query_id, size, (start, end) in zip(rows.query_ids, sizes.tolist(), pairwise(ends), strict=True)
        if size
    }
    return placed, rows.extra


@dataclass(frozen=True, slots=True)
class _JudgedRows:
    """The rows of judged queries: the position of the query in ``query_ids``, the score as compared, the document.

    ``at`` are the rows of judged documents, ``grades`` their grades, ``extra`` is the number of other queries.
    """

    query_ids: list[str]
    codes: NDArray[Any]
    scores: NDArray[Any]
    docs: pl.Series
    at: NDArray[np.int64]
    grades: NDArray[np.int64]
    extra: int


def _judged_rows(qrels: Qrels, frames: Frames, dtype: type) -> _JudgedRows:
    query_ids = in_utf8(qrels)
    judgments = _judgments(qrels, query_ids)
    table = _HashTable(judgments["doc"])
    queries = pl.Enum(query_ids)
    small = np.uint16 if len(query_ids) < 2**16 else np.uint32
    codes = [np.empty(0, small)]
    scores: list[NDArray[Any]] = [np.empty(0, dtype)]
    docs = [pl.Series("doc", [], pl.String)]
    candidates = [pl.DataFrame(schema={"query": pl.String, "doc": pl.String, "row": pl.Int64})]
    keys: list[NDArray[np.uint64]] = []
    extra: set[str] = set()
    height = 0
    for frame in frames():
        hashes = _hashes(frame["doc"])
        keys.append(_keys(frame, hashes))
        code = frame["query"].cast(queries, strict=False)
        if code.null_count():
            judged = code.is_not_null()
            extra.update(frame["query"].filter(~judged).unique())
            frame, code, hashes = frame.filter(judged), code.drop_nulls(), hashes[judged.to_numpy()]  # noqa: PLW2901
        row = pl.int_range(height, height + frame.height, eager=True)
        candidates.append(frame.select("query", "doc", row=row).filter(table.holds(hashes)))
        codes.append(code.to_physical().to_numpy().astype(small, copy=False))
        with np.errstate(over="ignore"):
            scores.append(frame["score"].to_numpy().astype(dtype, copy=False))
        docs.append(frame["doc"])
        height += frame.height
    _refuse_duplicates(keys, frames)
    hits = pl.concat(candidates).join(judgments, on=["query", "doc"], how="inner")
    return _JudgedRows(
        query_ids=query_ids,
        codes=np.concatenate(codes),
        scores=np.concatenate(scores),
        docs=pl.concat(docs),
        at=hits["row"].to_numpy(),
        grades=hits["grade"].to_numpy(),
        extra=len(extra),
    )


def _judgments(qrels: Qrels, query_ids: list[str]) -> pl.DataFrame:
    """Return the judgments that are not negative, one in a row."""
    judgments = [
        (query_id, doc_id, qrels[query_id][doc_id])
        for query_id in query_ids
        for doc_id in in_utf8(qrels[query_id])
        if qrels[query_id][doc_id] >= 0
    ]
    return pl.DataFrame(judgments, schema={"query": pl.String, "doc": pl.String, "grade": pl.Int64}, orient="row")


class _HashTable:
    """The hashes of judged documents: a look at it tells most other documents faster than a join."""

    def __init__(self, docs: pl.Series) -> None:
        size = min(_LARGEST, max(1, len(docs)).bit_length() + _SPARSE)
        self._shift = np.uint64(64 - size)
        self._marks = np.zeros(2**size, bool)
        self._marks[_hashes(docs) >> self._shift] = True

    def holds(self, hashes: NDArray[np.uint64]) -> pl.Series:
        """Return whether each hash may be that of a judged document."""
        return pl.Series(self._marks[hashes >> self._shift])


def _hashes(doc_ids: pl.Series) -> NDArray[np.uint64]:
    hashes: NDArray[np.uint64] = doc_ids.hash(0).to_numpy()
    return hashes


def _keys(frame: pl.DataFrame, hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number for each row, which two rows of the same query and document share."""
    keys: NDArray[np.uint64] = hashes ^ (frame["query"].hash(1).to_numpy() * _MIX)
    return keys


def _refuse_duplicates(keys: list[NDArray[np.uint64]], frames: Frames) -> None:
    """Raise an error if a query has a document twice; only rows with equal keys are read again and compared."""
    ordered = np.sort(np.concatenate(keys)) if keys else np.empty(0, np.uint64)
    suspects = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(suspects):
        return
    seen: set[tuple[str, str]] = set()
    for frame in frames():
        suspected = np.isin(_keys(frame, _hashes(frame["doc"])), suspects)
        for pair in frame.filter(suspected).select("query", "doc").rows():
            if pair in seen:
                raise DuplicateDocument(*pair)
            seen.add(pair)


def _best_first(rows: _JudgedRows) -> NDArray[np.int64]:
    """Return the rows in order of their queries, and each query's in descending order of scores."""
    order = np.argsort(rows.codes, kind="stable")
    codes = rows.codes[order]
    scores = rows.scores[order]
    if ((scores[1:] > scores[:-1]) & (codes[1:] == codes[:-1])).any():
        order = np.argsort(-rows.scores)
        order = order[np.argsort(rows.codes[order], kind="stable")]
    return order


def _before(
    rows: _JudgedRows, order: NDArray[np.int64], first: NDArray[np.int64], equal: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each judged document how many of the same query and score rank before it, by their ids.

    Args:
        rows: The rows.
        order: The rows, best first.
        first: Where in ``order`` the rows with the score of each judged document begin.
        equal: How many these are.
    """
    before = np.zeros(len(first), np.int64)
    tied = np.flatnonzero(equal > 1)
    if not len(tied):
        return before
    starts, chosen = np.unique(first[tied], return_index=True)
    groups = [order[start : start + size] for start, size in zip(starts, equal[tied][chosen], strict=True)]
    ids = iter(rows.docs.gather(np.concatenate(groups)).to_list())
    place: dict[int, int] = {}
    for group in groups:
        row_of = dict(zip(islice(ids, len(group)), group.tolist(), strict=True))
        place.update((row_of[doc_id], rank) for rank, doc_id in enumerate(in_tie_order(row_of)))
    before[tied] = [place[row] for row in rows.at[tied].tolist()]
    return before
