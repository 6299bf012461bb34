"""A ledger as JSON Lines: a line that names the data set, then all events of all people, undone ones included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldbench.pipeline.formats.annotations.exchange import objects
from goldbench.pipeline.formats.faults import Fault, explain, in_file
from goldbench.pipeline.formats.jsonl import as_line
from goldbench.schemas.earlier_name import EARLIER_NAME
from goldbench.schemas.review_event import Event

NAME, VERSION = "goldbench-review", 2
"""The name of the format, and its version; version 1 held events about one data set alone, without texts."""

TEXTS = "texts"
"""The key of a line that holds what an id means: the text of a query or a passage."""


def write(events: Iterable[Event], *, texts: Iterable[Mapping[str, Any]], data_sha: str, rubric_sha: str) -> str:
    """Return the events in the order of their numbers, without the numbers: the reading ledger gives its own.

    Args:
        events: The events of the ledger.
        texts: What the ids of queries and passages mean in the sets that the events are about.
        data_sha: The SHA-256 of the data set.
        rubric_sha: The SHA-256 of the rubric.
    """
    head = {"format": NAME, "version": VERSION, "data_sha": data_sha, "rubric_sha": rubric_sha}
    meanings = (as_line(json.dumps({TEXTS: one}, ensure_ascii=False)) for one in texts)
    lines = (as_line(event.model_dump_json(exclude={"seq"}, exclude_defaults=True)) for event in events)
    return as_line(json.dumps(head)) + "".join(meanings) + "".join(lines)


def read(path: Path, *, data_sha: str, rubric_sha: str) -> tuple[list[dict[str, Any]], list[tuple[int, Event]]]:
    """Return what ids mean, and the events with their lines.

    Args:
        path: The file.
        data_sha: As in `write`; events of another data set are refused unless the file holds their texts.
        rubric_sha: As in `write`; a file of version 1 by another rubric is refused.

    Raises:
        InputError: The file is not of this kind, data set or rubric, or a line is not an event.
    """
    texts: list[dict[str, Any]] = []
    events: list[tuple[int, Event]] = []
    with in_file(path):
        rows = objects(path)
        version = _version(rows, data_sha, rubric_sha)
        known: set[tuple[str, str]] = set()
        for line, found in rows:
            said = found.get(TEXTS)
            if isinstance(said, dict):
                texts.append(said)
                known.add((str(said.get("data_sha")), str(said.get("query_id", said.get("chunk_id")))))
                continue
            event = _event(line, found)
            if version == 1:
                _check(event.data_sha == data_sha, event.rubric_sha == rubric_sha, line)
            told = {(event.data_sha, name) for name in (event.query_id, event.chunk_id) if name is not None}
            _check(event.data_sha == data_sha or told <= known, True, line)
            events.append((line, event))
    return texts, events


def _version(rows: Iterator[tuple[int, dict[str, Any]]], data_sha: str, rubric_sha: str) -> int:
    """Return the version of the format; it is in the first line."""
    for line, head in rows:
        if head.get("format") not in {NAME, f"{EARLIER_NAME}-review"}:
            raise Fault(f"does not begin with the line of a {NAME} file", line=line)
        if head.get("version") not in {1, VERSION}:
            raise Fault(f"has another version than 1 or {VERSION}", line=line)
        if head["version"] == 1:
            _check(head.get("data_sha") == data_sha, head.get("rubric_sha") == rubric_sha, line)
        return int(head["version"])
    raise Fault("is empty")


def _event(line: int, found: dict[str, Any]) -> Event:
    try:
        return Event.model_validate(found)
    except ValidationError as error:
        raise Fault(explain(error), line=line) from None


def _check(same_data: bool, same_rubric: bool, line: int) -> None:
    if not same_data or not same_rubric:
        raise Fault(f"belongs to another {'rubric' if same_data else 'data set'}", line=line)
