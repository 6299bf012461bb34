"""Judgments and runs as frames of pandas or polars, with a row per judgment or per retrieved document."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from goldbench.errors import InputError
from goldbench.measures.ranks.columns import judgments, repeated, results
from goldbench.measures.ranks.frame_kinds import library_of
from goldbench.measures.ranks.frame_ranks import place_frames
from goldbench.measures.ranks.judged_ranks import DuplicateDocument, Placed, Qrels, Scores

_SYSTEMS = frozenset({"system", "run", "run_id", "runid", "tag", "model", "retriever", "name"})
"""Columns that may name the system of a row."""


def place_frame(qrels: Qrels, run: Any, *, scores: Scores) -> tuple[dict[str, Placed], int]:  # noqa: ANN401  pandas is optional
    """Return where each judged query has its judged documents, and how many queries are not judged.

    Args:
        qrels: The judgments.
        run: A frame of pandas or polars with columns for query, document and score.
        scores: How scores are compared.

    Raises:
        InputError: A column is missing or of the wrong type, a cell is empty, or a query has a document twice.
    """
    rows = results(_frame(run, "run"), "run")
    try:
        return place_frames(qrels, lambda: iter([rows]), scores=scores)
    except DuplicateDocument as error:
        raise repeated(rows, error.query_id, error.doc_id, "run") from None


def results_of_frame(run: Any) -> dict[str, dict[str, float]]:  # noqa: ANN401  pandas is optional
    """Return the score of each document by query.

    Raises:
        InputError: As `place_frame`.
    """
    frame = _frame(run, "run")
    rows = results(frame, "run")
    found: dict[str, dict[str, float]] = {}
    for query_id, doc_id, score in rows.iter_rows():
        documents = found.setdefault(query_id, {})
        if doc_id in documents:
            raise _advised(frame, rows, query_id, doc_id, library_of(run))
        documents[doc_id] = score
    return found


def _advised(frame: pl.DataFrame, rows: pl.DataFrame, query_id: str, doc_id: str, library: str | None) -> InputError:
    """Return the error for a document that a query has twice, and how to split a frame of several systems."""
    error = repeated(rows, query_id, doc_id, "run")
    twice = frame.filter((rows["query"] == query_id) & (rows["doc"] == doc_id))
    column = next((one for one in frame.columns if one.lower() in _SYSTEMS and twice[one].is_unique().all()), None)
    if column is None:
        return error
    split = f"name, rows in frame.groupby({column!r})"
    split = split if library == "pandas" else f"(name,), rows in frame.group_by({column!r})"
    problem = error.problem.removesuffix("keep one of the two")
    return InputError("run", f"{problem}if {column} names systems, give each by name: {{name: rows for {split}}}")


def qrels_of_frame(qrels: Any) -> dict[str, dict[str, int]]:  # noqa: ANN401  pandas is optional
    """Return the judgments of a frame.

    Raises:
        InputError: A column is missing or of the wrong type, a cell is empty, or a document is judged twice.
    """
    return judgments(_frame(qrels, "qrels"), "qrels")


def _frame(frame: Any, name: str) -> pl.DataFrame:  # noqa: ANN401
    if isinstance(frame, pl.DataFrame):
        return frame
    if library_of(frame) == "pandas":
        try:
            return pl.DataFrame([_column(str(label), column) for label, column in frame.items()])
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            raise InputError(name, "has a column of mixed types; make ids strings and scores numbers") from None
    raise InputError(name, f"is of type {type(frame).__name__}; give a dict or a frame of pandas or polars")


def _column(name: str, column: Any) -> pl.Series:  # noqa: ANN401  a column of pandas, which has no types
    """Return a column of pandas; ``polars.from_pandas`` needs pyarrow for all but plain numbers."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return pl.Series(name, column.to_numpy(), nan_to_null=True)
    cells = zip(column.tolist(), column.isna().tolist(), strict=True)
    return pl.Series(name, [None if missing else value for value, missing in cells], strict=True)
