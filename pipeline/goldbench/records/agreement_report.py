"""Agreement of two assessors or two sets of labels, on pairs and on which system is better."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from goldbench.records.guardrail import Guardrail
from goldbench.records.record import Record


class Estimate(Record):
    """A figure with its interval, or the reason why it is missing. The interval is None if it cannot be computed."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    @model_validator(mode="after")
    def _value_or_reason(self) -> Self:
        if (self.value is None) == (self.reason is None):
            raise ValueError("an estimate needs either a value or a reason")
        return self


class GradeMeaning(Record):
    """The worth of a judge's grade: the share of its pairs relevant by the reference (interval over queries).

    ``pairs`` and ``relevant`` count pairs; the share weighs them if they were drawn with known probabilities.
    """

    grade: int
    pairs: int = Field(ge=0)
    relevant: int = Field(ge=0)
    share: Estimate


class PairFigures(Record):
    """Agreement on the pairs that both sides graded.

    ``confusion[i][j]`` counts the pairs graded i by the reference and j by the judge. If pairs were drawn with known
    probabilities, the other figures weigh each pair by the inverse of its probability: then ``weighted`` is true, and
    ``effective_pairs`` is the number of equally weighted pairs they are worth.
    """

    pairs: int = Field(ge=0)
    queries: int = Field(ge=0)
    weighted: bool = False
    effective_pairs: float = Field(ge=0)
    confusion: list[list[int]]
    exact: Estimate
    kappa: Estimate
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    kappa_binary: Estimate
    alpha: Estimate
    bias: Estimate
    mean_reference: float | None
    mean_judge: float | None
    prevalence_reference: float | None
    prevalence_judge: float | None
    relevant_by_grade: list[GradeMeaning]


class RankedSystem(Record):
    """The mean of one system under each set of labels."""

    system: str
    reference: float
    judge: float


class Ranking(Record):
    """How alike the two sets of labels order systems, over the queries that both grade."""

    measure: str
    queries: int
    systems: list[RankedSystem]
    tau: Estimate


class Agreement(Record):
    """Two sets of labels compared; a function of the input, the seed and the number of resamples.

    ``only_reference`` and ``only_judge`` count pairs that the other side did not grade, ``clipped`` grades beyond the
    scale (counted as its end), ``unjudged`` negative grades, which mean that nobody judged the pair.
    """

    format: int = 1
    goldbench: str
    reference: str
    judge: str
    grades: list[int]
    level: int
    only_reference: int = 0
    only_judge: int = 0
    clipped: int = 0
    unjudged: int = 0
    overall: PairFigures | None = None
    ranking: Ranking | None = None
    guardrails: list[Guardrail] = Field(default_factory=list)
    remarks: list[str] = Field(default_factory=list)
    resamples: int
    seed: int
    confidence: float = 0.95
