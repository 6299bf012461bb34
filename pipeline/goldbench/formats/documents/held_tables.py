"""Texts and frames that a caller holds in memory, as tables of rows.

A list of texts reads like a JSON Lines file with an object per text, a frame like the Parquet file that it would be
written to, so that both give the documents which the file gives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from goldbench.errors import InputError, UsageError
from goldbench.formats.tables import Row, Table
from goldbench.measures.ranks.columns import library_of
from goldbench.text.display import shown

TEXTS = "texts"
FRAME = "frame"
"""What messages call the two."""

_BATCH = 4096
"""Rows of a frame that are made into objects of Python at once."""
_NUMPY = (np.ndarray, np.generic)
_MISSING = {"NAType", "NaTType"}
"""The classes of the values with which pandas marks what is missing."""
_FIELDS = ("page_content", "text", "content")
"""Where documents of LangChain, LlamaIndex and Haystack hold their text."""
_PLAIN = (str, bytes, bool, int, float, list, dict, Decimal, date, time, timedelta, type(None))
"""What a table in a file may hold."""


def table_of_texts(texts: Sequence[object], *, column: str) -> Table:
    """Return texts as a table of one column.

    Args:
        texts: Strings; None and NaN stand for a text that is missing.
        column: The name of the column.

    Raises:
        InputError: There is no text, or one is not a string.
    """
    checked = [_text(text, f"item {number}") for number, text in enumerate(texts, start=1)]
    return _objects([{column: text} for text in checked], (column,))


def table_of_mapping(texts: Mapping[Any, object], *, column: str, id_column: str) -> Table:
    """Return texts by id as a table of two columns.

    Args:
        texts: Strings by id; None and NaN stand for a text that is missing.
        column: The name of the column of texts.
        id_column: The name of the column of ids.

    Raises:
        InputError: There is no text, or one is not a string.
        UsageError: Both columns have one name.
    """
    if column == id_column:
        raise UsageError(f"{shown(column)} is the field of the text, too; name another", parameter="id_field")
    rows = [
        {id_column: doc_id.item() if isinstance(doc_id, np.generic) else doc_id, column: _text(text, f"item {number}")}
        for number, (doc_id, text) in enumerate(texts.items(), start=1)
    ]
    return _objects(rows, (id_column, column))


def table_of_frame(frame: Any) -> Table:  # noqa: ANN401  of pandas or polars, neither of which is imported here
    """Return the rows of a frame of pandas or polars; the index of pandas is not read.

    Iterating over the rows raises ``InputError`` at a value that is neither text, number, date nor list of these.

    Raises:
        InputError: The frame is empty, a column has no name that is a string, or a name is given twice.
    """
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise InputError(FRAME, f"the column name {shown(str(name))} is not a string; rename the column")
        if names.count(name) > 1:
            raise InputError(FRAME, f"has two columns named {shown(name)}; rename one")
    if not len(frame):
        raise InputError(FRAME, "has no rows")

    rows_of = frame.iloc if library_of(frame) == "pandas" else frame  # without iloc, labels may be taken for places

    def rows() -> Iterator[Row]:
        for start in range(0, len(frame), _BATCH):
            part = rows_of[start : start + _BATCH]
            cells = zip(*(_cells(part[name]) for name in names), strict=True)
            for number, values in enumerate(cells, start=start + 1):
                yield Row(number, None, _checked(dict(zip(names, values, strict=True)), number))

    return Table(tuple(names), rows, flat=True)


def _cells(column: Any) -> list[object]:  # noqa: ANN401
    """Return the values of a column as objects of Python, None where one is missing."""
    values: list[object] = column.tolist() if library_of(column, "Series") == "pandas" else column.to_list()
    if library_of(column, "Series") == "polars":
        return values
    return [None if missing is True else value for value, missing in zip(values, column.isna().tolist(), strict=True)]


def _checked(values: Mapping[str, object], number: int) -> dict[str, object]:
    plain = {name: value.tolist() if isinstance(value, _NUMPY) else value for name, value in values.items()}
    wrong = next((name for name, value in plain.items() if not isinstance(value, _PLAIN)), None)
    if wrong is not None:
        kind = type(plain[wrong]).__name__
        raise InputError(FRAME, f"row {number}: {shown(wrong)} is of type {kind}; make the column one of strings")
    return plain


def _objects(rows: Sequence[Mapping[str, object]], columns: tuple[str, ...]) -> Table:
    if not rows:
        raise InputError(TEXTS, "is empty; give at least one text")
    return Table(columns, lambda: (Row(number, None, row) for number, row in enumerate(rows, start=1)), flat=False)


def _text(text: object, location: str) -> str | None:
    if isinstance(text, str):
        return text
    missing = text is None or (isinstance(text, float) and math.isnan(text)) or type(text).__name__ in _MISSING
    if not missing:
        raise InputError(TEXTS, f"{location} is of type {type(text).__name__}; texts are strings, {_remedy(text)}")
    return None


def _remedy(item: object) -> str:
    """Return how texts are made of what was given for them: never the printed form of an object."""
    if isinstance(item, Mapping):
        return "give rows as a frame: pandas.DataFrame(rows)"
    field = next((name for name in _FIELDS if isinstance(getattr(item, name, None), str)), None)
    return f"give its .{field}" if field else "give the text itself"
