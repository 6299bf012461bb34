"""Tables of judgments and of results: which column is what, by the names that tools give it; every cell is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from pipeline.errors import InputError

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
"""What polars adds to the name of a column that stands in a CSV file already."""

_HIGHEST_GRADE = 1000

Where = Callable[[int], dict[str, int]]
"""For a row, counted from 0, the line of the file as the argument ``line`` of an error; nothing if it has none."""


def column_of(role: Role, columns: Sequence[str]) -> str | None:
    """Return the column that plays ``role``, by the first of its known names that is there; ``None`` if none is."""
    plain = {_NO_LETTER.sub("", column.lower()): column for column in reversed(columns)}
    return next((plain[name] for name in _NAMES[role] if name in plain), None)


def results(frame: pl.DataFrame, name: str, where: Where = lambda _: {}) -> pl.DataFrame:
    """Return the rows of a run with the columns ``query``, ``doc`` and ``score``; without scores, by its ranks.

    Args:
        frame: the table, with columns of any type.
        name: what it is called in messages.
        where: the line of each row.

    Raises:
        InputError: a column is missing, a cell is empty, an id is no string or a score no finite number.
    """
    by_rank = column_of("score", frame.columns) is None and column_of("rank", frame.columns) is not None
    value: Role = "rank" if by_rank else "score"
    rows = _ids(_chosen(frame, ("query", "doc", value), name, where), name, where)
    scores = _numbers(rows, value, name)
    bad = (~scores.is_finite().fill_null(value=False)).arg_true()
    if len(bad):
        raise InputError(name, f"{_row(bad[0])}: the {value} is no finite number", **where(bad[0]))
    return rows.select("query", "doc", score=-scores if by_rank else scores)


def judgments(frame: pl.DataFrame, name: str, where: Where = lambda _: {}) -> dict[str, dict[str, int]]:
    """Return the grade per document and query of a table of judgments.

    Args:
        frame: the table, with columns of any type.
        name: what it is called in messages.
        where: the line of each row.

    Raises:
        InputError: a column is missing, a cell is empty, an id is no string, a grade no whole number, or a document is
            judged twice for a query.
    """
    import polars as pl

    rows = _ids(_chosen(frame, ("query", "doc", "grade"), name, where), name, where)
    grades = _numbers(rows, "grade", name)
    bad = (~((grades % 1 == 0) & (grades.abs() <= _HIGHEST_GRADE)).fill_null(value=False)).arg_true()
    if len(bad):
        limits = f"from -{_HIGHEST_GRADE} to {_HIGHEST_GRADE}"
        raise InputError(name, f"{_row(bad[0])}: the grade is no whole number {limits}", **where(bad[0]))
    found: dict[str, dict[str, int]] = {}
    for row, (query_id, doc_id, grade) in enumerate(rows.select("query", "doc", grades.cast(pl.Int64)).iter_rows()):
        judged = found.setdefault(query_id, {})
        if doc_id in judged:
            raise InputError(name, f"{_row(row)}: query {query_id!r} has a grade for {doc_id!r} already", **where(row))
        judged[doc_id] = grade
    return found


def repeated(rows: pl.DataFrame, query_id: str, doc_id: str, name: str, where: Where = lambda _: {}) -> InputError:
    """Return the error for a document that stands twice under a query in ``rows``, the result of ``results``."""
    first, second = ((rows["query"] == query_id) & (rows["doc"] == doc_id)).arg_true()[:2]
    line = where(first).get("line")
    before = f"line {line}" if line else _row(first)
    problem = f"{_row(second)}: query {query_id!r} has document {doc_id!r} already in {before}; keep one of the two"
    return InputError(name, problem, **where(second))


def _chosen(frame: pl.DataFrame, roles: Sequence[Role], name: str, where: Where) -> pl.DataFrame:
    import polars as pl

    columns = {role: column_of(role, frame.columns) for role in roles}
    for role, column in columns.items():
        if column is None:
            known = ", ".join(_NAMES[role])
            raise InputError(name, f"has no column {_SHOWN[role]} (or one of {known}); rename the one that is it")
    _refuse_twins(frame.columns, columns.values(), name)
    rows = frame.select(pl.col(str(column)).alias(role) for role, column in columns.items())
    for role in roles:
        empty = rows[role].is_null().arg_true()
        if len(empty):
            raise InputError(name, f"{_row(empty[0])}: the cell of {columns[role]} is empty", **where(empty[0]))
    return rows


def _refuse_twins(columns: Sequence[str], chosen: Iterable[str | None], name: str) -> None:
    """Refuse a second column of the same name: which of the two is meant cannot be known."""
    plain = [_NO_LETTER.sub("", _RENAMED.sub("", column).lower()) for column in columns]
    for column in chosen:
        if plain.count(_NO_LETTER.sub("", str(column).lower())) > 1:
            raise InputError(name, f"has two columns {column}; rename the one that is not meant")


def _numbers(rows: pl.DataFrame, role: Role, name: str) -> pl.Series:
    """Return a column as numbers, null where a text is none."""
    import polars as pl

    kind = rows[role].dtype
    if isinstance(kind, pl.Categorical | pl.Enum):
        return rows[role].cast(pl.String).cast(pl.Float64, strict=False)
    if not (kind.is_numeric() or kind in {pl.String, pl.Boolean, pl.Null}):
        raise InputError(name, f"the {role}s are of type {kind}: make them numbers")
    return rows[role].cast(pl.Float64, strict=False)


def _ids(rows: pl.DataFrame, name: str, where: Where) -> pl.DataFrame:
    import polars as pl

    for role in ("query", "doc"):
        kind = rows[role].dtype
        if not (kind == pl.String or kind.is_integer() or isinstance(kind, pl.Categorical | pl.Enum)):
            raise InputError(name, f"the {role} ids are of type {kind}: make them strings")
    rows = rows.with_columns(pl.col("query", "doc").cast(pl.String))
    for role in ("query", "doc"):
        empty = (rows[role].str.len_bytes() == 0).arg_true()
        if len(empty):
            raise InputError(name, f"{_row(empty[0])}: the {role} id is empty", **where(empty[0]))
    return rows


def _row(row: int) -> str:
    return f"row {row + 1:,}"
