"""Ask the judges: the first judge about every pair, all of them about pairs in doubt; answers are stored first."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from goldbench.pipeline.build.first_replies import FAULTS, Trial
from goldbench.pipeline.build.waves import HOPELESS, bounded
from goldbench.pipeline.errors import CallFailed, LimitReached, ModelUnavailable, NotAsked
from goldbench.pipeline.grade.gradable_set import Earlier, GradableSet
from goldbench.pipeline.grade.panel import CANARY, CHECK, ESCALATION, GRADING, Assessors
from goldbench.pipeline.grade.retriever_pool import Pool
from goldbench.pipeline.stages.canaries import Planted, findings, how_many, plant, tally
from goldbench.pipeline.stages.judge import Pair, escalates, of_one_mind
from goldbench.pipeline.stages.pool import shuffled
from goldbench.schemas.judgment import RELEVANT, Canary, Flag, Judgment, Origin
from goldbench.schemas.manifest import Failure
from goldbench.schemas.query import Query

Known = dict[tuple[str, str, str, Canary | None], Judgment]


@dataclass(frozen=True, slots=True)
class Slot:
    """One pair to be judged; ``check`` marks a source shown with its answer, ``planted`` a judge check."""

    query: Query
    chunk_id: str
    source: bool = False
    check: bool = False
    planted: Planted | None = None

    @property
    def stage(self) -> str:
        """The account of its first call."""
        return CHECK if self.check else CANARY if self.planted else GRADING

    @property
    def name(self) -> str:
        """Query and chunk."""
        return f"{self.query.query_id} {self.chunk_id}"


@dataclass(frozen=True, slots=True)
class Answered:
    """The judgments about a slot, the first judge's first; none if the slot is unjudged."""

    slot: Slot
    judgments: tuple[Judgment, ...] = ()
    failures: tuple[Failure, ...] = ()
    limit: str | None = None


@dataclass(slots=True)
class Answers:
    """All answers, in the order of asking."""

    slots: list[Answered] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    limit: str | None = None

    def pairs(self) -> dict[tuple[str, str], tuple[Judgment, ...]]:
        """Return the judgments of each pair of the pool."""
        kept = (item for item in self.slots if item.slot.stage == GRADING)
        return {(item.slot.query.query_id, item.slot.chunk_id): item.judgments for item in kept}

    def checks(self) -> dict[str, tuple[Judgment, ...]]:
        """Return the judgments of each query's source, made with the answer in sight."""
        return {item.slot.query.query_id: item.judgments for item in self.slots if item.slot.check}

    def canaries(self) -> list[Judgment]:
        """Return the judgments of all canaries."""
        return [judgment for item in self.slots if item.slot.planted for judgment in item.judgments]

    def unanswered_canaries(self) -> Counter[Canary]:
        """Return how many canaries of each kind were asked about without a usable reply."""
        return Counter(
            item.slot.planted.kind for item in self.slots if item.slot.planted and item.failures and not item.judgments
        )


def slots_of(gold: GradableSet, pool: Pool, *, share: float) -> list[Slot]:
    """Return the pairs to judge, query by query so that a cap leaves whole queries judged, judge checks mixed in.

    Args:
        gold: The set.
        pool: Its pool.
        share: How many judge checks there are per call (0.05 = 5 %).
    """
    by_query: dict[str, list[Slot]] = {}
    calls = 0
    for query in gold.queries:
        rows = [row for row in pool.pairs[query.query_id] if row.shared_from is None]
        slots = [Slot(query, row.chunk_id, source=row.origin is Origin.SOURCE) for row in rows]
        if query.answer:
            slots.insert(0, Slot(query, query.chunk_id, source=True, check=True))
        by_query[query.query_id] = slots
        calls += len(slots)
    pooled = {query_id: {row.chunk_id for row in rows} for query_id, rows in pool.pairs.items()}
    for canary in plant(gold.queries, count=how_many(calls, share), chunks=gold.chunks, pooled=pooled.__getitem__):
        slots = by_query[canary.query.query_id]
        place = shuffled(canary.query.query_id, [slot.chunk_id for slot in slots] + [canary.chunk_id])
        slots.insert(max(1, place.index(canary.chunk_id)), Slot(canary.query, canary.chunk_id, planted=canary))
    return [slot for query in gold.queries for slot in by_query[query.query_id]]


Group: TypeAlias = tuple[Slot, ...]
"""The pairs that are asked about in one call."""


@dataclass(slots=True)
class _Asked:
    """The answers so far, by the place of their group, and the trial of the judge; None for no trial."""

    trial: Trial | None
    stops: bool
    found: dict[int, list[Answered]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    judged: bool = False

    @property
    def next(self) -> int | None:
        """How many calls go ahead alone; None for no limit."""
        return self.trial.next if self.trial else None

    @property
    def failed_trial(self) -> bool:
        """Whether the first replies were useless."""
        return self.trial is not None and self.trial.failed

    @property
    def failed_checks(self) -> bool:
        """Whether the answers so far fail the judge checks."""
        answers = Answers([item for _, items in sorted(self.found.items()) for item in items])
        unanswered = answers.unanswered_canaries().total()
        return bool(findings(tally(answers.canaries()), unanswered=unanswered).failed)

    def take_next(self, places: Iterator[int], results: list[Answered]) -> None:
        """Take in the answers about a group.

        Args:
            places: Yields the place of the group.
            results: The answers.

        Raises:
            ModelUnavailable: Each of the first calls failed.
            ModelUnfit: The first replies are useless, and they do not belong to judge checks that end the asking.
        """
        self.found[next(places)] = results
        for item in results:
            self.failures.extend(item.failures)
            self.judged = self.judged or bool(item.judgments)
        if self.trial is not None and not any(item.limit for item in results):
            failure = results[0].failures[0] if results[0].failures else None
            fault = FAULTS.get(failure.kind) if failure else None
            self.trial.take("" if any(item.judgments for item in results) else fault, failure)
            if not (self.stops and results[0].slot.planted):
                self.trial.check()
        if len(self.failures) >= HOPELESS and not self.judged:
            raise ModelUnavailable(
                f"each of the first {len(self.failures)} calls failed, the last: {self.failures[-1].message}"
            )

    def in_order(self, groups: Sequence[Group]) -> Answers:
        """Return the answers in the order of the groups; pairs that were not asked about are unjudged."""
        answers = Answers()
        for place, group in enumerate(groups):
            for item in self.found.get(place) or [Answered(slot) for slot in group]:
                answers.slots.append(item)
                answers.failures.extend(item.failures)
                answers.limit = answers.limit or item.limit
        return answers


def grouped(slots: Sequence[Slot], size: int, is_known: Callable[[Slot], bool]) -> Iterator[tuple[Slot, ...]]:
    """Yield the slots one by one, or those of a query in groups; a source check is always alone.

    Args:
        slots: The pairs to judge.
        size: How many pairs are asked about in one call, 1 or more.
        is_known: Whether a pair was judged before.
    """
    group: list[Slot] = []
    for slot in slots:
        if size == 1 or slot.check or is_known(slot):
            yield (slot,)
            continue
        if group and (group[0].query.query_id != slot.query.query_id or len(group) == size):
            yield tuple(group)
            group = []
        group.append(slot)
    if group:
        yield tuple(group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Asks a panel about slots; ``known`` and ``known_checks`` are the judgments of an earlier grading.

    If ``tries`` is set, a few calls go ahead, and the judge checks before everything else. ``stops`` ends the asking if
    the judge fails them.
    """

    gold: GradableSet
    panel: Assessors
    concurrency: int
    advance: Callable[[int], None]
    known: Known
    known_checks: Known
    tries: bool = False
    stops: bool = False

    async def ask(self, slots: Sequence[Slot], *, per_call: int) -> Answers:
        """Return the answers about the slots, in their order.

        Raises:
            ModelUnavailable: No call can work now, or each of the first calls failed.
            ModelUnfit: The first replies are useless.
        """
        groups = list(grouped(slots, per_call, self.is_known))
        asked = _Asked(Trial("judge", "use another model") if self.tries else None, stops=self.stops)
        checks = [place for place, group in enumerate(groups) if self.tries and all(slot.planted for slot in group)]
        await self._ask_in_turn(groups, checks, asked)
        if not (self.stops and checks and asked.failed_checks):
            await self._ask_in_turn(groups, sorted(set(range(len(groups))) - set(checks)), asked)
        return asked.in_order(groups)

    async def _ask_in_turn(self, groups: Sequence[Group], places: Sequence[int], asked: _Asked) -> None:
        """Ask about the groups at these places, the first few alone while the judge is on trial."""
        left = list(places)
        while left and not (self.stops and asked.failed_trial):
            size = asked.next or len(left)
            now = left[:size]
            take = functools.partial(asked.take_next, iter(now))
            await bounded(self._work, [groups[place] for place in now], limit=self.concurrency, take=take)
            del left[:size]

    async def _work(self, group: tuple[Slot, ...]) -> list[Answered]:
        try:
            if len(group) == 1 and (self.panel.many is None or group[0].check or self.is_known(group[0])):
                return [await self._one(group[0])]
            return await self._several(group)
        except LimitReached as error:
            return [Answered(slot, limit=str(error)) for slot in group]
        except NotAsked:
            return [Answered(slot) for slot in group]
        finally:
            self.advance(len(group))

    async def _one(self, slot: Slot) -> Answered:
        judge = self.panel.check if slot.check else self.panel.canary if slot.planted else self.panel.first
        pair = self._pair(slot)
        try:
            first = self._remembered(slot) or await judge.judge(pair)
        except CallFailed as error:
            return Answered(slot, failures=(_failure(slot.stage, slot, error),))
        return await self._escalated(slot, pair, first)

    async def _several(self, group: tuple[Slot, ...]) -> list[Answered]:
        assert self.panel.many is not None
        assert self.panel.canary_many is not None
        judge = self.panel.canary_many if all(slot.planted for slot in group) else self.panel.many
        pairs = [self._pair(slot) for slot in group]
        try:
            firsts = await judge.judge(pairs)
        except CallFailed as error:
            return [Answered(slot, failures=(_failure(slot.stage, slot, error),)) for slot in group]
        answered = []
        for slot, pair, first in zip(group, pairs, firsts, strict=True):
            if first is None:
                message = f"{slot.stage}: the reply about {len(group)} passages has no grade of this one"
                failure = Failure(stage=slot.stage, item=slot.name, kind="missing", message=message)
                answered.append(Answered(slot, failures=(failure,)))
            else:
                answered.append(await self._escalated(slot, pair, first))
        return answered

    async def _escalated(self, slot: Slot, pair: Pair, first: Judgment) -> Answered:
        """Ask the other judges about a pair in doubt, until most of the panel agree whether it is relevant.

        Judge checks test the first judge alone.
        """
        if slot.planted:
            return Answered(slot, (first,))
        names = [judge.assessor for judge in self.panel.others]
        given = {name: found for name in names if (found := self._find(slot, name)) is not None}
        failures = []
        for judge in self.panel.others:
            if judge.assessor in given:
                continue
            if not self.panel.everybody and not self._is_open(slot, first, list(given.values())):
                break
            try:
                given[judge.assessor] = await judge.judge(pair)
            except CallFailed as error:
                failures.append(_failure(ESCALATION, slot, error))
        return Answered(slot, (first, *(given[name] for name in names if name in given)), tuple(failures))

    def _is_open(self, slot: Slot, first: Judgment, others: list[Judgment]) -> bool:
        return self._in_doubt(slot, first) and not of_one_mind([first, *others], 1 + len(self.panel.others))

    @staticmethod
    def _in_doubt(slot: Slot, first: Judgment) -> bool:
        if slot.check:
            return first.relevance < RELEVANT or first.capped or first.flag is not Flag.NONE
        return escalates(first, source=slot.source)

    def _pair(self, slot: Slot) -> Pair:
        text = slot.planted.text if slot.planted else self.gold.text_of(slot.chunk_id)
        query = slot.query
        return Pair(
            query_id=query.query_id,
            chunk_id=slot.chunk_id,
            query=query.text,
            passage=text,
            answer=query.answer if slot.check else None,
            canary=slot.planted.kind if slot.planted else None,
        )

    def is_known(self, slot: Slot) -> bool:
        """Whether an earlier grading has the first judgment of a slot."""
        return self._remembered(slot) is not None

    def _remembered(self, slot: Slot) -> Judgment | None:
        many = self.panel.many
        return self._find(slot, many.assessor if many and not slot.check else self.panel.first.assessor)

    def _find(self, slot: Slot, assessor: str) -> Judgment | None:
        kind = slot.planted.kind if slot.planted else None
        known = self.known_checks if slot.check else self.known
        return known.get((slot.query.query_id, slot.chunk_id, assessor, kind))


def remembered(earlier: Earlier) -> tuple[Known, Known]:
    """Return the judgments of an earlier grading, of pairs and of sources, by query, chunk, assessor and canary."""

    def by_key(judgments: Sequence[Judgment]) -> Known:
        own = (item for item in judgments if item.shared_from is None)
        return {(item.query_id, item.chunk_id, item.assessor, item.canary): item for item in own}

    return by_key(earlier.judgments), by_key(earlier.checks)


def _failure(stage: str, slot: Slot, error: CallFailed) -> Failure:
    return Failure(stage=stage, item=slot.name, kind=error.kind, message=str(error))
