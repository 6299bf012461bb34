"""Tables of judgments and of results: which column is what, by the names that tools give it; every cell is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from goldbench.errors import InputError
from goldbench.measures.ranks.judged_ranks import GRADES, HIGHEST_GRADE

if TYPE_CHECKING:
    import polars as pl

Role = Literal["query", "doc", "score", "grade", "rank"]

_NAMES: dict[Role, tuple[str, ...]] = {
    "query": ("queryid", "qid", "query", "topic", "topicid", "topicno", "q"),
    "doc": ("docid", "documentid", "corpusid", "docno", "did", "pid", "passageid", "chunkid", "doc", "document", "d"),
    "score": ("score", "sim", "similarity"),
    "grade": ("grade", "relevance", "rel", "label", "judgment", "judgement", "score"),
    "rank": ("rank", "position"),
}
_SHOWN: dict[Role, str] = {"query": "query_id", "doc": "doc_id", "score": "score", "grade": "grade", "rank": "rank"}
_NO_LETTER = re.compile(r"[^a-z0-9]")
_RENAMED = re.compile(r"_duplicated_[0-9]+$")
"""What polars appends to the second column of the same name in a CSV file."""

Where = Callable[[int], dict[str, int]]
"""For a row, counted from 0, the line of the file as the argument ``line`` of an error; empty for a frame."""


class _Wrong(Exception):
    """What is wrong with a table, and the row it is in, counted from 0; None if it concerns the table."""

    def __init__(self, problem: str, row: int | None = None) -> None:
        self.problem, self.row = problem, row
        super().__init__(problem)


@contextmanager
def _named(name: str, where: Where) -> Iterator[None]:
    """Add the name of the table, the row and the line to what is wrong with it."""
    try:
        yield
    except _Wrong as wrong:
        if wrong.row is None:
            raise InputError(name, wrong.problem) from None
        raise InputError(name, f"{_row(wrong.row)}: {wrong.problem}", **where(wrong.row)) from None


def column_of(role: Role, columns: Sequence[str]) -> str | None:
    """Return the column that plays ``role``, by the first of its known names that exists, or None."""
    plain = {_NO_LETTER.sub("", column.lower()): column for column in reversed(columns)}
    return next((plain[name] for name in _NAMES[role] if name in plain), None)


def results(frame: pl.DataFrame, name: str, where: Where = lambda _: {}) -> pl.DataFrame:
    """Return the rows of a run with the columns ``query``, ``doc`` and ``score``; without scores, by its ranks.

    Args:
        frame: The table, with columns of any type.
        name: Name of the table in messages.
        where: Returns the line of a row.

    Raises:
        InputError: A column is missing, a cell is empty, an id is not a string or a score not a finite number.
    """
    by_rank = column_of("score", frame.columns) is None and column_of("rank", frame.columns) is not None
    value: Role = "rank" if by_rank else "score"
    with _named(name, where):
        rows = _ids(_chosen(frame, ("query", "doc", value)))
        scores = _numbers(rows, value)
        _refuse_first(~scores.is_finite().fill_null(value=False), f"the {value} is not a finite number")
    return rows.select("query", "doc", score=-scores if by_rank else scores)


def judgments(frame: pl.DataFrame, name: str, where: Where = lambda _: {}) -> dict[str, dict[str, int]]:
    """Return the grade per document and query of a table of judgments.

    Args:
        frame: As in `results`.
        name: As in `results`.
        where: As in `results`.

    Raises:
        InputError: A column is missing, a cell is empty, an id is not a string, a grade not a whole number, or a
            document is judged twice for a query.
    """
    import polars as pl

    found: dict[str, dict[str, int]] = {}
    with _named(name, where):
        rows = _ids(_chosen(frame, ("query", "doc", "grade")))
        grades = _numbers(rows, "grade")
        whole = (grades % 1 == 0) & (grades.abs() <= HIGHEST_GRADE)
        _refuse_first(~whole.fill_null(value=False), f"the grade is not {GRADES}")
        for row, (query_id, doc_id, grade) in enumerate(rows.select("query", "doc", grades.cast(pl.Int64)).iter_rows()):
            judged = found.setdefault(query_id, {})
            if doc_id in judged:
                raise _Wrong(f"query {query_id!r} has a grade for {doc_id!r} already; keep one of the two", row)
            judged[doc_id] = grade
    return found


def repeated(rows: pl.DataFrame, query_id: str, doc_id: str, name: str, where: Where = lambda _: {}) -> InputError:
    """Return the error for a document that a query has twice.

    Args:
        rows: The result of `results`.
        query_id: The query.
        doc_id: The document.
        name: As in `results`.
        where: As in `results`.
    """
    first, second = ((rows["query"] == query_id) & (rows["doc"] == doc_id)).arg_true()[:2]
    line = where(first).get("line")
    before = f"line {line}" if line else _row(first)
    problem = f"{_row(second)}: query {query_id!r} has document {doc_id!r} already in {before}; keep one of the two"
    return InputError(name, problem, **where(second))


def _chosen(frame: pl.DataFrame, roles: Sequence[Role]) -> pl.DataFrame:
    import polars as pl

    columns = {role: column_of(role, frame.columns) for role in roles}
    for role, column in columns.items():
        if column is None:
            raise _Wrong(f"has no column {_SHOWN[role]} (or {', '.join(_NAMES[role])}); rename the right one")
    _refuse_twins(frame.columns, columns.values())
    rows = frame.select(pl.col(str(column)).alias(role) for role, column in columns.items())
    for role in roles:
        _refuse_first(rows[role].is_null(), f"the cell of {columns[role]} is empty")
    return rows


def _refuse_twins(columns: Sequence[str], chosen: Iterable[str | None]) -> None:
    """Refuse a second column of the same name: nothing tells which of the two is the right one."""
    plain = [_NO_LETTER.sub("", _RENAMED.sub("", column).lower()) for column in columns]
    for column in chosen:
        if plain.count(_NO_LETTER.sub("", str(column).lower())) > 1:
            raise _Wrong(f"has two columns {column}; rename the wrong one")


def _refuse_first(bad: pl.Series, problem: str) -> None:
    rows = bad.arg_true()
    if len(rows):
        raise _Wrong(problem, rows[0])


def _numbers(rows: pl.DataFrame, role: Role) -> pl.Series:
    """Return a column as numbers, null where a text is not a number."""
    import polars as pl

    kind = rows[role].dtype
    if isinstance(kind, pl.Categorical | pl.Enum):
        return rows[role].cast(pl.String).cast(pl.Float64, strict=False)
    if not (kind.is_numeric() or kind in {pl.String, pl.Boolean, pl.Null}):
        raise _Wrong(f"the {role}s are of type {kind}; make them numbers")
    return rows[role].cast(pl.Float64, strict=False)


def _ids(rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    for role in ("query", "doc"):
        kind = rows[role].dtype
        if rows.height and not (kind == pl.String or kind.is_integer() or isinstance(kind, pl.Categorical | pl.Enum)):
            raise _Wrong(f"the {role} ids are of type {kind}; make them strings")
    rows = rows.with_columns(pl.col("query", "doc").cast(pl.String))
    for role in ("query", "doc"):
        _refuse_first(rows[role].str.len_bytes() == 0, f"the {role} id is empty")
    return rows


def _row(row: int) -> str:
    return f"row {row + 1:,}"
