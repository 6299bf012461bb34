"""Rows of tables to documents.

A table is read twice: first to check that all of it is well-formed and that no id occurs twice, then to give its rows.
So a damaged table gives no document, and memory holds one row and 8 bytes per row, for a file of any size.
"""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Iterator

import numpy as np
from pydantic import TypeAdapter, ValidationError

from goldbench.pipeline.formats.documents.fields import Fields, ReadOptions, choose_fields, row_key, row_text, row_title
from goldbench.pipeline.formats.documents.identity import Keys, Register, digest, fingerprint, row_id
from goldbench.pipeline.formats.documents.sources import SourceFile
from goldbench.pipeline.formats.documents.titles import short_title
from goldbench.pipeline.formats.faults import Fault
from goldbench.pipeline.formats.tables import Row, Table, open_table
from goldbench.pipeline.text.display import shown
from goldbench.schemas.corpus import Document
from goldbench.schemas.record import Id

_ID = TypeAdapter(Id)


def table_documents(file: SourceFile, options: ReadOptions, register: Register) -> Iterator[Document | Fault]:
    """Yield a document for each row, and a fault for each row with neither text nor title.

    Args:
        file: The table.
        options: The fields to read, and whether rows are chunks already.
        register: The ids given so far; takes the ids of this table if it brings its own.

    Raises:
        Fault: The table is malformed, lacks a field, or an id is bad or given twice.
    """
    table = file.table or open_table(file.path, megabytes=options.max_megabytes)
    fields = choose_fields(table, options)
    keys = _survey(file.source, table, fields)
    if fields.id is not None:
        _refuse_second_ids(table, fields, keys, register)
        register.add_table(file.path, keys)
    repeated = set(_repeated(keys).tolist())
    yield from _documents(file.source, table, fields, repeated=repeated, ready=options.ready_chunks)


def _survey(source: str, table: Table, fields: Fields) -> Keys:
    """Return one fingerprint per row, in order: of its id, or of its source, title and text."""
    keys = array.array("Q")
    for row in table.rows():
        doc_id, title, text = _parts(row, fields)
        keys.append(fingerprint(digest(source, title, text) if doc_id is None else doc_id.encode()))
    if not keys:
        raise Fault("holds no rows")
    return np.frombuffer(keys, dtype=np.uint64)


def _parts(row: Row, fields: Fields) -> tuple[str | None, str, str]:
    """Return the row's own id, if it brings one, its title and its text."""
    try:
        doc_id = None if fields.id is None else _valid_id(row_key(row, fields.id))
        return doc_id, row_title(row, fields), row_text(row, fields)
    except Fault as fault:
        raise fault.at(row.place) from None


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
        raise Fault(f"{named} {problem}") from None


def _documents(
    source: str, table: Table, fields: Fields, *, repeated: set[int], ready: bool
) -> Iterator[Document | Fault]:
    occurrences: Counter[int] = Counter()
    for row in table.rows():
        doc_id, title, text = _parts(row, fields)
        if not (text.strip() or title.strip()):
            yield Fault("has no text").at(row.place)
            continue
        if doc_id is None:
            said = digest(source, title, text)
            key = fingerprint(said)
            doc_id = row_id(source, said, occurrences.get(key, 0))
            if key in repeated:
                occurrences[key] += 1
        yield Document(
            doc_id=doc_id,
            title=short_title(title),
            text=text if text.strip() else title,
            source=f"{source}#{row.number}",
            ready=ready,
        )


def _refuse_second_ids(table: Table, fields: Fields, keys: Keys, register: Register) -> None:
    within = _repeated(keys)
    if within.size:
        first = np.isin(keys, within).argmax()
        row, again = (_row_at(table, int(position)) for position in np.flatnonzero(keys == keys[first])[:2])
        raise _taken(again, fields, f"line {row.line}" if row.line is not None else row.place)
    if (clash := register.clash(keys)) is not None:
        position, other = clash
        raise _taken(_row_at(table, position), fields, shown(other))


def _taken(row: Row, fields: Fields, before: object) -> Fault:
    named = f"the id {shown(row_key(row, fields.id or ''))[:60]}"
    return Fault(f"{named} was given before, in {before}: make ids differ, or leave out --id-field").at(row.place)


def _repeated(keys: Keys) -> Keys:
    in_order = np.sort(keys)
    return np.unique(in_order[1:][in_order[1:] == in_order[:-1]])


def _row_at(table: Table, position: int) -> Row:
    return next(row for index, row in enumerate(table.rows()) if index == position)
