"""Queries of users from a log: one per line, or a column of CSV, TSV or JSON Lines, packed or not.

Other programs write logs, and logs are never clean: a line that cannot be a query is skipped and counted, not refused.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from goldbench.pipeline.errors import UsageError
from goldbench.pipeline.formats.faults import Fault
from goldbench.pipeline.formats.packed_files import Source
from goldbench.pipeline.text.display import one_line, shown

COLUMNS = ("query", "question", "q", "search", "keywords", "text")
"""The names of the column of queries that are tried if none is given."""

LONGEST = 2000
"""The longest query, in characters; a longer line was not typed by a user and is skipped."""

_LINE = 2**20
_TRAILING = "?!.。？！؟…:;,、，"


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as first written, the number of its first line, and the number of lines that hold it."""

    text: str
    line: int
    count: int


@dataclass(slots=True)
class Log:
    """The distinct queries of a log by their folded form, and the number of skipped lines by reason."""

    name: str
    queries: dict[str, Asked] = field(default_factory=dict)
    passed_over: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> int:
        """The number of lines that hold a query."""
        return sum(asked.count for asked in self.queries.values())

    def add(self, text: str, line: int) -> None:
        """Count the text of a line as a query, or as skipped."""
        text = one_line(text[: 2 * LONGEST])
        if len(text) > LONGEST:
            self.passed_over["too-long"] += 1
        elif not any(character.isalnum() for character in text):
            self.passed_over["no-words"] += 1
        else:
            key = folded(text)
            known = self.queries.get(key)
            self.queries[key] = Asked(known.text, known.line, known.count + 1) if known else Asked(text, line, 1)


def folded(text: str) -> str:
    """Return a form that is equal for spellings that differ only in width, case, spaces and final marks."""
    return one_line(unicodedata.normalize("NFKC", text)).casefold().strip(_TRAILING + " ")


def read_log(path: Path | str, *, column: str | None = None) -> Log:
    """Return the queries of a log.

    Args:
        path: A ``.csv``, ``.tsv`` or ``.jsonl`` file, or text with one query per line; ``-`` is standard input.
        column: The column of queries; None takes the first of ``COLUMNS``.

    Raises:
        InputError: The file cannot be read, is malformed, or holds no query.
        UsageError: The file has no such column, or is text without columns.
    """
    source = Source(path)
    log = Log(source.name)
    with source.open() as file:
        if source.suffix in {".csv", ".tsv"}:
            rows = _table(file, source.name, "\t" if source.suffix == ".tsv" else ",", column)
        elif source.suffix in {".jsonl", ".ndjson"}:
            rows = _objects(file, source.name, column, log)
        elif column is not None:
            raise UsageError(f"--column {shown(column)}: {source.name} is text with one query per line")
        else:
            rows = _lines(file, log)
        for number, text in rows:
            log.add(text, number)
        if not log.queries:
            raise Fault("holds no query")
    return log


def _lines(file: BinaryIO, log: Log) -> Iterator[tuple[int, str]]:
    number = 0
    while line := file.readline(_LINE):
        number += 1
        if len(line) == _LINE and not line.endswith(b"\n"):
            while (rest := file.readline(_LINE)) and not rest.endswith(b"\n"):
                pass
            log.passed_over["too-long"] += 1
            continue
        try:
            text = line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").decode()
        except UnicodeDecodeError:
            log.passed_over["not-utf-8"] += 1
            continue
        if text.strip():
            yield number, text


def _objects(file: BinaryIO, name: str, column: str | None, log: Log) -> Iterator[tuple[int, str]]:
    chosen = column
    for number, line in _lines(file, log):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            log.passed_over["malformed"] += 1
            continue
        chosen = chosen or _choose(list(row), None, name)
        text = row.get(chosen)
        if isinstance(text, str):
            yield number, text
        else:
            log.passed_over["no-query"] += 1
    if column is not None and not log.queries:
        raise UsageError(f"--column {shown(column)}: no object of {name} has it")


def _table(file: BinaryIO, name: str, delimiter: str, column: str | None) -> Iterator[tuple[int, str]]:
    csv.field_size_limit(max(csv.field_size_limit(), 16 * 2**20))
    text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    try:
        header = next(reader, [])
        place = header.index(_choose(header, column, name))
        for cells in reader:
            if len(cells) > place:
                yield reader.line_num, cells[place]
    except csv.Error as error:
        raise Fault(f"is malformed: {error}", line=reader.line_num) from None
    finally:
        text.detach()  # the opener of the file closes it


def _choose(columns: list[str], asked: str | None, name: str) -> str:
    if asked is not None and asked in columns:
        return asked
    lowered = {column.strip().lower(): column for column in reversed(columns)}
    found = None if asked is not None else next((lowered[known] for known in COLUMNS if known in lowered), None)
    if found is None:
        listed = ", ".join(shown(column)[:40] for column in columns[:10])
        wanted = f"no column {shown(asked)}" if asked is not None else f"no column {' or '.join(COLUMNS)}"
        raise UsageError(f"{name}: has {wanted}; it has {listed}: name the right one with --column")
    return found
