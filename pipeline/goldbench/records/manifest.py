"""The record of a run: counts in and out, failures, usage, versions, fingerprints of the files it wrote."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from goldbench.records.guardrail import Guardrail
from goldbench.records.record import Record

UNREADABLE = "unreadable"
"""The kind of the failure of a document."""


class Failure(Record):
    """An item that could not be processed. ``kind`` is a short stable word, ``message`` one line without content."""

    stage: str
    item: str
    kind: str
    message: str


class StageReport(Record):
    """The counts of one stage: every item read is written, rejected, failed or unused.

    ``unused`` counts items that were not needed (chunks that were not drawn because the target was met). ``rules``
    counts the rejected items by rule; the counts add up to ``rejected``. ``left_out`` counts parts of written items
    that were left out, by kind: ``shared-lines`` are lines of HTML pages that most pages of their site share, of which
    ``shared`` lists those on most pages; ``page-lines`` are running headers and footers of PDFs; ``unseen-characters``
    are control characters and the like. ``encodings`` counts the files that were read as text by their
    encoding. ``uncertain`` lists those whose encoding was guessed, the least certain first, at most 1,000; that of all
    others is certain.
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
    left_out: dict[str, int] = Field(default_factory=dict)
    shared: list[SharedLine] = Field(default_factory=list)
    encodings: dict[str, int] = Field(default_factory=dict)
    uncertain: list[FileEncoding] = Field(default_factory=list)

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


class SharedLine(Record):
    """A line, shortened, that was left out because most pages of a site share it, and on how many pages it stood."""

    line: str
    pages: int = Field(ge=1)


class FileEncoding(Record):
    """The guessed encoding in which a file was read, and the confidence of ``chardet``: from 0 to 1."""

    item: str
    encoding: str
    confidence: float = Field(ge=0, le=1)


class StageUsage(Record):
    """The cost of one stage's calls. ``replayed`` answers came from the store; ``usd`` is None if unknown.

    ``estimated_requests`` counts the requests whose usage the server did not report; they are charged the most that
    they may have cost, which is in ``usd`` and, as a part of it, in ``estimated_usd``.
    """

    requests: int = 0
    replayed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None
    estimated_requests: int = 0
    estimated_usd: float = 0.0


class RequestCounts(Record):
    """How many candidates of one type or style were requested, and how many queries of it were kept."""

    asked: int
    kept: int


class KindCount(Record):
    """How many queries of one kind are wanted and there; ``dropped`` says why a kind was left out, None if it was not.

    The share of a kind that was left out went to the others.
    """

    wanted: int = Field(ge=0)
    kept: int = Field(ge=0)
    dropped: str | None = None


class CanaryCount(Record):
    """How many judge checks of one kind were graded, how many of them 2 or more, and how many calls gave no grade."""

    graded: int = Field(ge=0)
    relevant: int = Field(ge=0)
    unanswered: int = Field(default=0, ge=0)


class CanaryVerdict(StrEnum):
    """The result of the judge checks."""

    PASSED = "passed"
    WARNING = "warning"
    FAILED = "failed"
    NOT_ASKED = "not asked"


class RubricChange(Record):
    """What asking again with an edited rubric changed, counted over the pairs that people had judged.

    People and judge agree about a pair if both call it relevant (grade 2 or more) or both do not. ``asked`` counts the
    pairs without agreement, which were asked about again; ``before`` and ``after`` are the digests of the rubrics.
    """

    before: str | None
    after: str | None
    compared: int = Field(ge=0)
    asked: int = Field(ge=0)
    agreed_before: int = Field(ge=0)
    agreed_after: int = Field(ge=0)


class Grading(Record):
    """How a pool was judged.

    ``pairs`` counts pairs of a query and a chunk, ``spread`` the same by highest minus lowest grade. ``escalated``
    pairs went to every assessor; ``capped`` pairs had a grade of 2 or 3 without a quote; ``unjudged`` pairs have no
    grade. ``feedback`` pairs are in the pool because users clicked or voted on the passage. ``method`` is ``written``
    or ``yes-no``; ``thresholds`` are then the least probabilities of yes for the grades 1, 2 and 3. ``rubric`` is the
    digest of the rubric that the judges read last, ``rubric_change`` says what the last asking again with an edited one
    changed.
    """

    assessors: list[str]
    panel: str
    depth: int
    rubric: str | None = None
    rubric_change: RubricChange | None = None
    method: str = "written"
    thresholds: tuple[float, float, float] | None = None
    retrievers: list[str]
    runs: list[str] = Field(default_factory=list)
    feedback: int = Field(default=0, ge=0)
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
    guardrails: list[Guardrail] = Field(default_factory=list)


class RefusedGrading(Record):
    """The last grading that left the set as it was: why, its figures, and the queries it would have kept."""

    reason: str
    grading: Grading
    stages: list[StageReport]
    failures: list[Failure] = Field(default_factory=list)
    usage: dict[str, StageUsage] = Field(default_factory=dict)


class RenewalCounts(Record):
    """What became of the queries when the documents changed.

    ``kept`` counts those whose passage has the same text, ``moved`` those whose passage changed while their evidence
    still stands, ``asked`` new ones, ``retired`` those that left the set. ``unjudged`` counts the grades that were
    dropped, because the passage changed or is gone, ``unasked`` new documents that no query asks about,
    ``new_passages`` the passages whose text was not in the corpus before.
    """

    kept: int = Field(ge=0)
    moved: int = Field(ge=0)
    asked: int = Field(ge=0)
    retired: int = Field(ge=0)
    unjudged: int = Field(default=0, ge=0)
    unasked: int = Field(default=0, ge=0)
    new_passages: int = Field(default=0, ge=0)


class Manifest(Record):
    """The record of one run. Everything else in the folder is a function of input, configuration and answers.

    ``content_sha256`` is the digest of what the set holds; see ``goldbench.goldset.content_digest``.
    ``paths`` are the paths of the documents as they were given; empty for documents that were given in memory.
    ``renewed`` is None unless the set took over queries of an earlier one whose documents changed.
    """

    format: int = 1
    goldbench: str
    created: str
    seconds: float
    generator: str
    evidence_level: str
    model: str | None = None
    generators: dict[str, int] = Field(default_factory=dict)
    prompts: dict[str, str] = Field(default_factory=dict)
    config_sha256: str
    paths: list[str] = Field(default_factory=list)
    documents: int
    target: int | None = None
    queries: int
    mix: dict[str, dict[str, RequestCounts]] = Field(default_factory=dict)
    kinds: dict[str, KindCount] = Field(default_factory=dict)
    stages: list[StageReport]
    failures: list[Failure] = Field(default_factory=list)
    usage: dict[str, StageUsage] = Field(default_factory=dict)
    packages: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    grading: Grading | None = None
    refused_grading: RefusedGrading | None = None
    content_sha256: str | None = None
    renewed: RenewalCounts | None = None

    @property
    def requested(self) -> dict[str, dict[str, RequestCounts]]:
        """The mix, with the numbers wanted of each kind where the kinds have exact shares."""
        exact = {kind: RequestCounts(asked=count.wanted, kept=count.kept) for kind, count in self.kinds.items()}
        return {**self.mix, "kind": exact} if exact and self.mix else self.mix
