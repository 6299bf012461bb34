"""Events as the server makes them, for tests of what they come to."""

from __future__ import annotations

import itertools
from typing import Any

from goldbench.prompts.rubric import DEFAULT
from goldbench.records.review_event import Event

DATA = "d" * 64
_numbers = itertools.count()


def event(kind: str, annotator: str = "anna", query: str = "q1", chunk: str | None = "c1", **more: Any) -> Event:
    """Return an event with an id of its own."""
    values = {
        "client_id": f"client-{next(_numbers):06}",
        "at": "2026-01-31T12:00:00+00:00",
        "annotator": annotator,
        "kind": kind,
        "query_id": query,
        "chunk_id": chunk,
        "rubric_sha": DEFAULT.sha,
        "data_sha": DATA,
        **more,
    }
    return Event.model_validate(values)


def judge(grade: int, annotator: str = "anna", query: str = "q1", chunk: str = "c1", **more: Any) -> Event:
    """Return a judgment."""
    return event("judge", annotator, query, chunk, grade=grade, **more)
