"""The ranks of judged documents in a run that is read frame by frame, its rows in any order.

A frame has the columns ``query`` and ``doc`` (strings) and ``score`` (float64, finite).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from goldbench.measures.ranks.judged_ranks import DuplicateDocument, Placed, Qrels, Scores
from goldbench.measures.ranks.order import in_tie_order

Frames = Callable[[], Iterator[pl.DataFrame]]
"""Reads the rows from the first on; may be called again."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: a query and a document that change places have another key."""
_SPARSE, _LARGEST = 6, 26
"""The table of hashes has at least 2**_SPARSE places for each judgment, and 2**_LARGEST at most."""


def in_utf8(ids: Iterable[str]) -> list[str]:
    """Return the ids that UTF-8 can hold: no other can be in a frame."""
    return [text for text in ids if text.isascii() or text.encode("utf-8", "ignore").decode() == text]


class _SplitQuery(Exception):
    """The rows of a query do not stand together."""


def place_frames(qrels: Qrels, frames: Frames, *, scores: Scores) -> tuple[dict[str, Placed], int]:
    """Return where each judged query has its judged documents, and how many queries are not judged.

    Args:
        qrels: The judgments.
        frames: Reads the rows of the run.
        scores: How scores are compared.

    Raises:
        DuplicateDocument: A query has a document twice.
    """
    judgments = _Judgments(qrels)
    dtype = np.float32 if scores == "float32" else np.float64
    try:
        return _place_batches(judgments, _whole_queries(frames()), dtype)
    except _SplitQuery:
        return _place_batches(judgments, iter([pl.concat(frames())]), dtype)


def _whole_queries(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield the rows in frames that end where a query ends, so that few rows need to be held in memory.

    If the queries of the first frame do not stand together, all rows are yielded at once.
    """
    rest: list[pl.DataFrame] = []
    together = None
    for frame in frames:
        queries = frame["query"]
        if together is None:
            together = queries.rle_id().n_unique() == queries.n_unique()
        others = (queries != queries.tail(1)).arg_true()
        end = others[-1] + 1 if together and len(others) else 0
        if end:
            yield pl.concat([*rest, frame[:end]])
            rest = []
        rest.append(frame[end:])
    if rest:
        yield pl.concat(rest)


def _place_batches(
    judgments: _Judgments, batches: Iterator[pl.DataFrame], dtype: type
) -> tuple[dict[str, Placed], int]:
    placed: dict[str, Placed] = {}
    extra: set[str] = set()
    for batch in batches:
        rows = judgments.judged_rows(batch, dtype)
        of_batch = _place(judgments.query_ids, rows)
        if not placed.keys().isdisjoint(of_batch) or not extra.isdisjoint(rows.extra):
            raise _SplitQuery
        placed |= of_batch
        extra |= rows.extra
    return placed, len(extra)


def _place(query_ids: list[str], rows: _JudgedRows) -> dict[str, Placed]:
    """Return where the queries of the rows have their judged documents."""
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
    sizes = np.bincount(codes, minlength=len(query_ids))
    above = first - (np.cumsum(sizes) - sizes)[owner]
    rank = above + 1 + _before(rows, order, first, equal)
    by_rank = np.lexsort((rank, owner))
    columns = [column[by_rank].tolist() for column in (rank, rows.grades, above, equal)]
    ends = np.searchsorted(owner[by_rank], np.arange(len(sizes) + 1))
    placed = {}
    for code in np.flatnonzero(sizes).tolist():
        start, end = int(ends[code]), int(ends[code + 1])
        placed[query_ids[code]] = Placed(int(sizes[code]), *(column[start:end] for column in columns))
    return placed


@dataclass(frozen=True, slots=True)
class _JudgedRows:
    """The rows of judged queries: the number of the query, the score as compared, the document.

    ``at`` are the rows of judged documents, ``grades`` their grades, ``extra`` are the other queries.
    """

    codes: NDArray[Any]
    scores: NDArray[Any]
    docs: pl.Series
    at: NDArray[np.int64]
    grades: NDArray[np.int64]
    extra: set[str]


class _Judgments:
    """The judgments that are not negative, as rows, and the ids of all judged queries."""

    def __init__(self, qrels: Qrels) -> None:
        self.query_ids = in_utf8(qrels)
        judgments = [
            (query_id, doc_id, qrels[query_id][doc_id])
            for query_id in self.query_ids
            for doc_id in in_utf8(qrels[query_id])
            if qrels[query_id][doc_id] >= 0
        ]
        schema = {"query": pl.String, "doc": pl.String, "grade": pl.Int64}
        self._frame = pl.DataFrame(judgments, schema=schema, orient="row")
        self._table = _HashTable(self._frame["doc"])
        self._queries = pl.Enum(self.query_ids)
        self._code = np.uint16 if len(self.query_ids) < 2**16 else np.uint32  # two bytes are sorted fastest

    def judged_rows(self, frame: pl.DataFrame, dtype: type) -> _JudgedRows:
        """Return the rows of judged queries.

        Raises:
            DuplicateDocument: A query has a document twice.
        """
        hashes = _hashes(frame["doc"])
        _refuse_duplicates(frame, hashes)
        extra: set[str] = set()
        code = frame["query"].cast(self._queries, strict=False)
        if code.null_count():
            judged = code.is_not_null()
            extra.update(frame["query"].filter(~judged).unique())
            frame = frame.filter(judged)
            code = code.drop_nulls()
            hashes = hashes[judged.to_numpy()]
        row = pl.int_range(frame.height, eager=True)
        candidates = frame.select("query", "doc", row=row).filter(self._table.holds(hashes))
        hits = candidates.join(self._frame, on=["query", "doc"], how="inner")
        with np.errstate(over="ignore"):
            scores: NDArray[Any] = frame["score"].to_numpy().astype(dtype, copy=False)
        return _JudgedRows(
            codes=code.to_physical().to_numpy().astype(self._code, copy=False),
            scores=scores,
            docs=frame["doc"],
            at=hits["row"].to_numpy(),
            grades=hits["grade"].to_numpy(),
            extra=extra,
        )


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


def _refuse_duplicates(frame: pl.DataFrame, hashes: NDArray[np.uint64]) -> None:
    """Raise an error if a query has a document twice; only rows with equal keys are compared by their text."""
    keys = hashes ^ (frame["query"].hash(1).to_numpy() * _MIX)
    ordered = np.sort(keys)
    suspects = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(suspects):
        pairs = frame.select("query", "doc").filter(np.isin(keys, suspects))
        repeated = pairs.filter(pairs.is_duplicated())
        if repeated.height:
            raise DuplicateDocument(*repeated.row(0))


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
    tie_ranks: dict[int, int] = {}
    for group in groups:
        row_of = dict(zip(islice(ids, len(group)), group.tolist(), strict=True))
        tie_ranks.update((row_of[doc_id], rank) for rank, doc_id in enumerate(in_tie_order(row_of)))
    before[tied] = [tie_ranks[row] for row in rows.at[tied].tolist()]
    return before
