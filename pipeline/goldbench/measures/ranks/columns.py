"""Tables of judgments and of results: which column is what, by the names that tools give it; every cell is checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ColumnTable:
    """A table, its name in messages, and whether its rows are the lines of a file below a header."""

    frame: pl.DataFrame
    name: str
    has_lines: bool = False

    def line(self, row: int) -> int | None:
        """Return the line of a row that is counted from 0, or None."""
        return row + 2 if self.has_lines else None

    def error(self, problem: str, row: int) -> InputError:
        """Return the error for a row."""
        return InputError(self.name, f"{_row(row)}: {problem}", line=self.line(row))

    def refuse(self, bad: pl.Series, problem: str) -> None:
        """Refuse the first row that is bad.

        Raises:
            InputError: There is one.
        """
        rows = bad.arg_true()
        if len(rows):
            raise self.error(problem, rows[0])


def column_of(role: Role, columns: Sequence[str]) -> str | None:
    """Return the column that plays ``role``, by the first of its known names that exists, or None."""
    by_name = {_plain(column): column for column in reversed(columns)}
    return next((by_name[name] for name in _NAMES[role] if name in by_name), None)


def results(table: ColumnTable) -> pl.DataFrame:
    """Return the rows of a run with the columns ``query``, ``doc`` and ``score``; without scores, by its ranks.

    Raises:
        InputError: A column is missing, a cell is empty, an id is not a string or a score not a finite number.
    """
    columns = table.frame.columns
    by_rank = column_of("score", columns) is None and column_of("rank", columns) is not None
    value: Role = "rank" if by_rank else "score"
    rows = _select(table, value)
    scores = rows[value]
    table.refuse(~scores.is_finite().fill_null(value=False), f"the {value} is not a finite number")
    return rows.select("query", "doc", score=-scores if by_rank else scores)


def judgments(table: ColumnTable) -> dict[str, dict[str, int]]:
    """Return the grade per document and query of a table of judgments.

    Raises:
        InputError: A column is missing, a cell is empty, an id is not a string, a grade not a whole number, or a
            document is judged twice for a query.
    """
    rows = _select(table, "grade")
    grades = rows["grade"]
    whole = (grades % 1 == 0) & (grades.abs() <= HIGHEST_GRADE)
    table.refuse(~whole.fill_null(value=False), f"the grade is not {GRADES}")
    qrels: dict[str, dict[str, int]] = {}
    for row, (query_id, doc_id, grade) in enumerate(rows.iter_rows()):
        judged = qrels.setdefault(query_id, {})
        if doc_id in judged:
            raise table.error(f"query {query_id!r} has a grade for {doc_id!r} already; keep one of the two", row)
        judged[doc_id] = int(grade)
    return qrels


def repeated(table: ColumnTable, query_id: str, doc_id: str) -> InputError:
    """Return the error for a document that a query has twice in a table of results."""
    rows = results(table)
    first, second = ((rows["query"] == query_id) & (rows["doc"] == doc_id)).arg_true()[:2]
    before = f"line {table.line(first)}" if table.has_lines else _row(first)
    problem = f"query {query_id!r} has document {doc_id!r} already in {before}; keep one of the two"
    return table.error(problem, second)


def _select(table: ColumnTable, value: Role) -> pl.DataFrame:
    """Return the columns ``query`` and ``doc`` as strings and ``value`` as numbers, null where a text is none."""
    import polars as pl

    frame = table.frame
    roles: tuple[Role, ...] = ("query", "doc", value)
    columns = {role: column_of(role, frame.columns) for role in roles}
    names = [_plain(_RENAMED.sub("", column)) for column in frame.columns]
    for role, column in columns.items():
        if column is None:
            problem = f"has no column {_SHOWN[role]} (or {', '.join(_NAMES[role])}); rename the right one"
            raise InputError(table.name, problem)
        if names.count(_plain(column)) > 1:  # nothing tells which of the two is the right one
            raise InputError(table.name, f"has two columns {column}; rename the wrong one")
        table.refuse(frame[column].is_null(), f"the cell of {column} is empty")
    rows = frame.select(pl.col(str(column)).alias(role) for role, column in columns.items())
    for role in ("query", "doc"):
        if rows.height and not (rows[role].dtype.is_integer() or _is_text(rows[role])):
            raise InputError(table.name, f"the {role} ids are of type {rows[role].dtype}; make them strings")
    kind = rows[value].dtype
    if not (kind.is_numeric() or _is_text(rows[value]) or kind in {pl.Boolean, pl.Null}):
        raise InputError(table.name, f"the {value}s are of type {kind}; make them numbers")
    number = pl.col(value).cast(pl.String) if isinstance(kind, pl.Categorical | pl.Enum) else pl.col(value)
    rows = rows.select(pl.col("query", "doc").cast(pl.String), number.cast(pl.Float64, strict=False))
    for role in ("query", "doc"):
        table.refuse(rows[role].str.len_bytes() == 0, f"the {role} id is empty")
    return rows


def _is_text(column: pl.Series) -> bool:
    import polars as pl

    return column.dtype == pl.String or isinstance(column.dtype, pl.Categorical | pl.Enum)


def _plain(column: str) -> str:
    return _NO_LETTER.sub("", column.lower())


def _row(row: int) -> str:
    return f"row {row + 1:,}"


Library = Literal["pandas", "polars"]


def library_of(thing: object, kind: str = "DataFrame") -> Library | None:
    """Return the library that a frame, or another class of that name, belongs to; None for anything else."""
    roots = (base.__module__.partition(".")[0] for base in type(thing).__mro__ if base.__name__ == kind)
    library = next((root for root in roots if root in {"pandas", "polars"}), None)
    return "pandas" if library == "pandas" else "polars" if library else None
