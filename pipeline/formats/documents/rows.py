"""Rows of tables to documents.

A table is read twice: once to see that all of it is well-formed and no id occurs twice, once to give its rows. So a
damaged table gives nothing at all, and memory holds one row and 8 bytes for each, whatever the size of the file.
"""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from pipeline.errors import UnreadableDocument
from pipeline.formats.documents.fields import Fields, choose_fields, row_key, row_text, row_title
from pipeline.formats.documents.identity import digest, one_line, row_id, stem
from pipeline.formats.documents.read_options import ReadOptions
from pipeline.formats.documents.register import Register, fingerprint
from pipeline.formats.documents.sources import SourceFile
from pipeline.formats.tables import Row, Table, open_table
from pipeline.text.display import shown
from schemas.corpus import Document
from schemas.record import Id

_ID = TypeAdapter(Id)
_REMEDY = ": without --id-field, ids are made"


def table_documents(
    file: SourceFile, options: ReadOptions, register: Register
) -> Iterator[Document | UnreadableDocument]:
    """Yield a document for each row, and a failure for each row without text.

    Args:
        file: the table.
        options: which fields to read, and whether rows are chunks already.
        register: the ids given so far; takes those of this table, where it brings its own.

    Raises:
        UnreadableDocument: the table is malformed, lacks a field, or an id is bad or given twice.
    """
    table = open_table(file.path, megabytes=options.max_megabytes)
    fields = choose_fields(table, file.path, text=options.text_field, id_=options.id_field, title=options.title_field)
    keys = _survey(file, table, fields)
    if fields.id is not None:
        _refuse_second_ids(file, table, fields, keys, register)
        register.add_table(file.path, keys)
    yield from _documents(file, table, fields, repeated=set(_repeated(keys).tolist()), ready=options.ready_chunks)


def _survey(file: SourceFile, table: Table, fields: Fields) -> npt.NDArray[np.uint64]:
    """Return one fingerprint per row, in order: of its id, or of what it says."""
    keys = array.array("Q")
    for row in table.rows():
        keys.append(_key(file, row, fields))
    if not keys:
        raise UnreadableDocument(shown(file.path), "holds no rows")
    return np.frombuffer(keys, dtype=np.uint64)


def _key(file: SourceFile, row: Row, fields: Fields) -> int:
    doc_id, title, text = _parts(file, row, fields)
    return fingerprint(digest(file.source, title, text) if doc_id is None else doc_id.encode())


def _parts(file: SourceFile, row: Row, fields: Fields) -> tuple[str | None, str, str]:
    """Return the row's own id, where it brings one, its title and its text."""
    try:
        doc_id = None if fields.id is None else _valid_id(row_key(row, fields.id))
        return doc_id, row_title(row, fields), row_text(row, fields)
    except ValueError as error:
        raise _bad_row(file.path, row, str(error)) from None


def _valid_id(value: str) -> str:
    try:
        return _ID.validate_python(value)
    except ValidationError:
        if not value:
            problem = "is empty"
        elif len(value) > 200:
            problem = f"has {len(value)} characters, more than 200"
        elif value.startswith("#"):
            problem = "begins with #"
        else:
            problem = "contains white space or a control character"
        named = f"the id {shown(value)[:60]}" if value else "the id"
        raise ValueError(f"{named} {problem}") from None


def _documents(
    file: SourceFile, table: Table, fields: Fields, *, repeated: set[int], ready: bool
) -> Iterator[Document | UnreadableDocument]:
    occurrences: Counter[int] = Counter()
    for row in table.rows():
        doc_id, title, text = _parts(file, row, fields)
        if not text.strip():
            yield _bad_row(file.path, row, "has no text")
            continue
        if doc_id is None:
            said = digest(file.source, title, text)
            key = fingerprint(said)
            doc_id = row_id(file.source, said, occurrences.get(key, 0))
            if key in repeated:
                occurrences[key] += 1
        yield Document(
            doc_id=doc_id,
            title=one_line(title) or stem(file.source),
            text=text,
            source=f"{file.source}#{row.number}",
            ready=ready,
        )


def _refuse_second_ids(
    file: SourceFile, table: Table, fields: Fields, keys: npt.NDArray[np.uint64], register: Register
) -> None:
    within = _repeated(keys)
    if within.size:
        first = np.isin(keys, within).argmax()
        row, again = (_row_at(table, int(position)) for position in np.flatnonzero(keys == keys[first])[:2])
        raise _bad_row(file.path, again, f"{_named(again, fields)} was given before, in {_where(row)}{_REMEDY}")
    if (clash := register.clash(keys)) is not None:
        position, other = clash
        row = _row_at(table, position)
        raise _bad_row(file.path, row, f"{_named(row, fields)} was given before, in {shown(other)}{_REMEDY}")


def _named(row: Row, fields: Fields) -> str:
    return f"the id {shown(row_key(row, fields.id or ''))[:60]}"


def _repeated(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    in_order = np.sort(keys)
    return np.unique(in_order[1:][in_order[1:] == in_order[:-1]])


def _row_at(table: Table, position: int) -> Row:
    return next(row for index, row in enumerate(table.rows()) if index == position)


def _where(row: Row) -> str:
    return f"row {row.number}" if row.line is None else f"line {row.line}"


def _bad_row(path: Path, row: Row, problem: str) -> UnreadableDocument:
    if row.line is None:
        return UnreadableDocument(shown(path), f"row {row.number}: {problem}")
    return UnreadableDocument(shown(path), problem, line=row.line)
