"""An event as a page sends it, and as the ledger takes it: the one way of sending decisions, for every page."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldbench.records.review_event import BadQuery, Event, EventKind
from goldbench.review.page_server import InvalidRequest
from goldbench.review.payload import clean
from goldbench.review.reviewable_set import ReviewableSet

MAX_PAIRS = 20
"""Pairs that one answer holds at most; a page asks again until it has 50 in reserve."""

CONTENT = {"client_id", "kind", "grade", "reason", "evidence", "note", "text", "ms", "highlights"}
"""The fields of an event that are the page's word; the server adds the others."""


class SentEvent(BaseModel):
    """An event as a page sends it.

    The review page names keys of pairs and queries, the workbench the ids of a query and a passage.
    """

    model_config = ConfigDict(extra="forbid")

    client_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    kind: EventKind
    pair: str | None = Field(default=None, max_length=40)
    query: str | None = Field(default=None, max_length=200)
    passage: str | None = Field(default=None, max_length=200)
    grade: int | None = Field(default=None, ge=0, le=3, strict=True)
    reason: BadQuery | None = None
    evidence: str | None = Field(default=None, max_length=20_000)
    note: str | None = Field(default=None, max_length=20_000)
    text: str | None = Field(default=None, max_length=2_000)
    ms: int | None = Field(default=None, ge=0, le=2**53, strict=True)
    highlights: bool = False
    undoes: str | None = Field(default=None, max_length=64)
    want: int | None = Field(default=None, ge=0, le=MAX_PAIRS)
    have: list[str] = Field(default_factory=list, max_length=99)

    @property
    def content(self) -> dict[str, Any]:
        """What the event itself says."""
        return self.model_dump(include=CONTENT, exclude_none=True)


def parse_event(body: Mapping[str, Any]) -> SentEvent:
    """Return an event that a page sent.

    Raises:
        InvalidRequest: A field is missing or not valid; what was sent is not in the message.
    """
    cleaned = {name: clean(value) if isinstance(value, str) else value for name, value in body.items()}
    try:
        sent = SentEvent.model_validate(cleaned)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = next((str(part) for part in first["loc"][:1] if part in SentEvent.model_fields), "body")
        raise InvalidRequest(f"{name}: {first['msg']}") from None
    if sent.kind is EventKind.BAD_QUERY and sent.reason is None:
        raise InvalidRequest("bad_query needs a reason")
    if sent.kind is EventKind.EDIT_QUERY and not any(map(str.isalpha, sent.text or "")):
        raise InvalidRequest("A query needs letters: write a wording")
    return sent


def make_event(material: ReviewableSet, annotator: str, fields: Mapping[str, Any]) -> Event:
    """Return an event of now about a set.

    Raises:
        InvalidRequest: The fields are not those of an event.
    """
    try:
        return Event.model_validate(
            {
                **fields,
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "annotator": annotator,
                "rubric_sha": material.rubric.sha,
                "data_sha": material.data_sha,
            }
        )
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]["msg"]
        raise InvalidRequest(problem) from None
