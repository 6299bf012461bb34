"""The ranks of judged documents in frames: rows of a file, or frames of pandas and polars that a caller holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from goldbench.errors import InputError
from goldbench.measures.ranks.columns import ColumnTable, judgments, library_of, repeated, results
from goldbench.measures.ranks.judged_ranks import DuplicateDocument, Hit, JudgedColumns, Qrels, Scores, place_hits

_SYSTEMS = frozenset({"system", "run", "run_id", "runid", "tag", "model", "retriever", "name"})
"""Columns that may name the system of a row."""


def in_utf8(ids: Iterable[str]) -> list[str]:
    """Return the ids that UTF-8 can hold: no other can be in a frame."""
    return [text for text in ids if text.isascii() or text.encode("utf-8", "ignore").decode() == text]


def place_rows(qrels: Qrels, rows: pl.DataFrame, *, scores: Scores) -> tuple[dict[str, JudgedColumns], int]:
    """Return where each judged query has its judged documents, and how many queries are not judged.

    Args:
        qrels: The judgments.
        rows: The columns ``query``, ``doc`` and ``score``, without nulls.
        scores: How scores are compared.

    Raises:
        DuplicateDocument: A query has a document twice.
    """
    _refuse_duplicates(rows)
    blocks = rows["query"].rle().struct.unnest()
    if blocks["value"].n_unique() < blocks.height:
        rows = rows.sort("query", maintain_order=True)
        blocks = rows["query"].rle().struct.unnest()
    judged = _judgments(qrels)
    # Few documents are judged: looking for these first is ten times as fast as joining all rows.
    candidates = rows.with_row_index("row").filter(pl.col("doc").is_in(judged["doc"].unique().implode()))
    judged_rows = candidates.join(judged, on=["query", "doc"], how="inner").sort("row")
    with np.errstate(over="ignore"):
        values = rows["score"].to_numpy().astype(np.float32 if scores == "float32" else np.float64, copy=False)
    positions = judged_rows["row"].to_numpy()
    hits = list(map(Hit, judged_rows["doc"].to_list(), judged_rows["grade"].to_list(), values[positions].tolist()))
    ends = np.cumsum(blocks["len"].to_numpy())
    hit_ends = np.searchsorted(positions, ends)
    placed: dict[str, JudgedColumns] = {}
    start = first = 0
    for query_id, end, last in zip(blocks["value"].to_list(), ends.tolist(), hit_ends.tolist(), strict=True):
        if query_id in qrels:
            own = values[start:end]
            documents = _documents(rows, start, own)
            placed[query_id] = place_hits(hits[first:last], np.sort(own).tolist(), documents)
        start = end
        first = last
    return placed, blocks.height - len(placed)


def _documents(rows: pl.DataFrame, start: int, scores: NDArray[Any]) -> Iterator[tuple[str, float]]:
    """Yield the documents of a query with their scores; nothing is gathered before the first is asked for."""
    yield from zip(rows["doc"][start : start + len(scores)].to_list(), scores.tolist(), strict=True)


def _judgments(qrels: Qrels) -> pl.DataFrame:
    """Return the judgments that are not negative, as rows."""
    rows = [
        (query_id, doc_id, qrels[query_id][doc_id])
        for query_id in in_utf8(qrels)
        for doc_id in in_utf8(qrels[query_id])
        if qrels[query_id][doc_id] >= 0
    ]
    return pl.DataFrame(rows, schema={"query": pl.String, "doc": pl.String, "grade": pl.Int64}, orient="row")


def _refuse_duplicates(rows: pl.DataFrame) -> None:
    """Raise an error if a query has a document twice; only rows with equal hashes are compared by their text."""
    keys = (rows["query"].hash(1) ^ rows["doc"].hash(2)).to_numpy()
    ordered = np.sort(keys)
    suspects = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(suspects):
        pairs = rows.select("query", "doc").filter(np.isin(keys, suspects))
        twice = pairs.filter(pairs.is_duplicated())
        if twice.height:
            raise DuplicateDocument(*twice.row(0))


def place_frame(qrels: Qrels, run: Any, *, scores: Scores) -> tuple[dict[str, JudgedColumns], int]:  # noqa: ANN401  pandas is optional
    """Return what `place_rows` does, for a frame of pandas or polars with columns for query, document and score.

    Raises:
        InputError: A column is missing or of the wrong type, a cell is empty, or a query has a document twice.
    """
    table = _table(run, "run")
    try:
        return place_rows(qrels, results(table), scores=scores)
    except DuplicateDocument as error:
        raise repeated(table, error.query_id, error.doc_id) from None


def results_of_frame(run: Any) -> dict[str, dict[str, float]]:  # noqa: ANN401  pandas is optional
    """Return the score of each document by query.

    Raises:
        InputError: As `place_frame`.
    """
    table = _table(run, "run")
    try:
        return results_of_rows(results(table))
    except DuplicateDocument as error:
        raise _advised(table, error, library_of(run)) from None


def results_of_rows(rows: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Return the score of each document by query.

    Raises:
        DuplicateDocument: A query has a document twice.
    """
    run: dict[str, dict[str, float]] = {}
    for query_id, doc_id, score in rows.iter_rows():
        documents = run.setdefault(query_id, {})
        if doc_id in documents:
            raise DuplicateDocument(query_id, doc_id)
        documents[doc_id] = score
    return run


def _advised(table: ColumnTable, twice: DuplicateDocument, library: str | None) -> InputError:
    """Return the error for a document that a query has twice, and how to split a frame of several systems."""
    error = repeated(table, twice.query_id, twice.doc_id)
    rows = results(table)
    both = table.frame.filter((rows["query"] == twice.query_id) & (rows["doc"] == twice.doc_id))
    names = [name for name in both.columns if name.lower() in _SYSTEMS and both[name].is_unique().all()]
    if not names:
        return error
    split = f"name, rows in frame.groupby({names[0]!r})"
    if library == "polars":
        split = f"(name,), rows in frame.group_by({names[0]!r})"
    problem = error.problem.removesuffix("keep one of the two")
    return InputError("run", f"{problem}if {names[0]} names systems, give each by name: {{name: rows for {split}}}")


def qrels_of_frame(qrels: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401  pandas is optional
    """Return the judgments of a frame.

    Raises:
        InputError: A column is missing or of the wrong type, a cell is empty, or a document is judged twice.
    """
    return judgments(_table(qrels, "qrels"))


def _table(frame: Any, name: str) -> ColumnTable:  # noqa: ANN401
    if isinstance(frame, pl.DataFrame):
        return ColumnTable(frame, name)
    if library_of(frame) != "pandas":
        raise InputError(name, f"is of type {type(frame).__name__}; give a dict or a frame of pandas or polars")
    try:
        return ColumnTable(pl.DataFrame([_column(str(label), column) for label, column in frame.items()]), name)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise InputError(name, "has a column of mixed types; make ids strings and scores numbers") from None


def _column(name: str, column: Any) -> pl.Series:  # noqa: ANN401  a column of pandas, which has no types
    """Return a column of pandas; ``polars.from_pandas`` needs pyarrow for all but plain numbers."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    cells = zip(column.tolist(), column.isna().tolist(), strict=True)
    return pl.Series(name, [None if missing else value for value, missing in cells], strict=True)
