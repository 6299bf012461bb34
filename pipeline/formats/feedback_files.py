"""Feedback as it was logged: a query, a passage and +1 or -1 in each row of CSV, TSV or JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pipeline.errors import InputError
from pipeline.formats.charsets import MAX_LINE
from pipeline.formats.query_logs import folded
from pipeline.formats.runs.packed_files import Source
from pipeline.formats.runs.trec import not_utf8
from pipeline.text.display import shown
from schemas.judgment import Feedback

_QUERY = ("query_id", "query", "question", "q")
_CHUNK = ("chunk_id", "doc_id", "passage_id", "docid", "document", "chunk")
_VOTE = ("vote", "value", "feedback", "rating", "thumb", "thumbs", "label", "score", "+1/-1", "click")
_WORDS = {"1": 1, "+1": 1, "-1": -1, "up": 1, "down": -1, "click": 1, "👍": 1, "👎": -1}


class Vote(NamedTuple):
    """One row: what was asked (an id or a text), which passage, +1 or -1."""

    query: str
    chunk_id: str
    value: int
    line: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """Feedback by pair, in order of ids, and the rows that name what the gold set does not hold."""

    feedback: tuple[Feedback, ...]
    rows: int
    unmatched: tuple[Vote, ...]
    unknown: tuple[Vote, ...]


def read_votes(path: Path | str) -> Iterator[Vote]:
    """Yield every row; the columns are known by name, or without a header by place: query, passage, +1 or -1.

    Raises:
        InputError: a row is malformed, names no query or passage, or its vote is neither +1 nor -1.
    """
    source = Source(path)
    with source.open() as raw:
        file = io.BufferedReader(raw)  # type: ignore[type-var]  # a plain file comes unbuffered, byte after byte
        if source.suffix in {".jsonl", ".ndjson", ".json"}:
            yield from _objects(file, source.name)
        else:
            yield from _rows(file, source.name, "\t" if source.suffix == ".tsv" else ",")


def gather(votes: Iterator[Vote], queries: Mapping[str, str], chunk_ids: Mapping[str, object]) -> Gathered:
    """Return votes counted by query and passage of a gold set.

    A query is known by its id, or by its text whatever its case, width, spaces and final marks.

    Args:
        votes: the rows.
        queries: the gold set's, by id.
        chunk_ids: the gold set's passages, by id.
    """
    by_text: dict[str, str] = {}
    for identity, text in queries.items():
        if folded(text):
            by_text.setdefault(folded(text), identity)
    counts: dict[tuple[str, str], list[int]] = {}
    unmatched: list[Vote] = []
    unknown: list[Vote] = []
    rows = 0
    for vote in votes:
        rows += 1
        query_id: str | None = vote.query if vote.query in queries else by_text.get(folded(vote.query))
        if query_id is None:
            unmatched.append(vote)
        elif vote.chunk_id not in chunk_ids:
            unknown.append(vote)
        else:
            counts.setdefault((query_id, vote.chunk_id), [0, 0])[vote.value < 0] += 1
    feedback = tuple(
        Feedback(query_id=pair[0], chunk_id=pair[1], positive=up, negative=down)
        for pair, (up, down) in sorted(counts.items())
    )
    return Gathered(feedback, rows, tuple(unmatched), tuple(unknown))


def _vote(query: object, chunk_id: object, value: object, name: str, line: int) -> Vote:
    if not isinstance(query, str) or not query.strip():
        raise InputError(name, "names no query", line=line)
    if not isinstance(chunk_id, str) or not chunk_id.strip():
        raise InputError(name, "names no passage", line=line)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    vote = None if isinstance(value, bool) else _WORDS.get(str(value).strip().lower())
    if vote is None:
        raise InputError(name, f"the vote is {shown(str(value))[:40]!r}, neither +1 nor -1", line=line)
    return Vote(query.strip(), chunk_id.strip(), vote, line)


def _objects(file: BinaryIO, name: str) -> Iterator[Vote]:
    for number, line in _lines(file, name):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(name, "is no JSON", line=number) from None
        if not isinstance(row, dict):
            raise InputError(name, "is no JSON object", line=number)
        yield _vote(_first(row, _QUERY), _first(row, _CHUNK), _first(row, _VOTE), name, number)


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> object:
    return next((row[key] for key in keys if key in row), None)


def _rows(file: BinaryIO, name: str, delimiter: str) -> Iterator[Vote]:
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE))
    numbers: list[int] = []

    def texts() -> Iterator[str]:
        for number, line in _lines(file, name):
            numbers.append(number)
            yield line

    reader = csv.reader(texts(), delimiter=delimiter, strict=True)
    places: tuple[int, ...] | None = None
    begins = 0
    try:
        for cells in reader:
            line, begins = numbers[begins], len(numbers)
            if places is None:
                header = _header(cells)
                places = header or (0, 1, 2)
                if header:
                    continue
                if len(cells) != 3 or cells[2].strip().lower() not in _WORDS:
                    problem = "is neither the names query, chunk_id and vote nor a query, a passage and +1 or -1"
                    raise InputError(name, problem, line=line)
            if len(cells) <= max(places):
                raise InputError(name, f"has {len(cells)} fields, too few", line=line)
            query, chunk_id, vote = (cells[place] for place in places)
            yield _vote(query, chunk_id, vote, name, line)
    except csv.Error as error:
        line = numbers[begins] if begins < len(numbers) else numbers[-1]
        raise InputError(name, f"is malformed: {error}", line=line) from None


def _header(cells: Sequence[str]) -> tuple[int, ...]:
    """Return the places of query, passage and vote; nothing where the row does not name them."""
    names = [cell.strip().lower() for cell in cells]
    places = [next((names.index(key) for key in keys if key in names), None) for keys in (_QUERY, _CHUNK, _VOTE)]
    return tuple(place for place in places if place is not None) if None not in places else ()


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, str]]:
    number = 0
    while line := file.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            raise InputError(name, f"is longer than {MAX_LINE // 2**20} MB", line=number)
        try:
            text = line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").decode()
        except UnicodeDecodeError:
            raise not_utf8(name, number) from None
        if text.strip():
            yield number, text
