"""Which columns of a table hold the text, the id and the title, and what a row says.

Without ``--text-field`` the text is the first of ``TEXT_FIELDS`` the table has, whatever the case of its letters.
A CSV, TSV or Parquet table with none of them (a table of error codes, say) is read row by row as lines
``column: value``, empty cells left out. Of JSON, where rows need not be alike, the field must be named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import UnreadableDocument
from pipeline.formats.tables import Row, Table
from pipeline.text.display import shown

TEXT_FIELDS = ("text", "content", "contents", "body", "passage", "document", "answer")
TITLE_FIELDS = ("title", "question", "heading", "name")


@dataclass(frozen=True, slots=True)
class Fields:
    """The columns to use. ``text`` None: a row is all its columns. ``id`` None: ids are made. ``title`` None: none."""

    text: str | None
    id: str | None
    title: str | None


def choose_fields(table: Table, path: Path, *, text: str | None, id_: str | None, title: str | None) -> Fields:
    """Return the fields of a table: those named, else those recognised; an id field is never guessed.

    Raises:
        UnreadableDocument: a named field is not there, or no text field is recognised where one is needed.
    """
    for option, name in (("--text-field", text), ("--id-field", id_), ("--title-field", title)):
        if name is not None and name not in table.columns:
            problem = f"has no field {shown(name)} ({option}); it has {_listed(table.columns)}"
            raise UnreadableDocument(shown(path), problem)
    text = text or _first(TEXT_FIELDS, table.columns)
    if text is None and not table.flat:
        problem = f"has no field called {' or '.join(TEXT_FIELDS)}: name the one that holds the text (--text-field)"
        raise UnreadableDocument(shown(path), f"{problem}; it has {_listed(table.columns)}")
    return Fields(text, id_, title or _first(TITLE_FIELDS, [name for name in table.columns if name != text]))


def row_text(row: Row, fields: Fields) -> str:
    """Return what the row says, line ends as LF; empty where it says nothing.

    Raises:
        ValueError: the text is no text (a list, an object), or holds half a surrogate pair.
    """
    if fields.text is None:
        cells = ((name, _written(value).strip()) for name, value in row.values.items())
        text = "\n".join(f"{name}: {cell}" for name, cell in cells if cell)
    else:
        text = _text_of(row.values.get(fields.text), fields.text)
    return _whole(text)


def row_title(row: Row, fields: Fields) -> str:
    """Return the row's title, empty where it has none; raises as ``row_text`` does."""
    return _whole(_text_of(row.values.get(fields.title), fields.title)) if fields.title else ""


def row_key(row: Row, name: str) -> str:
    """Return the value of the id field, verbatim.

    Raises:
        ValueError: it is missing, or neither text nor a whole number.
    """
    value = row.values.get(name)
    if value is None:
        raise ValueError(f"has no {shown(name)}")
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"{shown(name)} is neither text nor a whole number")  # noqa: TRY004  # one reaction to any bad cell
    return _whole(str(value))


def _first(wanted: Sequence[str], columns: Sequence[str]) -> str | None:
    folded = {name.strip().casefold(): name for name in reversed(columns)}
    return next((folded[name] for name in wanted if name in folded), None)


def _listed(columns: Sequence[str]) -> str:
    names = ", ".join(shown(name)[:40] for name in columns[:20]) or "none"
    return names + (f" and {len(columns) - 20} more" if len(columns) > 20 else "")


def _text_of(value: object, name: str) -> str:
    if isinstance(value, (list, Mapping, bytes)):
        raise ValueError(f"{shown(name)} is no text")  # noqa: TRY004  # one reaction to any bad cell
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
        raise ValueError("holds half a surrogate pair, which is no character") from None
    return text
