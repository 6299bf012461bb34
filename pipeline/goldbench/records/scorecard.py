"""Results of scoring: the scorecard of several systems, the baseline of a gate, a line of a history."""

from __future__ import annotations

from enum import StrEnum
from math import fsum
from typing import Literal, Self

from pydantic import Field, model_validator

from goldbench.records.record import Record
from goldbench.records.set_verdict import SetVerdict


class GoldReference(Record):
    """The judgments in use: ``sha256`` is the digest of the sorted lines ``query document grade``.

    ``evidence_level`` is the gold set's own label (``smoke`` if neither a model nor a person wrote it), None if it has
    none. ``content_sha256`` is the digest of the set's content, None if it has none.
    """

    name: str
    sha256: str
    queries: int = Field(ge=1)
    evidence_level: str | None = None
    content_sha256: str | None = None


class Score(Record):
    """The mean of one measure over the queries, with a bootstrap interval where there are 2 queries or more."""

    mean: float
    low: float | None = None
    high: float | None = None


class RunCounts(Record):
    """Numbers of queries by how a run matches the judgments; see ``goldbench.measures.result.Counts``."""

    queries: int = Field(ge=0)
    missing: int = Field(ge=0)
    extra: int = Field(ge=0)
    no_relevant: int = Field(ge=0)
    tied: int = Field(ge=0)
    holes: int = Field(ge=0)


class SystemScores(Record):
    """One system: its scores by measure, the share of its top results that is judged, and the counts."""

    system: str
    scores: dict[str, Score]
    judged: dict[str, float] = Field(default_factory=dict)
    counts: RunCounts


class Verdict(StrEnum):
    """The result of a comparison."""

    FIRST = "first"
    SECOND = "second"
    NOT_SEPARABLE = "not separable"
    SAME = "same"


class Comparison(Record):
    """Two systems on one measure; differences are first minus second, over the same queries.

    ``p`` is the p-value of the randomization test, ``p_holm`` the same adjusted for all comparisons, ``p_t`` the
    p-value of the paired t test. ``effect_size`` is the mean difference in standard deviations of the differences.
    ``p_t`` and ``effect_size`` are None if all differences are equal. ``detectable`` is the smallest true difference
    that this number of queries shows in four tests of five if this is the only comparison, ``detectable_holm`` the same
    after Holm over all comparisons; None if these queries cannot show any.
    """

    measure: str
    first: str
    second: str
    queries: int = Field(ge=2)
    difference: float
    low: float
    high: float
    p: float = Field(gt=0, le=1)
    p_holm: float = Field(gt=0, le=1)
    p_t: float | None = Field(gt=0, le=1)
    wins: int = Field(ge=0)
    ties: int = Field(ge=0)
    losses: int = Field(ge=0)
    effect_size: float | None
    detectable: float | None = Field(ge=0)
    detectable_holm: float | None = Field(default=None, ge=0)
    verdict: Verdict


class Method(Record):
    """How the figures were computed. ``scores`` is the number type by which a run's scores are ordered."""

    missing: Literal["zero", "skip", "error"]
    scores: Literal["float64", "float32"]
    permutations: int = Field(default=10_000, ge=1)
    resamples: int = Field(default=10_000, ge=100)
    seed: int = Field(default=0, ge=0)
    alpha: float = Field(default=0.05, gt=0, lt=1)
    confidence: float = Field(default=0.95, gt=0, lt=1)


class Scorecard(Record):
    """Systems, best first by the first measure, and a comparison of every pair; a function of the input alone.

    ``verdict`` says what the gold set is good for, for these systems.
    """

    format: int = 1
    goldbench: str
    verdict: SetVerdict | None = None
    gold: GoldReference
    measures: list[str] = Field(min_length=1)
    systems: list[SystemScores] = Field(min_length=1)
    comparisons: list[Comparison] = Field(default_factory=list)
    warnings: list[str] = Field(default_factory=list)
    method: Method


class Baseline(Record):
    """The reference of a gate: the values of one system, one per query, in the order of ``query_ids``.

    ``query_sha256`` holds a digest of the text and the labels of each query, by which queries are found again in
    another version of the set; empty if the set has no content digest.
    """

    format: int = 1
    goldbench: str
    gold: GoldReference
    system: str
    query_ids: list[str] = Field(min_length=1)
    query_sha256: list[str] = Field(default_factory=list)
    values: dict[str, list[float]] = Field(min_length=1)

    @model_validator(mode="after")
    def _one_value_per_query(self) -> Self:
        if len(set(self.query_ids)) != len(self.query_ids):
            raise ValueError("query_ids names a query twice")
        for measure, values in self.values.items():
            if len(values) != len(self.query_ids):
                raise ValueError(f"{measure} has {len(values)} values for {len(self.query_ids)} queries")
        if self.query_sha256 and len(self.query_sha256) != len(self.query_ids):
            raise ValueError(f"query_sha256 has {len(self.query_sha256)} values for {len(self.query_ids)} queries")
        return self

    def means(self) -> dict[str, float]:
        """Return the mean of every measure."""
        return {measure: fsum(values) / len(values) for measure, values in self.values.items()}


class HistoryEntry(Record):
    """One line of ``history.jsonl``: the means of one system at one time.

    ``at`` is ISO 8601 with its offset. ``run`` is the file of the run and ``page`` its page of scores, as paths from
    the folder of the history; None if there is none.
    """

    format: int = 1
    at: str
    goldbench: str
    gold: GoldReference
    system: str
    label: str | None = None
    run: str | None = None
    page: str | None = None
    means: dict[str, Score] = Field(min_length=1)
    counts: RunCounts
    alerts: list[str] = Field(default_factory=list)
