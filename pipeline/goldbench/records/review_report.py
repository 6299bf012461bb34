"""Results of a review so far: how far people agree with the model, with one another and with themselves."""

from __future__ import annotations

from pydantic import Field

from goldbench.records.agreement_report import Estimate, PairFigures
from goldbench.records.manifest import RubricChange
from goldbench.records.record import Record


class Annotator(Record):
    """One annotator: judgments, judgments given faster than reading takes, and the median time in milliseconds.

    ``repeated`` counts pairs judged a second time, ``same`` those that got the same grade again, ``apart`` those whose
    two grades differ by 2 or more.
    """

    name: str
    judgments: int = Field(ge=0)
    timed: int = Field(ge=0)
    too_fast: int = Field(ge=0)
    median_ms: float | None = None
    repeated: int = Field(default=0, ge=0)
    same: int = Field(default=0, ge=0)
    apart: int = Field(default=0, ge=0)


class PeopleAgreement(Record):
    """Agreement among people on randomly drawn pairs that two or more of them judged: the ceiling for any model."""

    pairs: int = Field(ge=0)
    exact: Estimate
    kappa: Estimate
    kappa_quadratic: Estimate
    kappa_binary: Estimate
    alpha: Estimate


class StopRule(Record):
    """One condition for ending a review: whether it holds (None if not known yet), and the finding behind it."""

    rule: str
    holds: bool | None
    found: str


class NotApplied(Record):
    """A decision about an earlier set that does not apply to the one of today; texts are None if they are not known."""

    kind: str
    annotator: str
    at: str
    grade: int | None = None
    query: str | None = None
    passage: str | None = None
    source: str | None = None
    reason: str


class ReviewReport(Record):
    """The state of a review; a function of the data set and the ledger.

    ``sample`` compares people with the model on the random sample, every pair weighted by the inverse of its
    probability; ``complete`` does so on the completely judged queries, unweighted. Only first grades count, given
    before anything was revealed. In both, rows are people's grades and columns the model's. ``carried`` counts the
    decisions that were made about an earlier set and apply to this one, ``not_applied`` lists those that do not.
    """

    format: int = 1
    queries: int = Field(ge=0)
    pairs: int = Field(ge=0)
    judged: int = Field(ge=0)
    judgments: int = Field(ge=0)
    adjudicated: int = Field(ge=0)
    disputed: int = Field(ge=0)
    cannot: int = Field(ge=0)
    bad_queries: dict[str, int] = Field(default_factory=dict)
    verdicts: dict[str, int] = Field(default_factory=dict)
    by_lane: dict[str, int] = Field(default_factory=dict)
    sample: PairFigures | None = None
    complete: PairFigures | None = None
    complete_queries: int = Field(default=0, ge=0)
    between: PeopleAgreement | None = None
    annotators: list[Annotator] = Field(default_factory=list)
    stop: list[StopRule] = Field(default_factory=list)
    carried: int = Field(default=0, ge=0)
    not_applied: list[NotApplied] = Field(default_factory=list)
    rubric_change: RubricChange | None = None
    remarks: list[str] = Field(default_factory=list)
    resamples: int
    seed: int
    confidence: float = 0.95
