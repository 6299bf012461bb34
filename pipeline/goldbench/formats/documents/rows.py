"""Rows of tables to documents.

A table is read twice: first to find ids and texts that occur twice, then to give its rows, with a fault for each bad
row. So memory holds one row and 8 bytes per row, for a file of any size. Both happen in a worker process
(``file_rows``); the ids of other files are known where the documents are made (``row_documents``).
"""

from __future__ import annotations

import array
import base64
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import regex

from goldbench.formats.documents.fields import ColumnChoice, ReadOptions, choose_fields, row_key, row_text, row_title
from goldbench.formats.documents.identity import Keys, Register, digest, fingerprint, row_id
from goldbench.formats.documents.sources import SourceFile
from goldbench.formats.documents.titles import short_title
from goldbench.formats.faults import Fault
from goldbench.formats.regular_files import MAX_RATIO
from goldbench.formats.tables import Row, Table, open_table
from goldbench.records.corpus import Document
from goldbench.records.record import ID_PATTERN
from goldbench.text.display import shown

Answer = dict[str, Any]
"""A part of what a table holds: ``keys`` or ``rows``."""
_KEYS_AT_ONCE = 2**16
_CHARACTERS_AT_ONCE = 2**16
_ID = regex.compile(ID_PATTERN)


def file_rows(
    path: Path, source: str, options: ReadOptions, *, megabytes: int, encoding: str | None = None
) -> Iterator[Answer]:
    """Yield what a table in a file holds, for ``row_documents``, and before it what was found about its encoding.

    Args:
        path: The file.
        source: The source of its documents.
        options: The fields to read.
        megabytes: The largest size of a JSON file in MB, and of the text of a small table in millions of characters.
        encoding: The encoding that is set for it; None recognises it.

    Raises:
        Fault: The table as a whole is malformed, lacks a field, or its text is too large.
        MissingExtra: It is Parquet, and the package that reads it is not installed.
    """
    table = open_table(path, megabytes=megabytes, encoding=encoding)
    if table.charset is not None:
        yield {"encoding": (table.charset.encoding, table.charset.confidence)}
    most = max(megabytes * 2**20, MAX_RATIO * path.stat().st_size)
    yield from table_rows(table, source, options, most=most)


def table_rows(table: Table, source: str, options: ReadOptions, *, most: int | None = None) -> Iterator[Answer]:
    """Yield what a table holds, for ``row_documents``: first the fingerprints of its own ids, then its rows.

    Args:
        table: The table.
        source: The source of its documents.
        options: The fields to read.
        most: Most characters of its text; None for a table in memory.

    Raises:
        Fault: As ``file_rows``.
    """
    fields = choose_fields(table, options)
    try:
        keys = _survey(source, table, fields, most)
    except Fault as fault:
        if fault.line is None:
            raise
        raise Fault(f"{fault.problem}; none of the rows is read", line=fault.line) from None
    if fields.id is not None:
        own = keys[np.sort(np.unique(keys, return_index=True)[1])]
        for start in range(0, own.size, _KEYS_AT_ONCE):
            yield {"keys": base64.b64encode(own[start : start + _KEYS_AT_ONCE].tobytes()).decode("ascii")}
    in_order = np.sort(keys)
    repeated = set(in_order[1:][in_order[1:] == in_order[:-1]].tolist())
    rows: list[tuple[int | str, str, str, str, int]] = []
    size = 0
    for row in _rows(source, table, fields, repeated):
        if isinstance(row, Fault):
            yield {"rows": rows, "bad": (row.problem, row.line)}
            rows = []
            size = 0
            continue
        rows.append(row)
        size += len(row[2]) + len(row[3])
        if size > _CHARACTERS_AT_ONCE:
            yield {"rows": rows}
            rows = []
            size = 0
    yield {"rows": rows}


def row_documents(
    file: SourceFile, answers: Iterable[Answer], options: ReadOptions, register: Register
) -> Iterator[Document | Fault]:
    """Yield a document for each row, and a fault for each malformed row and each with neither text nor title.

    Args:
        file: The table.
        answers: What it holds.
        options: Whether rows are chunks already.
        register: The ids given so far; takes the ids of this table if it brings its own.

    Raises:
        Fault: An id of the table was given before, in another file.
    """
    keys = array.array("Q")
    known = False
    clash = None
    position = 0
    for answer in answers:
        if "keys" in answer:
            keys.frombytes(base64.b64decode(answer["keys"]))
            continue
        if keys and not known:
            own = np.frombuffer(keys, dtype=np.uint64)
            clash = register.clash(own)
            known = True
            if clash is None:
                register.add_table(file.path, own)
        for location, doc_id, title, text, number in answer["rows"]:
            if clash is not None:
                if position == clash[0]:
                    raise _taken(doc_id, shown(clash[1])).at(location)
                position += 1
            elif not (text.strip() or title.strip()):
                yield Fault("has no text").at(location)
            else:
                yield Document(
                    doc_id=doc_id,
                    title=short_title(title),
                    text=text if text.strip() else title,
                    source=f"{file.source}#{number}",
                    ready=options.ready_chunks,
                )
        if bad := answer.get("bad"):
            yield Fault(bad[0], line=bad[1])


def _survey(source: str, table: Table, fields: ColumnChoice, most: int | None) -> Keys:
    """Return a fingerprint of each well-formed row, in order: of its id, or of its source, title and text."""
    keys = array.array("Q")
    size = bad = 0
    for parts in _read_parts(table, fields):
        if isinstance(parts, Fault):
            bad += 1
            continue
        _, doc_id, title, text = parts
        keys.append(fingerprint(digest(source, title, text) if doc_id is None else doc_id.encode()))
        size += len(title) + len(text)
        if most is not None and size > most:
            raise Fault(
                f"gives more than {most // 2**20:,} million characters of text: split it, or raise"
                " documents.max_megabytes"
            )
    if not keys and not bad:
        raise Fault("holds no rows")
    return np.frombuffer(keys, dtype=np.uint64)


def _read_parts(table: Table, fields: ColumnChoice) -> Iterator[tuple[Row, str | None, str, str] | Fault]:
    """Yield each row with its own id, if it brings one, its title and its text; or what is wrong with the row."""
    for row in table.rows():
        if isinstance(row, Fault):
            yield row
            continue
        parts: tuple[Row, str | None, str, str] | Fault
        try:
            doc_id = None if fields.id is None else _valid_id(row_key(row, fields.id))
            parts = row, doc_id, row_title(row, fields), row_text(row, fields)
        except Fault as fault:
            parts = fault.at(row.location)
        yield parts


def _valid_id(value: str) -> str:
    if len(value) <= 200 and _ID.search(value):
        return value
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


def _rows(
    source: str, table: Table, fields: ColumnChoice, repeated: set[int]
) -> Iterator[tuple[int | str, str, str, str, int] | Fault]:
    """Yield place, id, title, text and number of each row, or what is wrong with it."""
    occurrences: Counter[int] = Counter()
    places: dict[int, int | str] = {}
    for parts in _read_parts(table, fields):
        if isinstance(parts, Fault):
            yield parts
            continue
        row, doc_id, title, text = parts
        if doc_id is None:
            content = digest(source, title, text)
            key = fingerprint(content)
            doc_id = row_id(source, content, occurrences.get(key, 0))
            if key in repeated and (text.strip() or title.strip()):
                occurrences[key] += 1
        elif (key := fingerprint(doc_id.encode())) in repeated:
            if key in places:
                yield _taken(doc_id, places[key]).at(row.location)
                continue
            places[key] = f"line {row.line}" if row.line is not None else row.location
        yield row.location, doc_id, title, text, row.number


def _taken(key: str, before: object) -> Fault:
    return Fault(f"the id {shown(key)[:60]} was given before, in {before}: make ids differ, or name no id field")
