"""A ledger as JSON Lines: a line that names the data set, then all events of all people, undone ones included."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from goldbench.pipeline.formats.annotations.exchange import objects
from goldbench.pipeline.formats.faults import Fault, explain, in_file, read_rows
from goldbench.pipeline.formats.jsonl import as_line
from goldbench.schemas.earlier_name import EARLIER_NAME
from goldbench.schemas.review_event import Event

NAME, VERSION = "goldbench-review", 1


def write(events: Iterable[Event], *, data_sha: str, rubric_sha: str) -> str:
    """Return the events in the order of their numbers, without the numbers: the reading ledger gives its own.

    Args:
        events: The events of the ledger.
        data_sha: The SHA-256 of the data set.
        rubric_sha: The SHA-256 of the rubric.
    """
    head = {"format": NAME, "version": VERSION, "data_sha": data_sha, "rubric_sha": rubric_sha}
    lines = (as_line(event.model_dump_json(exclude={"seq"}, exclude_defaults=True)) for event in events)
    return as_line(json.dumps(head)) + "".join(lines)


def read(path: Path, *, data_sha: str, rubric_sha: str) -> Iterator[tuple[int, Event]]:
    """Yield the events with their lines.

    Args:
        path: The file.
        data_sha: As in `write`; a file of another data set is refused.
        rubric_sha: As in `write`; a file of another rubric is refused.

    Raises:
        InputError: The file is not of this kind, data set or rubric, or a line is not an event.
    """
    with in_file(path):
        rows = objects(path)
        for line, head in rows:
            if head.get("format") not in {NAME, f"{EARLIER_NAME}-review"}:
                raise Fault(f"does not begin with the line of a {NAME} file", line=line)
            if head.get("version") != VERSION:
                raise Fault(f"has another version than {VERSION}", line=line)
            _check(head.get("data_sha") == data_sha, head.get("rubric_sha") == rubric_sha, line)
            break
        else:
            raise Fault("is empty")
        for line, event in read_rows(rows, _event):
            _check(event.data_sha == data_sha, event.rubric_sha == rubric_sha, line)
            yield line, event


def _event(line: int, found: dict[str, Any]) -> tuple[int, Event]:
    try:
        return line, Event.model_validate(found)
    except ValidationError as error:
        raise Fault(explain(error)) from None


def _check(same_data: bool, same_rubric: bool, line: int) -> None:
    if not same_data or not same_rubric:
        raise Fault(f"belongs to another {'rubric' if same_data else 'data set'}", line=line)
