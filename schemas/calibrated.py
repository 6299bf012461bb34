"""What scores come to once people's judgments have corrected the model's."""

from __future__ import annotations

from pydantic import Field

from schemas.agreement_report import Estimate
from schemas.record import Record


class Resting(Record):
    """On whose judgments a system's scores rest: its first ``depth`` documents of all queries, by who judged them."""

    system: str
    depth: int = Field(ge=1)
    people: int = Field(ge=0)
    model: int = Field(ge=0)
    unjudged: int = Field(ge=0)


class CalibratedScore(Record):
    """One measure of one system, three times.

    ``raw`` rests on the model's grades alone. ``gains`` puts people's grades where there are any, and what people give
    on average to pairs of the model's grade elsewhere; it has no interval. ``corrected`` is the mean under people's
    judgments, estimated from the queries that people judged completely, with its interval for queries like these;
    ``this_set`` is the same for these very queries. ``weight`` says how far the model's differences between queries
    were trusted.
    """

    system: str
    measure: str
    raw: float
    gains: Estimate
    corrected: Estimate
    this_set: Estimate
    weight: float | None = None


class CalibratedDifference(Record):
    """One measure of two systems, the first less the second; see ``CalibratedScore``."""

    first: str
    second: str
    measure: str
    raw: float
    corrected: Estimate
    this_set: Estimate
    weight: float | None = None


class Calibration(Record):
    """Scores before and after people; a function of the gold set, the runs and the ledger.

    ``people`` and ``model`` count the judgments that rest on either, ``complete`` the queries that people judged to the
    bottom of their pools, ``sample`` the pairs of the random sample that the expected gains rest on, ``effective`` what
    they are worth in pairs drawn with equal probabilities, ``expected_gains`` the gain by the model's grade.
    """

    format: int = 1
    queries: int = Field(ge=0)
    complete: int = Field(ge=0)
    people: int = Field(ge=0)
    model: int = Field(ge=0)
    sample: int = Field(ge=0)
    effective: float = Field(ge=0)
    expected_gains: dict[int, float] = Field(default_factory=dict)
    confidence: float = 0.95
    scores: list[CalibratedScore] = Field(default_factory=list)
    differences: list[CalibratedDifference] = Field(default_factory=list)
    resting: list[Resting] = Field(default_factory=list)
    remarks: list[str] = Field(default_factory=list)
