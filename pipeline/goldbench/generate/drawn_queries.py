"""Tasks, candidates on their way, and the queries, rejections and failures that they end as."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from goldbench.config import KINDS
from goldbench.errors import CallFailed, LimitReached
from goldbench.goldset.file_names import OWN
from goldbench.ports import Brief
from goldbench.records.corpus import Chunk
from goldbench.records.judgment import Judgment
from goldbench.records.manifest import Failure
from goldbench.records.query import Candidate, Query, QueryKind, Rejection
from goldbench.stages.check import CheckContext, Finding, joined_context
from goldbench.text.scripts import is_spaceless

LIMIT = "limit"
"""The kind of a failure whose call was not made because a cap was reached."""

STAND_IN_CHARACTERS = 60
"""The length of a stand-in for a query in a dry run, about a dozen English words."""


@dataclass(frozen=True, slots=True)
class Task:
    """One request for queries: what is asked for, and the passages with their positions, the source first.

    ``moment`` is the date or the version that the passage is about.
    """

    brief: Brief
    chunks: tuple[Chunk, ...]
    positions: tuple[int, ...]
    moment: str = ""

    @property
    def kind(self) -> QueryKind:
        """The kind that is asked for."""
        return self.brief.assignment.kind

    def asking_for(self, kind: QueryKind) -> Task:
        """Return the task with another kind."""
        assignment = self.brief.assignment.model_copy(update={"kind": kind})
        return replace(self, brief=replace(self.brief, assignment=assignment))

    def context(self) -> CheckContext:
        """Return what a candidate is compared with: its passage, or all that it needs."""
        if self.kind in KINDS:
            return CheckContext.of(self.chunks[0], self.brief)
        # nothing answers it: the passages beside the source were shown for their likeness only
        chunks = self.chunks[:1] if self.kind is QueryKind.UNANSWERABLE else self.chunks
        return joined_context(chunks, self.brief)


@dataclass(slots=True)
class DrawnCandidate:
    """A candidate on its way; without a finding it has passed the checks that look at it alone.

    ``planned`` marks a stand-in of a dry run: no model was asked for it, and it counts as an accepted query.
    ``first_finding`` is the rule that the proposed wording broke, if a rewrite was asked for. ``judgments`` show that
    nothing answers the query.
    """

    task: Task
    proposed: Candidate
    candidate: Candidate
    finding: Finding | None = None
    failure: Failure | None = None
    planned: bool = False
    first_finding: Finding | None = None
    judgments: tuple[Judgment, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The candidates of a task, and what ended it: a reason for no query, or a call that failed or was not made."""

    task: Task
    outcomes: list[DrawnCandidate] = field(default_factory=list)
    end: Rejection | Failure | None = None


@dataclass(slots=True)
class DrawnQueries:
    """The results of all tasks, in drawing order; ``planned`` counts the stand-ins of a dry run."""

    candidates: list[Candidate] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    positions: list[tuple[int, ...]] = field(default_factory=list)
    """The positions of the chunks that each query needs, its source first."""
    unanswerable: list[Query] = field(default_factory=list)
    """Queries that nothing answers; they are not among ``queries``."""
    judgments: list[Judgment] = field(default_factory=list)
    """What shows that nothing answers them."""
    rejections: list[Rejection] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    chunks_drawn: int = 0
    chunks_with_candidates: int = 0
    chunks_skipped: int = 0
    chunks_failed: int = 0
    groups_drawn: int = 0
    """Tasks beyond one passage, and noisy forms, beside ``chunks_drawn``; the other counts hold both."""
    limit: str | None = None
    planned: int = 0

    @property
    def accepted(self) -> int:
        """How many queries there are, or would be."""
        return len(self.queries) + len(self.unanswerable) + self.planned


@dataclass(frozen=True, slots=True)
class EarlierQueries:
    """The queries that a set keeps of an earlier one, and the positions of the chunks that each needs."""

    queries: tuple[Query, ...] = ()
    positions: tuple[tuple[int, ...], ...] = ()
    unanswerable: tuple[Query, ...] = ()
    judgments: tuple[Judgment, ...] = ()

    @property
    def every(self) -> tuple[Query, ...]:
        """All of them."""
        return (*self.queries, *self.unanswerable)

    @property
    def written(self) -> int:
        """How many of them were written from the documents; those of the owner of the set come on top."""
        return self.kinds.total()

    @property
    def kinds(self) -> Counter[QueryKind | None]:
        """How many of these there are by kind."""
        return Counter(query.kind for query in self.every if query.generator != OWN)

    def joined(self, drawn: DrawnQueries) -> DrawnQueries:
        """Put the queries before those that were drawn, each with a candidate, and return these."""
        drawn.candidates[:0] = map(candidate_of, self.every)
        drawn.queries[:0] = self.queries
        drawn.positions[:0] = self.positions
        drawn.unanswerable[:0] = self.unanswerable
        drawn.judgments[:0] = self.judgments
        return drawn


def candidate_of(query: Query) -> Candidate:
    """Return the candidate that a query was accepted as."""
    return Candidate(**{name: getattr(query, name) for name in Candidate.model_fields})


def stand_in(brief: Brief, number: int) -> Candidate:
    """Return a stand-in for a query not written yet: the chunk's first words, a number, and the chunk's id.

    The number and the id keep two stand-ins apart, as two queries would be.
    """
    chunk = brief.chunk
    width = STAND_IN_CHARACTERS // 3 if is_spaceless(chunk.text) else STAND_IN_CHARACTERS
    text = f"{chunk.text[:width]} {number} {chunk.chunk_id}"
    return Candidate(chunk_id=chunk.chunk_id, text=text, generator="dry run", asked=brief.assignment)


def failure_of(stage: str, item: str, error: CallFailed | LimitReached) -> Failure:
    """Return the record of a call that failed or was not made because a cap was reached.

    Args:
        stage: The stage that made the call.
        item: What the call was about.
        error: What went wrong.
    """
    kind = error.kind if isinstance(error, CallFailed) else LIMIT
    return Failure(stage=stage, item=item, kind=kind, message=str(error))


def rejection(finding: Finding, candidate: Candidate) -> Rejection:
    """Return the record of a rejected candidate."""
    return Rejection(
        chunk_id=candidate.chunk_id,
        filter=finding.filter,
        reason=finding.reason,
        score=finding.score,
        candidate=candidate,
    )
