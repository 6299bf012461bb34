"""A ledger as JSON Lines: a line that says of what, then every event of everybody, also what was taken back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from pipeline.errors import InputError
from pipeline.formats.annotations.exchange import objects
from pipeline.formats.jsonl import as_line
from pipeline.text.display import shown
from schemas.review_event import Event

NAME, VERSION = "goldset-review", 1


def write(events: Iterable[Event], *, data_sha: str, rubric_sha: str) -> str:
    """Return the events in the order of their numbers, which are left out: another ledger gives its own."""
    head = {"format": NAME, "version": VERSION, "data_sha": data_sha, "rubric_sha": rubric_sha}
    lines = (as_line(event.model_dump_json(exclude={"seq"}, exclude_defaults=True)) for event in events)
    return as_line(json.dumps(head)) + "".join(lines)


def read(path: Path, *, data_sha: str, rubric_sha: str) -> Iterator[tuple[int, Event]]:
    """Yield the events with their lines.

    Raises:
        InputError: It is no such file, is of another data set or rubric, or a line is no event.
    """
    headed = False
    for line, found in objects(path):
        if not headed:
            if found.get("format") != NAME:
                raise InputError(shown(path), f"does not begin with the line of a {NAME} file", line=line)
            if found.get("version") != VERSION:
                raise InputError(shown(path), f"is of another version than {VERSION}", line=line)
            _same(found.get("data_sha") == data_sha, path, line, "data set")
            _same(found.get("rubric_sha") == rubric_sha, path, line, "rubric")
            headed = True
            continue
        try:
            event = Event.model_validate(found)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise InputError(shown(path), f"{where or 'event'}: {first['msg']}", line=line) from None
        _same(event.data_sha == data_sha, path, line, "data set")
        _same(event.rubric_sha == rubric_sha, path, line, "rubric")
        yield line, event
    if not headed:
        raise InputError(shown(path), "is empty")


def _same(holds: bool, path: Path, line: int, what: str) -> None:
    if not holds:
        raise InputError(shown(path), f"is of another {what}", line=line)
