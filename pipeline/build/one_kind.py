"""Draw the queries of one kind beyond a single passage: a task at a time, in a seeded order, until there are enough."""

from __future__ import annotations

import itertools
import math
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from goldbench.pipeline.build.drawn_queries import LIMIT, Drawn, candidate_of, rejection
from goldbench.pipeline.build.first_replies import FAULTS, USELESS, Trial, fault_of
from goldbench.pipeline.build.kind_counts import TRIES, too_few
from goldbench.pipeline.build.waves import LOWEST_EXPECTED_YIELD, MAX_FAILED_CALLS, bounded
from goldbench.pipeline.errors import ModelUnavailable, ModelUnfit
from goldbench.pipeline.ports import Brief
from goldbench.pipeline.stages.check import CheckContext, Finding, SetChecks, accepted, joined_context
from goldbench.schemas.corpus import Chunk
from goldbench.schemas.judgment import Judgment
from goldbench.schemas.manifest import Failure
from goldbench.schemas.query import Candidate, QueryKind, Rejection


@dataclass(frozen=True, slots=True)
class Task:
    """One query to write: what is asked for, and the passages that it needs with their positions, the source first.

    ``moment`` is the date or the version that the passage is about.
    """

    brief: Brief
    chunks: tuple[Chunk, ...]
    positions: tuple[int, ...]
    moment: str = ""


@dataclass(slots=True)
class Attempt:
    """What became of a task. Without a finding and a failure, ``candidate`` passed the checks that look at it alone.

    ``skipped`` is the model's reason for no query, ``planned`` marks a stand-in of a dry run, ``judgments`` show that
    nothing answers the query.
    """

    task: Task
    candidate: Candidate | None = None
    context: CheckContext | None = None
    finding: Finding | None = None
    failure: Failure | None = None
    skipped: str | None = None
    planned: bool = False
    judgments: tuple[Judgment, ...] = ()


@dataclass(slots=True, kw_only=True)
class KindDrawing:
    """The queries of one kind, as they come.

    Args:
        kind: The kind.
        tasks: What can be asked, in drawing order.
        attempt: Carries out a task.
        checks: Compare queries with those of the set so far.
        concurrency: How many tasks are worked on at once.
        advance: Is told when a task is done.
        tries: Whether the first replies are a trial of the model; not with batches, which are sent as a whole.
    """

    kind: QueryKind
    tasks: Iterator[Task]
    attempt: Callable[[Task], Awaitable[Attempt]]
    checks: SetChecks
    concurrency: int
    advance: Callable[[int], None]
    tries: bool = True
    drawn: Drawn = field(default_factory=Drawn)
    dropped: str | None = None
    """Why the kind is left out, None while it is not."""
    exhausted: bool = False
    _trial: Trial = field(init=False)
    _answered: int = 0
    _target: int = 0

    def __post_init__(self) -> None:
        """Begin the trial."""
        self._trial = Trial(f"write {named(self.kind)} queries", "another model may")

    async def draw(self, target: int) -> None:
        """Draw until there are ``target`` queries; may be called again with a higher number.

        Raises:
            ModelUnavailable: No call can work now, or each of the first calls failed.
        """
        self._target = target
        while self.drawn.accepted < target and not (self.exhausted or self.dropped or self.drawn.limit):
            tasks = list(itertools.islice(self.tasks, self._wave()))
            self.exhausted = not tasks
            await bounded(self._work, tasks, limit=self.concurrency, take=self._take)
            self._drop_if_hopeless()
        if self.exhausted and not (self.drawn.accepted or self.dropped or self.drawn.failures):
            self.dropped = _nothing(self._answered)

    def _wave(self) -> int:
        """Return how many tasks come next: few while the model is on trial, then as many as queries are missing.

        A query of these kinds costs several requests, so none is written that may not be needed, except in batches,
        each of which takes hours.
        """
        missing = self._target - self.drawn.accepted
        if not self.tries:
            rate = self.drawn.accepted / self.drawn.groups_drawn if self.drawn.groups_drawn else 1.0
            return math.ceil(missing / max(rate, LOWEST_EXPECTED_YIELD))
        if self.drawn.planned:
            return missing
        left = max(0, TRIES - self._answered)
        return min(missing, self._trial.next or missing, left or missing)

    async def _work(self, task: Task) -> Attempt:
        try:
            return await self.attempt(task)
        finally:
            self.advance(1)

    def _drop_if_hopeless(self) -> None:
        if self.drawn.limit is not None or self.drawn.accepted >= self._target:
            return
        try:
            self._trial.check()
        except ModelUnfit as unfit:
            self.dropped = str(unfit)
        else:
            self.dropped = too_few(self.drawn.accepted, self._answered)

    def _take(self, attempt: Attempt) -> None:
        """Enter the result of a task, in drawing order."""
        if attempt.failure is not None and attempt.failure.kind == LIMIT and attempt.candidate is None:
            self.drawn.limit = self.drawn.limit or attempt.failure.message
            return
        self.drawn.groups_drawn += 1
        if attempt.candidate is None:
            self._take_empty(attempt)
            return
        self._answered += 1
        self.drawn.chunks_with_candidates += 1
        self.drawn.candidates.extend([attempt.candidate])
        self._trial.take(self._fault(attempt, attempt.candidate))
        self._settle(attempt, attempt.candidate)

    def _fault(self, attempt: Attempt, candidate: Candidate) -> str:
        """Return what makes a query useless; one that nothing should answer has no evidence to give."""
        finding = attempt.finding
        if attempt.planned or (self.kind is QueryKind.UNANSWERABLE and finding and finding.filter not in USELESS):
            return ""
        return fault_of(finding, (candidate,), attempt.task.chunks[0])

    def _take_empty(self, attempt: Attempt) -> None:
        """Enter a task without a query: the call failed, or the model gave a reason."""
        if attempt.failure is not None:
            self.drawn.chunks_failed += 1
            self.drawn.failures.append(attempt.failure)
            self._answered += attempt.failure.kind in FAULTS
            self._trial.take(FAULTS.get(attempt.failure.kind), attempt.failure)
            if self.drawn.chunks_failed == self.drawn.groups_drawn == MAX_FAILED_CALLS:
                raise ModelUnavailable(
                    f"each of the first {MAX_FAILED_CALLS} calls failed, the last: {attempt.failure.message}"
                )
            return
        self._answered += 1
        self._trial.take(None)
        self.drawn.chunks_skipped += 1
        reason = attempt.skipped or "no query proposed"
        chunk_id = attempt.task.chunks[0].chunk_id
        self.drawn.rejections.append(Rejection(chunk_id=chunk_id, filter="skipped", reason=reason))

    def _settle(self, attempt: Attempt, candidate: Candidate) -> None:
        if attempt.failure is not None:
            self.drawn.failures.append(attempt.failure)
            if attempt.failure.kind == LIMIT:
                self.drawn.limit = self.drawn.limit or attempt.failure.message
            return
        finding = attempt.finding
        if finding is None and self.drawn.accepted >= self._target:
            finding = Finding("surplus", f"there are enough queries of the kind {self.kind.value}", None, False)
        if finding is None and attempt.planned:
            self.drawn.planned += 1
            return
        context = attempt.context or joined_context(attempt.task.chunks, attempt.task.brief)
        if finding is None:
            finding = self.checks.accept(candidate.model_copy(update={"text": candidate.alone}), context)
        if finding is not None:
            self.drawn.rejections.append(rejection(finding, candidate))
        elif self.kind is QueryKind.UNANSWERABLE:
            self.drawn.unanswerable.append(accepted(candidate, context))
            self.drawn.judgments.extend(attempt.judgments)
        else:
            self.drawn.queries.append(accepted(candidate, context))
            self.drawn.positions.append(attempt.task.positions)

    def give_up(self) -> None:
        """Take the accepted queries out again, because the kind is dropped; later ones may be like them."""
        self.checks.withdraw(self.kind)
        finding = Finding("kind-dropped", f"the kind {self.kind.value} is left out: {self.dropped}"[:300])
        for query in (*self.drawn.queries, *self.drawn.unanswerable):
            self.drawn.rejections.append(rejection(finding, candidate_of(query)))
        for given in (self.drawn.queries, self.drawn.unanswerable, self.drawn.judgments):
            given.clear()
        self.drawn.positions.clear()


def _nothing(tries: int) -> str:
    """Return why a kind is dropped of which nothing was accepted and nothing else can be asked."""
    if not tries:
        return "nothing in these documents can be asked about in this way"
    return f"none of {tries} proposals was accepted, and nothing else can be asked about in this way"


def named(kind: QueryKind) -> str:
    """Return the name of a kind as a person reads it."""
    return kind.value.replace("_", " ")
