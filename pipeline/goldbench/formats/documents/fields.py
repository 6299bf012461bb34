"""Which columns of a table hold the text, the id and the title, and the text of a row.

Without ``--text-field`` the text is the first of ``TEXT_FIELDS`` that the table has, in any case of letters. If a CSV,
TSV or Parquet table has none of them (a table of error codes, for example), each row becomes lines ``column: value``
without its empty cells. In JSON, where rows may differ, the field must be named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from goldbench.formats.charsets import REMEDY
from goldbench.formats.faults import Fault
from goldbench.formats.tables import Row, Table
from goldbench.text.display import shown

TEXT_FIELDS = ("text", "page_content", "content", "contents", "body", "passage", "document", "answer")
TITLE_FIELDS = ("title", "question", "heading", "name")


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How documents are to be read.

    ``text_field``, ``id_field`` and ``title_field`` name columns of tables. ``ready_chunks`` means that rows are chunks
    already. ``limit_documents`` ends the reading after this many documents. ``encoding`` is that of all text files,
    None recognises it; ``encodings`` holds those of files by pattern.
    """

    text_field: str | None = None
    id_field: str | None = None
    title_field: str | None = None
    ready_chunks: bool = False
    limit_documents: int | None = None
    encoding: str | None = None
    encodings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """The columns to use. None as ``text``: all columns are the text; as ``id``: ids are made."""

    text: str | None
    id: str | None
    title: str | None


def choose_fields(table: Table, options: ReadOptions) -> ColumnChoice:
    """Return the fields of a table: those named, else those recognised; an id field is never guessed.

    Raises:
        Fault: The table lacks a named field, or no text field is recognised and one is needed.
    """
    named = {
        "text_field": options.text_field, "id_field": options.id_field, "title_field": options.title_field
    }  # fmt: skip
    for key, name in named.items():
        if name is not None and not {name, name.partition(".")[0]} & set(table.columns):
            raise Fault(f"has no field {shown(name)} (documents.{key}); it has {_listed(table.columns)}")
    text = options.text_field or _first(TEXT_FIELDS, table.columns)
    if text is None and not table.flat:
        problem = (
            f"has no field called {' or '.join(TEXT_FIELDS)}: name the one that holds the text (documents.text_field)"
        )
        raise Fault(f"{problem}; it has {_listed(table.columns)}")
    others = [name for name in table.columns if name != text]
    return ColumnChoice(text, options.id_field, options.title_field or _first(TITLE_FIELDS, others))


def row_text(row: Row, fields: ColumnChoice) -> str:
    """Return the row's text with line ends as LF; empty if the row holds none.

    Raises:
        Fault: The cell is not text (a list, an object), or holds half a surrogate pair.
    """
    if fields.text is None:
        cells = ((name, _written(value).strip()) for name, value in row.values.items())
        text = "\n".join(f"{name}: {cell}" for name, cell in cells if cell)
    else:
        text = _text_of(_value(row, fields.text), fields.text)
    return _whole(text)


def row_title(row: Row, fields: ColumnChoice) -> str:
    """Return the row's title, empty if it has none; raises as ``row_text`` does."""
    return _whole(_text_of(_value(row, fields.title), fields.title)) if fields.title else ""


def row_key(row: Row, name: str) -> str:
    """Return the value of the id field, verbatim.

    Raises:
        Fault: The value is missing, or neither text nor a whole number.
    """
    value = _value(row, name)
    if value is None:
        raise Fault(f"has no {shown(name)}")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise Fault(f"{shown(name)} is neither text nor a whole number")
    return _whole(str(value))


def _value(row: Row, name: str) -> object:
    """Return the value of a field; ``metadata.title`` is the ``title`` of the object ``metadata``."""
    if name in row.values:
        return row.values[name]
    value: object = row.values
    for key in name.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _first(wanted: Sequence[str], columns: Sequence[str]) -> str | None:
    folded = {name.strip().casefold(): name for name in reversed(columns)}
    return next((folded[name] for name in wanted if name in folded), None)


def _listed(columns: Sequence[str]) -> str:
    names = ", ".join(shown(name)[:40] for name in columns[:20]) or "none"
    return names + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def _text_of(value: object, name: str) -> str:
    if isinstance(value, (list, Mapping, bytes)):
        raise Fault(f"{shown(name)} is not text")
    return _written(value)


def _written(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return value.replace("\r\n", "\n").replace("\r", "\n")
    if isinstance(value, (list, Mapping)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Fault(f"holds bytes that are not UTF-8, or half a surrogate pair: {REMEDY}") from None
    return text
