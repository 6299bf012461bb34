"""A ledger as JSON Lines: a line that names the data set, then all events of all people, undone ones included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldbench.formats.annotations.exchange import objects
from goldbench.formats.faults import Fault, explain, in_file
from goldbench.formats.jsonl import as_line
from goldbench.records.review_event import Event

NAME = "goldbench-review"
"""The name of the format."""
VERSION = 1
"""The version of the format."""

TEXTS = "texts"
"""The key of a line that holds what an id means: the text of a query or a passage."""


def write(events: Iterable[Event], *, texts: Iterable[Mapping[str, Any]], data_sha: str) -> str:
    """Return the events in the order of their numbers, without the numbers: the reading ledger gives its own.

    Args:
        events: The events of the ledger.
        texts: What the ids of queries and passages mean in the sets that the events are about.
        data_sha: The SHA-256 of the data set.
    """
    head = {"format": NAME, "version": VERSION, "data_sha": data_sha}
    meanings = (as_line(json.dumps({TEXTS: text}, ensure_ascii=False)) for text in texts)
    lines = (as_line(event.model_dump_json(exclude={"seq"}, exclude_defaults=True)) for event in events)
    return as_line(json.dumps(head)) + "".join(meanings) + "".join(lines)


def read(path: Path, *, data_sha: str) -> tuple[list[dict[str, Any]], list[tuple[int, Event]]]:
    """Return what ids mean, and the events with their lines.

    Args:
        path: The file.
        data_sha: The SHA-256 of the data set; events of another are refused unless the file holds their texts.

    Raises:
        InputError: The file is not of this kind or version, or a line is not an event.
    """
    texts: list[dict[str, Any]] = []
    events: list[tuple[int, Event]] = []
    with in_file(path):
        rows = objects(path)
        _check_head(rows)
        known: set[tuple[str, str]] = set()
        for line, record in rows:
            meaning = record.get(TEXTS)
            if isinstance(meaning, dict):
                texts.append(meaning)
                known.add((str(meaning.get("data_sha")), str(meaning.get("query_id", meaning.get("chunk_id")))))
                continue
            event = _event(line, record)
            named = {(event.data_sha, name) for name in (event.query_id, event.chunk_id) if name is not None}
            if event.data_sha != data_sha and not named <= known:
                raise Fault("belongs to another data set", line=line)
            events.append((line, event))
    return texts, events


def _check_head(rows: Iterator[tuple[int, dict[str, Any]]]) -> None:
    """Refuse a file whose first line does not name this format and version."""
    line, head = next(rows, (None, {}))
    if line is None:
        raise Fault("is empty")
    if head.get("format") != NAME:
        raise Fault(f"does not begin with the line of a {NAME} file", line=line)
    if head.get("version") != VERSION:
        raise Fault(f"has another version than {VERSION}", line=line)


def _event(line: int, record: dict[str, Any]) -> Event:
    try:
        return Event.model_validate(record)
    except ValidationError as error:
        raise Fault(explain(error), line=line) from None
