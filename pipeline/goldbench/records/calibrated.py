"""Scores of systems after people's judgments have corrected the model's."""

from __future__ import annotations

from pydantic import Field

from goldbench.records.agreement_report import Estimate
from goldbench.records.record import Record


class Resting(Record):
    """The judgments behind a system's scores: its first ``depth`` documents of all queries, by who judged them."""

    system: str
    depth: int = Field(ge=1)
    people: int = Field(ge=0)
    model: int = Field(ge=0)
    unjudged: int = Field(ge=0)


class CalibratedScore(Record):
    """One measure of one system, before and after correction.

    ``raw`` uses the model's grades alone. ``corrected`` is the mean under people's judgments, estimated from the
    queries that people judged completely, with an interval for queries like these. Several systems are estimated
    together: their intervals hold for all systems at once, ``best`` is the probability of the highest mean, and
    ``favoured`` is by how much the model favours the system over the average one. ``weight`` says, for a single system,
    how far the model's differences between queries were trusted.
    """

    system: str
    measure: str
    raw: float
    corrected: Estimate
    best: float | None = Field(default=None, ge=0, le=1)
    favoured: Estimate | None = None
    weight: float | None = None


class CalibratedDifference(Record):
    """One measure of two systems, the first minus the second; the intervals hold for all pairs of systems at once."""

    first: str
    second: str
    measure: str
    raw: float
    corrected: Estimate


class CorrectedRanking(Record):
    """How likely the order of systems by one corrected measure is right.

    ``chance`` is the probability that the order has tau 0.8 or more with the true one, ``complete`` the number of
    queries that people judged completely. ``judged_more`` of them, or ``queries_more`` of any, would show differences
    of ``delta``; None if that kind of work alone is not enough; if neither is, both are needed ``together``.
    """

    chance: float = Field(ge=0, le=1)
    complete: int = Field(ge=0)
    judged_more: int | None = Field(default=None, ge=0)
    queries_more: int | None = Field(default=None, ge=0)
    together: bool = False
    delta: float = Field(gt=0)


class Calibration(Record):
    """Scores before and after correction by people; a function of the gold set, the runs and the ledger.

    ``people`` and ``model`` count the judgments by either, ``complete`` the queries that people judged to the bottom of
    their pools. ``shared`` is by
    measure the share of the model's error, 0 to 1, that counts as common to all systems; near 0 each system is
    corrected by its own judged queries alone. ``ranking`` says by measure how likely the corrected order is right.
    """

    format: int = 1
    queries: int = Field(ge=0)
    complete: int = Field(ge=0)
    people: int = Field(ge=0)
    model: int = Field(ge=0)
    confidence: float = 0.95
    scores: list[CalibratedScore] = Field(default_factory=list)
    differences: list[CalibratedDifference] = Field(default_factory=list)
    shared: dict[str, float] = Field(default_factory=dict)
    ranking: dict[str, CorrectedRanking] = Field(default_factory=dict)
    resting: list[Resting] = Field(default_factory=list)
    remarks: list[str] = Field(default_factory=list)
