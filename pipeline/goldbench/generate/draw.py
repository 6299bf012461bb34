"""Draw the queries of a set: waves of tasks, whose queries are written, checked and rewritten once.

A wave takes its tasks from all kinds in turn, so that no kind waits for another one. The order of the tasks decides
what is accepted, never the order in which replies arrive: a wave is worked on with bounded concurrency, and its
results are recorded in order. What the next wave holds depends on results alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from goldbench.config import KINDS, SHARED, Generator
from goldbench.errors import ModelUnavailable, UsageError
from goldbench.generate.attempts import FOREIGN, Attempts
from goldbench.generate.bounded_work import bounded
from goldbench.generate.drawn_queries import (
    LIMIT,
    DrawnCandidate,
    DrawnQueries,
    EarlierQueries,
    Task,
    TaskResult,
    rejection,
)
from goldbench.generate.first_replies import FAULTS, MAX_FAILED_CALLS, Trial
from goldbench.generate.noisy_queries import add_noisy
from goldbench.generate.quotas import Quotas, missing_beside
from goldbench.generate.task_source import TaskSource
from goldbench.records.manifest import Failure, KindCount
from goldbench.records.query import QueryKind, Rejection
from goldbench.stages.check import Finding, SetChecks, accepted
from goldbench.text.shares import quotas

LOWEST_EXPECTED_YIELD = 0.25
"""Queries per task that a wave counts on at least: it has at most four times as many tasks as queries are missing."""
EXPECTED_YIELD = 0.52
"""Queries per reply that a dry run counts on where a model is asked in short and few of its replies are stored.

A model of 1.5 billion parameters wrote 90 queries in 173 replies about three collections, 0.44 to 0.67 per reply.
"""
FEWEST_REPLIES = 10
"""Stored replies from which a dry run counts on their own yield."""
MAX_REJECTIONS = 100
"""Stop after this many rejections about single passages with no accepted query among them."""
BEYOND = tuple(kind for kind in SHARED if kind is not QueryKind.NOISY)
"""The kinds that a model writes beyond one passage, the simplest first."""


@dataclass(slots=True)
class Stream:
    """The tasks of one kind, or of all kinds about one passage, and what became of them so far."""

    kinds: tuple[QueryKind, ...]
    tasks: Iterator[Task]
    drawn: int = 0
    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    replies: int = 0
    """Replies about these tasks, as far as a model was asked in short, which writes one query each."""
    stand_ins: int = 0
    """Replies that a dry run only counts."""
    exhausted: bool = False
    """Whether nothing else can be asked about."""

    def take(self, count: int) -> list[Task]:
        """Return the next tasks, fewer if there are no more."""
        tasks = list(itertools.islice(self.tasks, count))
        self.exhausted = len(tasks) < count
        return tasks


@dataclass(slots=True, kw_only=True)
class Draw:
    """Draws the queries of a set.

    Args:
        source: What can be asked about, with the shares of the kinds.
        attempts: Carries out tasks.
        target: How many queries the set should have, with those that it keeps.
        concurrency: How many tasks are worked on at once.
        trial: Ends the draw if the first replies about single passages are useless; None for no trial.
        standing: The queries that the set keeps of an earlier one.
        waits: Whether replies are awaited before more is asked; not if requests are sent in batches, as whole waves.
        note: Shows a person one line.
    """

    source: TaskSource
    attempts: Attempts
    target: int
    concurrency: int
    trial: Trial | None = None
    standing: EarlierQueries = field(default_factory=EarlierQueries)
    waits: bool = True
    note: Callable[[str], None] = lambda _: None
    drawn: DrawnQueries = field(default_factory=DrawnQueries, init=False)
    _passages: Stream = field(init=False)
    """The tasks about one passage."""
    _streams: list[Stream] = field(init=False)
    """All tasks: about one passage, then the other kinds."""
    _kinds: Quotas = field(init=False)
    _checks: SetChecks = field(init=False)
    _reserve: list[DrawnCandidate] = field(default_factory=list, init=False)
    """Candidates whose first wording may fill the set at the end: they break a rule that many a good query breaks."""

    async def draw(self) -> DrawnQueries:
        """Return the queries of the set, those that it keeps first.

        Raises:
            UsageError: None of the kinds can be written.
            ModelUnavailable: No call can work now, or every call failed; the answers so far are in the store.
            ModelUnfit: The first replies are useless.
        """
        self._begin()
        while self.drawn.limit is None and self._open_streams():
            await self._draw_wave(self._next_wave())
            self._give_up_hopeless()
        self._fill_up()
        self._check_result()
        self.standing.joined(self.drawn)
        noisy = self._kinds.count_missing([QueryKind.NOISY])
        self._kinds.missing[QueryKind.NOISY] = noisy - add_noisy(self.drawn, noisy, self.source)
        return self.drawn

    def kind_counts(self) -> dict[str, KindCount]:
        """Return how many of each kind are wanted and there, empty if the kinds have no exact shares.

        Those about one passage are counted only where a model writes them.
        """
        if not self.source.settings.by_share:
            return {}
        counts = Counter(query.kind for query in (*self.drawn.queries, *self.drawn.unanswerable))
        return {
            kind.value: KindCount(
                wanted=counts[kind] + max(0, self._kinds.count_missing([kind])),
                kept=counts[kind],
                dropped=self._kinds.given_up.get(kind),
            )
            for kind, share in self.source.settings.kinds.items()
            if share > 0 and (self.counts_kinds or kind in SHARED)
        }

    @property
    def counts_kinds(self) -> bool:
        """Whether each kind about one passage has a number of its own."""
        return self.source.settings.by_share and self.attempts.kind_writer is not None

    def _begin(self) -> None:
        settings = self.source.settings
        shares = {kind: share for kind, share in settings.kinds.items() if share > 0} if settings.by_share else KINDS
        unwritable = [kind for kind in BEYOND if kind in shares and self.attempts.kind_writer is None]
        shares = {kind: share for kind, share in shares.items() if kind not in unwritable}
        existing = self._by_category(self.standing.kinds.items())
        wanted = self._by_category(quotas(shares, self.target).items())
        count = max(0, self.target - self.standing.written)
        self._kinds = Quotas(shares, missing_beside(existing, wanted, count=count))
        self._passages = Stream(tuple(KINDS), self.source.about_one_passage())
        self._streams = [self._passages]
        for kind in BEYOND:
            sources = {query.chunk_id for query in self.standing.every if query.kind is kind}
            self._streams.append(Stream((kind,), self.source.beyond_one_passage(kind, without=sources)))
        self._checks = SetChecks(target=self.target)
        self._checks.hold(self.standing.every, own_words=not settings.asks_in_short)
        self._aim()
        is_model = settings.generator is Generator.MODEL
        for kind in unwritable:
            self._give_up(kind, "a model of this size cannot write it" if is_model else "only a model writes it")

    def _category(self, kind: QueryKind | None) -> QueryKind:
        """Return as what a query counts: one stands for all kinds about one passage if these have no number each."""
        if kind is None or (kind not in SHARED and not self.counts_kinds):
            return QueryKind.FACT
        return kind

    def _by_category(self, counts: Iterable[tuple[QueryKind | None, int]]) -> Counter[QueryKind]:
        categories: Counter[QueryKind] = Counter()
        for kind, count in counts:
            categories[self._category(kind)] += count
        return categories

    def _aim(self) -> None:
        """Tell the checks how many queries about one passage there should be, since some rules hold for a share."""
        existing = sum(count for kind, count in self.standing.kinds.items() if kind not in SHARED)
        self._checks.aim(existing + self._passages.accepted + self._missing(self._passages))

    def _missing(self, stream: Stream) -> int:
        return self._kinds.count_missing(stream.kinds)

    def _stream(self, task: Task) -> Stream:
        return next(stream for stream in self._streams if task.kind in stream.kinds)

    def _open_streams(self) -> list[Stream]:
        """Return the streams of which more is wanted."""
        return [stream for stream in self._streams if self._missing(stream) > 0 and not stream.exhausted]

    def _next_wave(self) -> list[Task]:
        """Return the tasks of the next wave, one of each kind in turn."""
        turns = [self._plan(stream) for stream in self._open_streams()]
        return [task for turn in itertools.zip_longest(*turns) for task in turn if task is not None]

    def _plan(self, stream: Stream) -> list[Task]:
        """Return the next tasks of a stream, asked for so that kinds get their number."""
        tasks = stream.take(self._wave_size(stream))
        if stream is not self._passages or not self.counts_kinds:
            return tasks
        chunk_ids = [task.chunks[0].chunk_id for task in tasks]
        kinds = self._kinds.request(KINDS, chunk_ids, seed=self.source.settings.seed)
        return [task.asking_for(kinds.get(task.chunks[0].chunk_id, task.kind)) for task in tasks]

    def _wave_size(self, stream: Stream) -> int:
        """Return how many tasks of a stream come next.

        A query beyond one passage costs several requests. So few are written until it is known whether the model can,
        and then none that may not be needed; but a batch takes hours, so it holds all that may be.
        """
        missing = self._missing(stream)
        if stream is not self._passages and self.waits:
            return min(missing, self._kinds.tries_left(stream.kinds[0]) or missing)
        per_task = self.source.settings.constraints.per_chunk if stream is self._passages else 1
        rate = stream.accepted / stream.drawn if stream.drawn else per_task
        return math.ceil(missing / max(rate, LOWEST_EXPECTED_YIELD))

    async def _draw_wave(self, tasks: Sequence[Task]) -> None:
        """Carry out tasks; candidates are compared with the set in the order of the tasks, as soon as possible."""
        again: list[DrawnCandidate] = []

        def take(result: TaskResult) -> None:
            if self.trial is not None and result.task.kind in KINDS:
                self.trial.take_result(result, self.attempts.generator.name)
            self._count(result)
            again.extend(outcome for outcome in result.outcomes if not self._record(outcome, last=False))
            if not again:
                self._stop_if_hopeless(self._stream(result.task))

        trial = self.trial if any(task.kind in KINDS for task in tasks) else None
        ahead = None if trial is None else lambda: trial.next
        await bounded(self.attempts.carry_out, tasks, limit=self.concurrency, take=take, ahead=ahead)
        record_last = partial(self._record, last=True)
        await bounded(self.attempts.reword, again, limit=self.concurrency, take=record_last)

    def _count(self, result: TaskResult) -> None:
        """Count the result of a task."""
        drawn = self.drawn
        stream = self._stream(result.task)
        end = result.end
        if isinstance(end, Failure) and end.kind == LIMIT:
            drawn.limit = drawn.limit or end.message
            if not result.outcomes:
                return
        elif isinstance(end, Failure):
            stream.failed += not result.outcomes
            drawn.chunks_failed += not result.outcomes
            drawn.failures.append(end)
        stream.drawn += 1
        if any(outcome.planned for outcome in result.outcomes):
            stream.stand_ins += 1
        else:
            stream.replies += max(1, len(result.outcomes))
        drawn.chunks_drawn += stream is self._passages
        drawn.groups_drawn += stream is not self._passages
        if isinstance(end, Rejection):
            stream.rejected += 1
            drawn.chunks_skipped += 1
            drawn.rejections.append(end)
        if result.outcomes:
            drawn.chunks_with_candidates += 1
            drawn.candidates.extend(outcome.proposed for outcome in result.outcomes)
        if _says_something_of_the_model(result):
            self._kinds.tries[result.task.kind] += 1

    def _record(self, outcome: DrawnCandidate, *, last: bool) -> bool:
        """Record a candidate; return False if it may be rewritten."""
        drawn = self.drawn
        if outcome.failure is not None:
            if self.attempts.may_fall_back(outcome):
                self._reserve.append(outcome)
            drawn.failures.append(outcome.failure)
            if outcome.failure.kind == LIMIT:
                drawn.limit = drawn.limit or outcome.failure.message
            return True
        if outcome.planned and not self._counts_on(outcome):
            return True
        if outcome.finding is None:
            outcome.finding = self._check_quota(outcome)
        if outcome.finding is None and not outcome.planned:
            candidate = outcome.candidate.model_copy(update={"text": outcome.candidate.alone})
            outcome.finding = self._checks.accept(candidate, outcome.task.context())
            if outcome.finding and outcome.finding.rewrite and not last and candidate.first_text is None:
                return False
        if outcome.finding is None:
            self._accept(outcome)
        elif self.attempts.may_fall_back(outcome):
            self._reserve.append(outcome)
        else:
            self._reject(outcome, outcome.finding)
        return True

    def _counts_on(self, outcome: DrawnCandidate) -> bool:
        """Return whether a dry run counts a stand-in as a query, as often as replies become one."""
        stream = self._stream(outcome.task)
        if stream is not self._passages or not self.source.settings.asks_in_short:
            return True
        share = EXPECTED_YIELD
        if stream.replies >= FEWEST_REPLIES:
            share = max((stream.accepted - self.drawn.planned) / stream.replies, LOWEST_EXPECTED_YIELD)
        return self.drawn.planned < math.ceil(share * stream.stand_ins)

    def _check_quota(self, outcome: DrawnCandidate) -> Finding | None:
        """Return why a candidate is not needed, None if a query of its kind is missing."""
        stream = self._stream(outcome.task)
        if self._missing(stream) <= 0:
            return Finding("surplus", f"the target of {stream.accepted} queries was already met")
        kind = self._category(outcome.candidate.kind or outcome.task.kind)
        if self._kinds.count_missing([kind]) <= 0:
            return Finding("kind-quota", f"there are enough queries of the kind {kind.value}")
        return None

    def _accept(self, outcome: DrawnCandidate) -> None:
        drawn = self.drawn
        task = outcome.task
        self._stream(task).accepted += 1
        self._kinds.count(self._category(outcome.candidate.kind or task.kind), requested=task.kind)
        if outcome.planned:
            drawn.planned += 1
            return
        query = accepted(outcome.candidate, task.context())
        if task.kind is QueryKind.UNANSWERABLE:
            drawn.unanswerable.append(query)
            drawn.judgments.extend(outcome.judgments)
        else:
            drawn.queries.append(query)
            drawn.positions.append(task.positions)

    def _reject(self, outcome: DrawnCandidate, finding: Finding) -> None:
        self._stream(outcome.task).rejected += 1
        self.drawn.rejections.append(rejection(finding, outcome.candidate))

    def _give_up_hopeless(self) -> None:
        """Give up the kinds of which too few proposals were accepted; their share goes to the others."""
        if self.drawn.limit is not None:
            return
        for kind, reason in self._kinds.hopeless():
            if kind in BEYOND or (self.counts_kinds and self._has_other_of_one_passage(kind)):
                self._give_up(kind, reason)
        for stream in self._streams[1:]:
            kind = stream.kinds[0]
            if stream.exhausted and self._missing(stream) > 0 and not (stream.accepted or stream.failed):
                self._give_up(kind, _nothing_left(self._kinds.tries[kind]))

    def _has_other_of_one_passage(self, kind: QueryKind) -> bool:
        """Return whether another kind about one passage is left, so that there are such queries in any case."""
        return any(other_kind in KINDS for other_kind in self._kinds.shares.keys() - {kind, *self._kinds.given_up})

    def _give_up(self, kind: QueryKind, reason: str) -> None:
        exhausted = [other_kind for stream in self._streams if stream.exhausted for other_kind in stream.kinds]
        self._kinds.give_up(kind, reason, exhausted=exhausted)
        self._aim()
        self.note(f"The kind {kind.value} is left out, and its share goes to the other kinds: {reason}.")
        if not self._kinds.shares.keys() - {QueryKind.NOISY, *self._kinds.given_up}:
            listed = "; ".join(f"{other_kind.value}: {why}" for other_kind, why in self._kinds.given_up.items())
            raise UsageError(f"generate.kinds: no kind can be written ({listed}); name other kinds")

    def _fill_up(self) -> None:
        """Accept candidates in reserve, up to the target; reject the rest."""
        for outcome in sorted(self._reserve, key=lambda outcome: -(outcome.proposed.mean_logprob or 0.0)):
            finding = outcome.finding or outcome.first_finding
            if finding is not None and self._missing(self._passages) <= 0:
                self._reject(outcome, finding)
            else:
                self._record(DrawnCandidate(outcome.task, outcome.proposed, outcome.proposed), last=True)

    def _stop_if_hopeless(self, stream: Stream) -> None:
        """Stop when more tasks would only cost more.

        Raises:
            ModelUnavailable: Each of the first tasks failed, or every query a model wrote about a passage was rejected.
        """
        drawn = self.drawn
        if stream.failed == stream.drawn == MAX_FAILED_CALLS:
            raise ModelUnavailable(f"each of the first {stream.drawn} chunks failed, {_last(drawn)}")
        if stream is not self._passages or stream.accepted or self.standing.every or self._reserve:
            return
        if stream.rejected >= MAX_REJECTIONS and self.attempts.generator.evidence_level == "model":
            rule, count = Counter(item.filter for item in drawn.rejections).most_common(1)[0]
            raise ModelUnavailable(
                f"no query from the first {stream.drawn} chunks was accepted, most often because of the rule "
                f"{rule} ({count} times); every answer is in the store: use another model or looser constraints"
            )

    def _check_result(self) -> None:
        """Refuse a result without queries that further calls would not mend.

        Raises:
            ModelUnavailable: Every task failed.
            ModelUnfit: There were useless replies, and none of use.
        """
        drawn = self.drawn
        if drawn.limit is not None or drawn.accepted:
            return
        if self.trial is not None:
            self.trial.close()
        tasks = drawn.chunks_drawn + drawn.groups_drawn
        if tasks and drawn.chunks_failed == tasks:
            raise ModelUnavailable(f"each of the {tasks} chunks failed, {_last(drawn)}")


def _says_something_of_the_model(result: TaskResult) -> bool:
    """Return whether a result counts as a try of its kind; a failure of the server does not."""
    if result.outcomes:
        return not result.outcomes[0].planned
    if isinstance(result.end, Failure):
        return result.end.kind in FAULTS
    return isinstance(result.end, Rejection) and result.end.filter != FOREIGN


def _last(drawn: DrawnQueries) -> str:
    return f"the last: {drawn.failures[-1].message}"


def _nothing_left(tries: int) -> str:
    """Return why a kind is given up of which nothing was accepted and nothing else can be asked."""
    if not tries:
        return "nothing in these documents can be asked about in this way"
    return f"none of {tries} proposals was accepted, and nothing else can be asked about in this way"
