"""Queries of users from a log: one per line, or a column of CSV, TSV or JSON, packed or not.

Exports of OpenSearch's User Behavior Insights are read as they are; a search that was stored for each of its pages is
counted once. Other programs write logs, and logs are never clean: a line that cannot be a query is skipped and counted,
not refused.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from goldbench.errors import Message, UsageError
from goldbench.formats.behaviour_insights import is_event, is_search, records, search_id
from goldbench.formats.faults import Fault, in_file
from goldbench.formats.lines import text_lines
from goldbench.formats.packed_files import Source
from goldbench.text.display import one_line, shown
from goldbench.text.draws import number_of

COLUMNS = ("user_query", "query", "question", "q", "search", "keywords", "text")
"""The names of the column of queries that are tried if none is given."""

COUNTS = ("frequency", "freq", "count", "searches")
"""The names of the column of counts (how often a query was asked) that are tried; without one a line counts once."""

_NO_QUERY = "holds no query; give lines of text, or a table with a column query"
_NO_SEARCH = "holds events and no search; give the export of ubi_queries"
LONGEST = 2000
"""The longest query, in characters; a longer line was not typed by a user and is skipped."""

MOST_OFTEN = 10**12
"""The largest number of times that a line can say its query was asked; a line that says more is skipped."""

_LINE = 2**20
_OBJECT = 64 * 2**20
_TRAILING = "?!.。？！؟…:;,、，"


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """A query as first written, the number of its first line, and how often it was asked.

    That is the number of lines that hold it, or the sum of what a column of counts says in them.
    """

    text: str
    line: int
    count: int


@dataclass(slots=True)
class Log:
    """The distinct queries of a log by their folded form, and the number of skipped lines by reason.

    ``seen`` are the ids of the searches that were counted, where the log names them.
    """

    name: str
    queries: dict[str, LoggedQuery] = field(default_factory=dict)
    passed_over: Counter[str] = field(default_factory=Counter)
    seen: set[int] = field(default_factory=set)

    @property
    def lines(self) -> int:
        """The number of searches: lines that hold a query, or the sum of their counts."""
        return sum(query.count for query in self.queries.values())

    def is_new(self, search: str | None) -> bool:
        """Return whether a search was not counted yet, by its id; one without an id is always new."""
        if search is None:
            return True
        number = number_of(search)
        known = number in self.seen
        self.seen.add(number)
        return not known

    def add(self, text: str, line: int, times: int = 1) -> None:
        """Count the text of a line as a query, or as skipped.

        Args:
            text: What the line holds.
            line: The number of the line, from 1.
            times: How often the query was asked, 1 or more.
        """
        text = one_line(text[: 2 * LONGEST])
        if len(text) > LONGEST:
            self.passed_over["too-long"] += 1
        elif not any(character.isalnum() for character in text):
            self.passed_over["no-words"] += 1
        else:
            key = folded(text)
            known = self.queries.get(key)
            self.queries[key] = (
                LoggedQuery(known.text, known.line, known.count + times) if known else LoggedQuery(text, line, times)
            )


def folded(text: str) -> str:
    """Return a form that is equal for spellings that differ only in width, case, spaces and final marks."""
    return one_line(unicodedata.normalize("NFKC", text)).casefold().strip(_TRAILING + " ")


def read_log(path: Path | str, *, column: str | None = None, counts: str | None = None) -> Log:
    """Return the queries of a log.

    Args:
        path: A ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson`` or ``.json`` file, or text with one query per line; ``-`` is
            standard input.
        column: The column of queries; None takes the first of ``COLUMNS``.
        counts: The column that says how often a query was asked; None takes the first of ``COUNTS``, if any.

    Raises:
        InputError: The file cannot be read, is malformed, or holds no query.
        UsageError: The file has no such column, or is text without columns.
    """
    source = Source(path)
    log = Log(source.name)
    named = Columns(column, counts)
    with source.open() as file:
        if source.suffix in {".csv", ".tsv"}:
            rows = _table(file, "\t" if source.suffix == ".tsv" else ",", named, log)
        elif source.suffix in {".jsonl", ".ndjson", ".json"}:
            rows = _objects(file, named, log, whole=source.suffix == ".json")
        elif named.given is not None:
            raise UsageError(f"{named.given}: {source.name} is text with one query per line")
        else:
            rows = ((number, text, 1) for number, text in _lines(file, log))
        for number, text, times in rows:
            log.add(text, number, times)
        if not log.queries:
            events = log.passed_over["event"]
            raise Fault(_NO_SEARCH if events else _NO_QUERY)
    return log


def read_names(path: Path | str) -> list[str]:
    """Return the names of a list, one per line; blank lines are left out.

    Raises:
        InputError: The file cannot be read, is not UTF-8, or holds no name.
    """
    source = Source(path)
    with in_file(source.name):
        names = [text.strip() for _, text in text_lines(source)]
        if not names:
            raise Fault("holds no name; give a file with one name per line")
    return names


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a log that the user named: of queries, and of counts."""

    queries: str | None
    counts: str | None

    @property
    def given(self) -> str | None:
        """The first option that names a column, None if no column is named."""
        if self.queries is not None:
            return Message("{column=} {}", shown(self.queries))
        return None if self.counts is None else Message("{count_column=} {}", shown(self.counts))


def _lines(file: BinaryIO, log: Log, longest: int = _LINE) -> Iterator[tuple[int, str]]:
    number = 0
    while line := file.readline(longest):
        number += 1
        if len(line) == longest and not line.endswith(b"\n"):
            while (rest := file.readline(longest)) and not rest.endswith(b"\n"):
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


def _objects(file: BinaryIO, named: Columns, log: Log, *, whole: bool) -> Iterator[tuple[int, str, int]]:
    chosen = named.queries
    counts = named.counts
    asked_once = 1 if counts is None else None
    first = True
    for number, row in _rows(file, log, whole=whole):
        if is_event(row) and named.queries is None:
            log.passed_over["event"] += 1
            continue
        if first:
            chosen = chosen or _choose(list(row), None, log.name)
            counts = counts or _counted(row)
            first = False
        text = row.get(chosen or "")
        times = _times(row.get(counts or "", asked_once))
        if not isinstance(text, str):
            log.passed_over["no-query"] += 1
        elif times is None:
            log.passed_over["no-count"] += 1
        elif is_search(row) and not log.is_new(search_id(row)):
            log.passed_over["same-search"] += 1
        else:
            yield number, text, times
    if named.counts is not None and log.passed_over["no-count"] and not log.queries:
        raise UsageError(Message("{count_column} {}: no object of {} has a count there", shown(named.counts), log.name))
    if named.queries is not None and not log.queries:
        raise UsageError(Message("{column} {}: no object of {} has it", shown(named.queries), log.name))


def _rows(file: BinaryIO, log: Log, *, whole: bool) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of JSON Lines, or of a file that is one JSON value."""
    for number, value in _whole(file) if whole else _values(file, log):
        if isinstance(value, dict):
            yield from ((number, record) for record in records(value))
        else:
            log.passed_over["malformed"] += 1


def _values(file: BinaryIO, log: Log) -> Iterator[tuple[int, Any]]:
    for number, line in _lines(file, log, _OBJECT):
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError):
            log.passed_over["malformed"] += 1


def _whole(file: BinaryIO) -> Iterator[tuple[int, Any]]:
    try:
        content = json.loads(file.read().removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        raise Fault("is not valid JSON; name a file with one object per line .jsonl") from None
    yield from enumerate(content if isinstance(content, list) else [content], start=1)


def _table(file: BinaryIO, delimiter: str, named: Columns, log: Log) -> Iterator[tuple[int, str, int]]:
    csv.field_size_limit(max(csv.field_size_limit(), 16 * 2**20))
    text = io.TextIOWrapper(file, "utf-8-sig", errors="replace", newline="")
    reader = csv.reader(text, delimiter=delimiter)
    try:
        header = next(reader, [])
        column = header.index(_choose(header, named.queries, log.name))
        counts = named.counts if named.counts is not None else _counted(header)
        if counts is not None and counts not in header:
            raise UsageError(Message("{count_column} {}: {} has no such column", shown(counts), log.name))
        counted = None if counts is None else header.index(counts)
        ids = header.index("query_id") if header[column] == "user_query" and "query_id" in header else None
        for cells in reader:
            if len(cells) <= column:
                continue
            times = 1 if counted is None else _times(cells[counted] if len(cells) > counted else None)
            if times is None:
                log.passed_over["no-count"] += 1
            elif ids is not None and not log.is_new(cells[ids] or None if len(cells) > ids else None):
                log.passed_over["same-search"] += 1
            else:
                yield reader.line_num, cells[column], times
    except csv.Error as error:
        raise Fault(f"is malformed: {error}", line=reader.line_num) from None
    finally:
        text.detach()  # the opener of the file closes it


def _counted(columns: Iterable[str]) -> str | None:
    """Return the column that says how often a query was asked, None if no column has such a name."""
    lowered = {column.strip().lower(): column for column in reversed(list(columns))}
    return next((lowered[known] for known in COUNTS if known in lowered), None)


def _times(value: object) -> int | None:
    """Return how often a query was asked, None if that is not a whole number from 1 to ``MOST_OFTEN``."""
    if isinstance(value, str) and len(value) <= 20:
        digits = value.strip()
        value = int(digits) if digits.isdecimal() else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_OFTEN else None


def _choose(columns: list[str], named: str | None, name: str) -> str:
    if named is not None and named in columns:
        return named
    lowered = {column.strip().lower(): column for column in reversed(columns)}
    usual = None if named is not None else next((lowered[known] for known in COLUMNS if known in lowered), None)
    if usual is None:
        listed = ", ".join(shown(column)[:40] for column in columns[:10])
        wanted = f"no column {shown(named)}" if named is not None else f"no column {' or '.join(COLUMNS)}"
        raise UsageError(Message("{}: has {}; it has {}: name the right one with {column=}", name, wanted, listed))
    return usual
