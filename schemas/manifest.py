"""What a run did: counts in and out, failures, usage, versions, fingerprints of what it wrote."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from schemas.record import Record


class Failure(Record):
    """One item that could not be worked on. ``kind`` is a short stable word, ``message`` one line without content."""

    stage: str
    item: str
    kind: str
    message: str


class StageReport(Record):
    """The books of one stage: what was read is written, rejected, failed or left over, never lost.

    ``unused`` counts items that were not needed (chunks never drawn because the target was met). ``rules`` says
    how many were rejected by which rule; the sum is ``rejected``.
    """

    stage: str
    reads: str
    writes: str
    read: int = Field(ge=0)
    written: int = Field(ge=0)
    rejected: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    unused: int = Field(default=0, ge=0)
    rules: dict[str, int] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.read != self.written + self.rejected + self.failed + self.unused:
            raise ValueError(
                f"stage {self.stage}: {self.read} read, but {self.written} written + {self.rejected} rejected + "
                f"{self.failed} failed + {self.unused} unused"
            )
        if sum(self.rules.values()) != self.rejected:
            raise ValueError(f"stage {self.stage}: rules name {sum(self.rules.values())} of {self.rejected} rejected")
        return self


class StageUsage(Record):
    """What the calls of one stage cost. ``replayed`` answers came from the store; ``usd`` is None where unknown."""

    requests: int = 0
    replayed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


class Asked(Record):
    """How many candidates were asked to be of one type or style, and how many queries of it were kept."""

    asked: int
    kept: int


class CanaryCount(Record):
    """How many canaries of one kind the judge graded, and how many of them 2 or more."""

    graded: int = Field(ge=0)
    relevant: int = Field(ge=0)


class CanaryVerdict(StrEnum):
    """What the canaries say of a judge."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    NOT_ASKED = "not asked"


class Grading(Record):
    """How a pool was judged. ``pairs`` are of a query and a chunk, ``spread`` counts them by highest less lowest grade.

    ``escalated`` pairs went to every assessor, ``capped`` ones had a grade of 2 or 3 without a quote to show for it.
    ``unjudged`` have no grade. ``agreement_measured`` says whether anybody compared this way of asking with people.
    """

    assessors: list[str]
    panel: str
    depth: int
    passages_per_call: int
    retrievers: list[str]
    runs: list[str] = Field(default_factory=list)
    pairs: int = Field(ge=0)
    judged: int = Field(ge=0)
    shared: int = Field(ge=0)
    unjudged: int = Field(ge=0)
    escalated: int = Field(ge=0)
    capped: int = Field(ge=0)
    flagged: dict[str, int] = Field(default_factory=dict)
    spread: dict[int, int] = Field(default_factory=dict)
    grades: dict[int, int] = Field(default_factory=dict)
    too_broad: int = Field(default=0, ge=0)
    unreachable: int = Field(default=0, ge=0)
    canaries: dict[str, CanaryCount] = Field(default_factory=dict)
    canary_verdict: CanaryVerdict = CanaryVerdict.NOT_ASKED
    canary_findings: list[str] = Field(default_factory=list)
    agreement_measured: bool = False


class Manifest(Record):
    """The record of one run. Everything else in the folder is a function of input, configuration and answers."""

    format: int = 1
    goldset: str
    created: str
    seconds: float
    generator: str
    evidence_level: str
    model: str | None = None
    prompts: dict[str, str] = Field(default_factory=dict)
    config_sha256: str
    documents: int
    target: int | None = None
    queries: int
    mix: dict[str, dict[str, Asked]] = Field(default_factory=dict)
    stages: list[StageReport]
    failures: list[Failure] = Field(default_factory=list)
    usage: dict[str, StageUsage] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    grading: Grading | None = None
