"""People's decisions in a review: events that are only ever added, and what they amount to."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from goldbench.records.record import Id, Record
from goldbench.records.relevance import Relevance


class Lane(StrEnum):
    """Why a person sees a pair: random sample, likely judge error, or a query that is judged completely."""

    CALIBRATION = "A"
    ERRORS = "B"
    COMPLETE = "C"


class EventKind(StrEnum):
    """What a person did."""

    JUDGE = "judge"
    UNDO = "undo"
    REDO = "redo"
    LATER = "later"
    CANNOT = "cannot"
    BAD_QUERY = "bad_query"
    NOTE = "note"
    ADJUDICATE = "adjudicate"
    REOPEN = "reopen"
    ACCEPT_QUERY = "accept_query"
    EDIT_QUERY = "edit_query"
    REJECT_QUERY = "reject_query"


class BadQuery(StrEnum):
    """What is wrong with a query."""

    UNCLEAR = "unclear"
    NOT_STAND_ALONE = "not_stand_alone"
    UNREALISTIC = "unrealistic"
    TOO_BROAD = "too_broad"
    WRONG_LANGUAGE = "wrong_language"


class Event(Record):
    """One act of one annotator. Events never change: an undo is an event of its own that names the event it undoes.

    ``seq`` is the ledger's number, assigned on storage; ``client_id`` is made by the page, so that an event sent twice
    is stored once. ``at`` is UTC, ISO 8601. ``ms`` is how long the pair was looked at, in milliseconds. ``inclusion``
    is the probability with which the random sample drew the pair. ``rubric_sha`` and ``data_sha`` identify the rubric
    and the judged data, ``undoes`` is the ``client_id`` of the event that an undo or redo takes back.
    """

    seq: int | None = None
    client_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    at: str
    annotator: str = Field(min_length=1, max_length=64)
    kind: EventKind
    query_id: Id
    chunk_id: Id | None = None
    grade: Relevance | None = None
    reason: BadQuery | None = None
    evidence: str | None = Field(default=None, max_length=20_000)
    note: str | None = Field(default=None, max_length=20_000)
    text: str | None = Field(default=None, max_length=2_000)
    """The new wording of an edited query."""
    ms: int | None = Field(default=None, ge=0)
    lane: Lane | None = None
    inclusion: float | None = Field(default=None, gt=0, le=1)
    revealed: bool = False
    highlights: bool = False
    rubric_sha: str
    data_sha: str
    undoes: str | None = None
    repeat: bool = False
    """A second judgment by the same person, to see how far people agree with themselves. It changes nothing else."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kind in {EventKind.JUDGE, EventKind.ADJUDICATE} and (self.grade is None or self.chunk_id is None):
            raise ValueError(f"{self.kind} needs a chunk and a grade")
        if self.kind in {EventKind.UNDO, EventKind.REDO} and self.undoes is None:
            raise ValueError(f"{self.kind} needs the event it is about")
        if self.kind is EventKind.EDIT_QUERY and not (self.text or "").strip():
            raise ValueError("edit_query needs the new wording")
        return self


class Review(Record):
    """What one annotator says about one pair after all undos. The first answer counts.

    ``first_grade`` is the last grade given before anything was revealed, even if it was taken back afterwards;
    ``blind`` means that there was one; ``grade`` is the current grade, and ``revealed`` means that it was given with
    the judge's grade in sight. ``rubric_sha`` is the digest of the rubric that it was given by.
    """

    query_id: Id
    chunk_id: Id
    annotator: str
    grade: Relevance
    first_grade: Relevance
    blind: bool = True
    lane: Lane | None = None
    inclusion: float | None = None
    evidence: str = ""
    note: str = ""
    ms: int | None = None
    revealed: bool = False
    highlights: bool = False
    rubric_sha: str | None = None
    adjudicated: bool = False
