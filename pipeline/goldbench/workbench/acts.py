"""What a person does in the workbench, stored in the ledger of the review: one store for both pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from goldbench.records.review_event import BadQuery, Event, EventKind
from goldbench.review.desk import Desk
from goldbench.review.leases import give_back
from goldbench.review.overview import Refused
from goldbench.review.payload import clean
from goldbench.review.responses import first_error
from goldbench.review.reviewable_set import ReviewableSet


class Act(StrEnum):
    """What a person may do here."""

    JUDGE = "judge"
    SETTLE = "settle"
    EDIT = "edit"
    REJECT = "reject"
    ACCEPT = "accept"
    REVIEW = "review"
    REOPEN = "reopen"
    UNDO = "undo"


_KINDS = {
    Act.JUDGE: EventKind.JUDGE,
    Act.SETTLE: EventKind.ADJUDICATE,
    Act.EDIT: EventKind.EDIT_QUERY,
    Act.REJECT: EventKind.REJECT_QUERY,
    Act.ACCEPT: EventKind.ACCEPT_QUERY,
    Act.REVIEW: EventKind.BAD_QUERY,
    Act.REOPEN: EventKind.REOPEN,
    Act.UNDO: EventKind.UNDO,
}


class Done(BaseModel):
    """An act as the page sends it."""

    model_config = ConfigDict(extra="forbid")

    client_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    act: Act
    query: str = Field(max_length=200)
    passage: str | None = Field(default=None, max_length=200)
    grade: int | None = Field(default=None, ge=0, le=3, strict=True)
    reason: BadQuery | None = None
    note: str | None = Field(default=None, max_length=20_000)
    text: str | None = Field(default=None, max_length=2_000)


class Recorder:
    """Stores acts in the ledger.

    Who judges here has seen the judge's grades and the systems' ranks. Such a judgment is marked as revealed and
    belongs to no lane: it counts as a grade of people, but in no figure of agreement.

    Args:
        desk: The ledger and its state.
        material: The set.
    """

    def __init__(self, desk: Desk, material: ReviewableSet) -> None:
        self._desk, self._material = desk, material

    def record(self, annotator: str, body: Mapping[str, Any]) -> Event:
        """Store an act of a person, and return it as stored.

        Args:
            annotator: The person.
            body: The act, as in `Done`.

        Raises:
            Refused: The act is not valid.
            LedgerConflict: Another event with its client id is stored.
            LedgerFailed: The database does not answer; nothing was stored.
        """
        done = _done(body)
        if done.query not in self._material.queries:
            raise Refused("unknown query")
        fields = _fields(done)
        if done.act is Act.SETTLE:
            self._check_settled(annotator, done)
        event = self._undo(annotator, done) if done.act is Act.UNDO else self._event(annotator, done, fields)
        ledger = self._desk.ledger
        with ledger.writing() as connection:
            stored = ledger.add(connection, event)
            give_back(connection, stored)
        self._desk.refresh()
        return stored

    def settles(self, annotator: str) -> bool:
        """Return whether a person settles disagreements of others."""
        return self._desk.team.settles(annotator)

    def _check_settled(self, annotator: str, done: Done) -> None:
        """Refuse a third decision where nobody disagrees, and one by a person who may not settle it."""
        pair = (done.query, done.passage or "")
        with self._desk.reading() as state:
            if done.client_id in state.known:
                return
            if not state.disputed(pair):
                raise Refused("There is no disagreement on this passage")
            if problem := self._desk.not_settled_by(annotator, pair):
                raise Refused(f"{problem[0].upper()}{problem[1:]}")

    def _undo(self, annotator: str, done: Done) -> Event:
        """Return the event that takes back the person's last act on a query or on one of its passages."""
        known = self._desk.ledger.find(done.client_id)
        if known is not None:
            return known
        with self._desk.reading() as state:
            acts = state.stacks[annotator].done if annotator in state.stacks else []
            place = (done.query, done.passage)
            target = next((one for one in reversed(acts) if (one.query_id, one.chunk_id) == place), None)
        if target is None:
            raise Refused("There is nothing of yours to undo here")
        return self._event(annotator, done, {"undoes": target.client_id, "repeat": target.repeat})

    def _event(self, annotator: str, done: Done, fields: Mapping[str, Any]) -> Event:
        if done.passage is not None and done.passage not in self._material.corpus:
            raise Refused("unknown passage")
        try:
            return Event.model_validate(
                {
                    "client_id": done.client_id,
                    "kind": _KINDS[done.act],
                    "query_id": done.query,
                    "chunk_id": done.passage,
                    "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "annotator": annotator,
                    "rubric_sha": self._material.rubric.sha,
                    "data_sha": self._material.data_sha,
                    **fields,
                }
            )
        except ValidationError as error:
            raise Refused(first_error(error)["msg"]) from None


_NEEDED: Mapping[Act, Callable[[Done], str | None]] = {
    **dict.fromkeys(
        (Act.JUDGE, Act.SETTLE),
        lambda one: f"{one.act} needs a passage and a grade" if one.passage is None or one.grade is None else None,
    ),
    Act.REVIEW: lambda one: "review needs a reason" if one.reason is None else None,
    Act.EDIT: lambda one: None if any(map(str.isalpha, one.text or "")) else "A query needs letters: write a wording",
}


def _fields(done: Done) -> dict[str, Any]:
    """Return what an act says, after a check that it says enough."""
    problem = _NEEDED[done.act](done) if done.act in _NEEDED else None
    if problem is None and done.act not in {Act.JUDGE, Act.SETTLE, Act.UNDO} and done.passage is not None:
        problem = f"{done.act.value} is about a query, not about a passage"
    if problem is not None:
        raise Refused(problem)
    said = done.model_dump(include={"grade", "reason", "note", "text"}, exclude_none=True)
    return {**said, "revealed": done.act is Act.JUDGE}


def _done(body: Mapping[str, Any]) -> Done:
    try:
        return Done.model_validate({key: clean(one) if isinstance(one, str) else one for key, one in body.items()})
    except ValidationError as error:
        first = first_error(error)
        where = ".".join(str(part) for part in first["loc"][:1] if str(part) in Done.model_fields) or "body"
        raise Refused(f"{where}: {first['msg']}") from None
