"""A public benchmark as it lies on disk: passages, queries and judgments, each with the place it was read from.

Every reader of this family gives a ``Collection``. Its parts are read as often as they are asked for and are never held
here, so that a collection of millions of passages can pass through.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import InputError, UsageError
from pipeline.formats.charsets import MAX_LINE
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.trec import QRELS_COLUMNS, grade_of, not_utf8
from pipeline.text.display import shown

Place = int | str
"""Where an item stands in its file: the number of a line from 1, or words where there are no lines."""

_KEYS = {
    "id": ("_id", "id", "docid", "doc_id", "pid", "query_id", "qid"),
    "text": ("text", "contents", "content", "body", "passage", "query", "question"),
}


class Entry(NamedTuple):
    """A passage, with the title and text it came with."""

    doc_id: str
    title: str
    text: str
    place: Place


class Topic(NamedTuple):
    """A query. ``answers`` are stretches of its passage (document id, start, end, words), where there are any."""

    query_id: str
    text: str
    place: Place
    answers: tuple[tuple[str, int, int, str], ...] = ()


class Qrel(NamedTuple):
    """A judgment."""

    query_id: str
    doc_id: str
    grade: int
    place: Place


@dataclass(frozen=True, slots=True)
class Collection:
    """A benchmark. ``names`` says where passages, queries and judgments come from; ``files`` are what was read.

    ``joins_titles`` says that a passage is indexed as title and text, as BEIR does. ``notes`` travels with the gold
    set. ``level`` says who judged: people (``human``) or a model (``model``).
    ``line_of`` finds the line of a judgment in a file that is not read by lines, None where it cannot.
    """

    kind: str
    documents: Callable[[], Iterator[Entry]]
    queries: Callable[[], Iterator[Topic]]
    judgments: Callable[[], Iterator[Qrel]]
    names: tuple[str, str, str]
    files: tuple[Path, ...]
    level: str = "human"
    joins_titles: bool = False
    notes: Mapping[str, Any] = field(default_factory=dict)
    line_of: Callable[[Qrel], int | None] | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the user named: the split, and files that go before those found by their names."""

    split: str | None = None
    corpus: Path | None = None
    queries: Path | None = None
    qrels: Path | None = None


def at(name: str, place: Place, problem: str) -> InputError:
    """Return the error for an item at its place in a file."""
    if isinstance(place, int):
        return InputError(name, problem, line=place)
    return InputError(name, f"{place}: {problem}" if place else problem)


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank; ``.gz`` and ``.zst`` are unpacked.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or a line is longer than 16 MB.
    """
    source = Source(path)
    with source.open() as raw:
        file = io.BufferedReader(raw)  # type: ignore[type-var]  # a plain file comes unbuffered, byte after byte
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise InputError(source.name, f"is longer than {MAX_LINE // 2**20} MB", line=number)
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise not_utf8(source.name, number) from None
            if text.strip():
                yield number, text


def json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line of JSON Lines.

    Raises:
        InputError: a line is no JSON object.
    """
    for number, line in text_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(shown(path), "is no JSON", line=number) from None
        if not isinstance(row, dict):
            raise InputError(shown(path), "is no JSON object", line=number)
        yield number, row


def member(row: Mapping[str, Any], what: str, name: str, place: Place) -> str:
    """Return the id or the text of a row, whichever of the usual names it goes by.

    Args:
        row: the object.
        what: ``id`` or ``text``.
        name: the file, for messages.
        place: the row, for messages.

    Raises:
        InputError: there is none, or it is neither a string nor (an id) a whole number.
    """
    for key in _KEYS[what]:
        value = row.get(key)
        if isinstance(value, str):
            return value
        if what == "id" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    raise at(name, place, f"has no {what} that is a string ({', '.join(_KEYS[what][:3])} …)")


def entries(path: Path) -> Iterator[Entry]:
    """Yield the passages of a ``corpus.jsonl`` or of a table of ids and texts parted by tabs.

    Raises:
        InputError: a line is malformed.
    """
    name = shown(path)
    if Source(path).suffix in {".jsonl", ".json", ".ndjson"}:
        for number, row in json_rows(path):
            title = row.get("title")
            if title is not None and not isinstance(title, str):
                raise InputError(name, "has a title that is no string", line=number)
            yield Entry(member(row, "id", name, number), title or "", member(row, "text", name, number), number)
        return
    for number, cells in _tabbed(path, 2, 4):
        # pid, passage; or as of MS MARCO's documents: docid, url, title, body
        yield Entry(cells[0], cells[2] if len(cells) == 4 else "", cells[-1], number)


def topics(path: Path) -> Iterator[Topic]:
    """Yield the queries of a ``queries.jsonl`` or of a table of ids and texts parted by tabs.

    Raises:
        InputError: a line is malformed.
    """
    name = shown(path)
    if Source(path).suffix in {".jsonl", ".json", ".ndjson"}:
        for number, row in json_rows(path):
            yield Topic(member(row, "id", name, number), member(row, "text", name, number), number)
        return
    for number, cells in _tabbed(path, 2):
        yield Topic(cells[0], cells[1], number)


def _tabbed(path: Path, *widths: int) -> Iterator[tuple[int, list[str]]]:
    for number, line in text_lines(path):
        cells = line.split("\t")
        if len(cells) not in widths:
            expected = " or ".join(str(width) for width in widths)
            raise InputError(shown(path), f"has {len(cells)} columns parted by tabs, not {expected}", line=number)
        yield number, cells


def qrels(path: Path) -> Iterator[Qrel]:
    """Yield judgments: BEIR's three columns parted by tabs, or TREC's four by white space.

    Raises:
        InputError: a line has another number of columns, or a grade that is no whole number.
    """
    name = shown(path)
    for number, line in text_lines(path):
        if line.startswith("#"):
            continue
        try:
            tabbed = next(csv.reader([line], delimiter="\t"))
        except csv.Error as error:
            raise InputError(name, f"is malformed: {error}", line=number) from None
        fields = tabbed if len(tabbed) == 3 else line.split()
        if number == 1 and len(tabbed) == 3 and not re.fullmatch(r"\s*[+-]?\d+\s*", tabbed[2]):
            continue  # the header
        if len(fields) not in {3, 4} or (len(fields) == 3 and fields is not tabbed):
            raise InputError(name, f"{len(fields)} columns, {QRELS_COLUMNS}; BEIR's have 3 parted by tabs", line=number)
        grade = grade_of(fields[-1].strip().encode(), name, number)
        yield Qrel(fields[0], fields[-2], grade, number)


def choose(folder: Path, named: Path | None, patterns: Sequence[str], *, what: str, split: str | None = None) -> Path:
    """Return the file of a folder that was named, or else the one that its name gives away.

    Args:
        folder: where to look; or a file of that kind itself.
        named: what the user named.
        patterns: globs below the folder; the first that finds anything counts.
        what: the option that names the file, for messages.
        split: narrows several files down to those whose name holds it; without it, ``test`` does, then ``dev``.

    Raises:
        InputError: there is none.
        UsageError: there are several.
    """
    if named is not None:
        return named
    for pattern in patterns:
        found = sorted(path for path in folder.glob(pattern) if path.is_file())
        if split is not None:
            found = [path for path in found if split in re.split(r"[._-]", path.name) or path.name.startswith(split)]
        elif len(found) > 1:
            preferred = [[p for p in found if s in re.split(r"[._-]", p.name)] for s in ("test", "dev")]
            found = next((group for group in preferred if len(group) == 1), found)
        if len(found) > 1:
            listed = ", ".join(shown(path.name) for path in found[:6])
            raise UsageError(
                f"{shown(folder)}: holds several files ({listed}); name one with --{what}, or give --split"
            )
        if found:
            return found[0]
    missing = f" for --split {split}" if split is not None else ""
    raise InputError(shown(folder), f"holds no {' or '.join(patterns)}{missing}; name the file with --{what}")
