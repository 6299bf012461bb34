"""A public benchmark on disk: passages, queries and judgments, each with the place it was read from.

Every reader of this package returns a ``Collection``. Its parts are read anew at every use and never held in memory, so
that a collection of millions of passages can be imported.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from goldbench.formats.faults import Fault, Location, in_file, read_rows
from goldbench.formats.json_maps import read_json
from goldbench.formats.lines import json_objects, json_values, text_lines
from goldbench.formats.packed_files import Source
from goldbench.formats.runs.trec import QRELS_COLUMNS, grade_of
from goldbench.formats.tables import open_table
from goldbench.records.query import QueryKind, Turn
from goldbench.text.display import amount

T = TypeVar("T")

MEGABYTES = 2048
"""The largest JSON file of a benchmark, in units of 2**20 bytes; JSON cannot be read in pieces."""
_KEYS = {
    "id": ("_id", "id", "docid", "doc_id", "pid", "query_id", "qid"),
    "text": ("text", "contents", "content", "body", "passage", "query", "question"),
}


class Entry(NamedTuple):
    """A passage with its own title and text."""

    doc_id: str
    title: str
    text: str
    location: Location


class Topic(NamedTuple):
    """A query. ``answers`` are the known answers in its passage: document id, start, end, words.

    ``answer`` is its reference answer, if that is not the words of the first of ``answers``. ``needs`` are the passages
    that are all needed, two or more. ``near`` is a passage close to a query that no passage answers;
    None if some passage of the collection answers it after all. ``history`` holds the turns before the last one of a
    conversation, ``standalone`` the last turn put so that it needs none of them.
    """

    query_id: str
    text: str
    location: Location
    answers: tuple[tuple[str, int, int, str], ...] = ()
    answer: str | None = None
    kind: QueryKind | None = None
    needs: tuple[str, ...] = ()
    near: str | None = None
    history: tuple[Turn, ...] = ()
    standalone: str | None = None

    @property
    def unanswerable(self) -> bool:
        """Whether the collection says that no passage answers it."""
        return self.kind is QueryKind.UNANSWERABLE


class Qrel(NamedTuple):
    """A judgment."""

    query_id: str
    doc_id: str
    grade: int
    location: Location


class MalformedItem(NamedTuple):
    """A row that is not a query with its passages. ``query_id`` is its id, or its place if it has none.

    ``part`` is the reason why only a part of the row is left out; empty if all of the row is broken.
    """

    query_id: str
    location: Location
    problem: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """A benchmark. ``names`` names the origins of passages, queries and judgments; ``files`` are the files read.

    ``judgments`` also yields the malformed rows, which no other part yields.

    ``joins_titles`` means that a passage is indexed as title and text, as BEIR does. ``notes`` becomes metadata of the
    gold set. ``level`` tells who judged: people (``human``) or a model (``model``).
    """

    kind: str
    documents: Callable[[], Iterator[Entry]]
    queries: Callable[[], Iterator[Topic]]
    judgments: Callable[[], Iterator[Qrel | MalformedItem]]
    names: tuple[str, str, str]
    files: tuple[Path, ...]
    level: str = "human"
    joins_titles: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The split that the user named, and the files that are taken instead of those found by their names."""

    split: str | None = None
    corpus: Path | None = None
    queries: Path | None = None
    qrels: Path | None = None


def joined(title: str, text: str) -> str:
    """Return a passage as BEIR indexes it, title and text; a text without a title stays as it is.

    Args:
        title: The title, or nothing.
        text: The text.
    """
    return f"{title} {text}".strip() if title.strip() else text


def member(row: Mapping[str, Any], what: str) -> str:
    """Return the id or the text of a row, under any of its usual names.

    Args:
        row: The object.
        what: ``id`` or ``text``.

    Raises:
        Fault: There is none, or it is neither a string nor (an id) a whole number.
    """
    for key in _KEYS[what]:
        value = row.get(key)
        if isinstance(value, str):
            return value
        if what == "id" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    raise Fault(f"has no {what} that is a string ({', '.join(_KEYS[what][:3])} …)")


def entries(path: Path) -> Iterator[Entry]:
    """Return the passages of a ``corpus.jsonl``, or of a table of ids and texts separated by tabs.

    Raises:
        InputError: A line is malformed.
    """
    return _items(path, entry_of_row, _entry_of_line)


def topics(path: Path) -> Iterator[Topic]:
    """Return the queries of a ``queries.jsonl``, or of a table of ids and texts separated by tabs.

    Raises:
        InputError: A line is malformed.
    """
    return _items(path, topic_of_row, _topic_of_line)


def qrels(path: Path) -> Iterator[Qrel]:
    """Yield judgments: BEIR's three columns separated by tabs, or TREC's four by white space.

    Raises:
        InputError: A line has another number of columns, or a grade that is not a whole number.
    """
    source = Source(path)
    with in_file(source.name):
        yield from (qrel for qrel in read_rows(text_lines(source), _qrel) if qrel is not None)


def listed_rows(source: Source) -> Iterator[tuple[Location, Any]]:
    """Yield the values of a JSON list, or of the lines of JSON Lines, each with its place.

    Raises:
        InputError: The file is not JSON Lines.
        Fault: The file is JSON, but not a list.
    """
    if source.suffix == ".json":
        content = read_json(source)
        if not isinstance(content, list):
            raise Fault("is not a JSON list")
        yield from ((f"question {number}", row) for number, row in enumerate(content, 1))
    else:
        yield from json_values(source)


def table_rows(path: Path) -> Iterator[tuple[Location, Mapping[str, Any]]]:
    """Yield the rows of a table, each with its place.

    Raises:
        Fault: The table or a row of it is malformed.
    """
    yield from ((row.location, row.values) for row in open_table(path, megabytes=MEGABYTES).sound_rows())


def distinct(passages: Iterable[Entry]) -> Iterator[Entry]:
    """Yield passages that many queries share once; two with one id and different texts are both given."""
    seen: set[tuple[str, int]] = set()
    for passage in passages:
        key = passage.doc_id, hash(passage.text)
        if key not in seen:
            seen.add(key)
            yield passage


def entry_of_row(location: Location, row: Mapping[str, Any]) -> Entry:
    """Return the passage of an object with an id, a text and maybe a title.

    Raises:
        Fault: One of them is missing or not a string.
    """
    title = row.get("title")
    if title is not None and not isinstance(title, str):
        raise Fault("has a title that is not a string")
    return Entry(member(row, "id"), title or "", member(row, "text"), location)


def topic_of_row(location: Location, row: Mapping[str, Any]) -> Topic:
    """Return the query of an object with an id and a text, and what its metadata tell; raises as ``entry_of_row``.

    Metadata in another form than that of this project are left alone: other tools write their own.
    """
    notes = row.get("metadata")
    metadata: Mapping[str, Any] = notes if isinstance(notes, Mapping) else {}
    answer = metadata.get("answer")
    alone = metadata.get("standalone")
    answer_text = answer.get("text") if isinstance(answer, Mapping) else None
    return Topic(
        member(row, "id"),
        member(row, "text"),
        location,
        answer=answer_text if isinstance(answer_text, str) else None,
        history=_turns(metadata.get("history")),
        standalone=alone if isinstance(alone, str) and alone.strip() else None,
    )


def _turns(history: object) -> tuple[Turn, ...]:
    try:
        return tuple(Turn.model_validate(turn) for turn in history) if isinstance(history, list) else ()
    except ValidationError:
        return ()


def _items(
    path: Path, of_row: Callable[[Location, Mapping[str, Any]], T], of_line: Callable[[int, str], T]
) -> Iterator[T]:
    source = Source(path)
    with in_file(source.name):
        if source.suffix in {".jsonl", ".json", ".ndjson"}:
            yield from read_rows(json_objects(source), of_row)
        else:
            yield from read_rows(text_lines(source), of_line)


def _entry_of_line(line: int, text: str) -> Entry:
    cells = _tabbed(text, 2, 4)  # pid and passage; or docid, url, title and body, as MS MARCO's documents
    return Entry(cells[0], cells[2] if len(cells) == 4 else "", cells[-1], line)


def _topic_of_line(line: int, text: str) -> Topic:
    query_id, query = _tabbed(text, 2)
    return Topic(query_id, query, line)


def _tabbed(text: str, *widths: int) -> list[str]:
    cells = text.split("\t")
    if len(cells) not in widths:
        expected = " or ".join(str(width) for width in widths)
        raise Fault(f"has {len(cells)} columns separated by tabs, not {expected}")
    return cells


def _qrel(line: int, text: str) -> Qrel | None:
    """Return the judgment of a line; None for a comment or the header."""
    if text.startswith("#"):
        return None
    try:
        tabbed = next(csv.reader([text], delimiter="\t"))
    except csv.Error as error:
        raise Fault(f"is malformed: {error}") from None
    fields = tabbed if len(tabbed) == 3 else text.split()
    if line == 1 and len(tabbed) == 3 and not re.fullmatch(r"\s*[+-]?\d+\s*", tabbed[2]):
        return None
    if len(fields) not in {3, 4} or (len(fields) == 3 and fields is not tabbed):
        raise Fault(f"{amount(len(fields), 'column')}, {QRELS_COLUMNS}; BEIR's have 3 separated by tabs")
    return Qrel(fields[0], fields[-2], grade_of(fields[-1].strip().encode()), line)
