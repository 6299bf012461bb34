"""Ask the judges: the first judge about every pair, all of them about pairs in doubt; answers are stored first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from goldbench.errors import CallFailed, LimitReached, ModelUnavailable, NotAsked
from goldbench.generate.bounded_work import bounded
from goldbench.generate.first_replies import FAULTS, MAX_FAILED_CALLS, Trial
from goldbench.grade.gradable_set import Earlier
from goldbench.grade.panel import ESCALATION, Assessors
from goldbench.grade.slots import SOURCES_FIRST, Answered, Answers, Slot
from goldbench.measures.statistics.shares import clustered_share
from goldbench.records.judgment import Canary, Flag, Judgment
from goldbench.records.manifest import Failure
from goldbench.records.query import Query
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.canaries import REFUTED_ABOVE, findings, tally
from goldbench.stages.judge import Pair, escalates, of_one_mind

Known = dict[tuple[str, str, str, Canary | None], Judgment]

Group: TypeAlias = tuple[Slot, ...]
"""The pairs that are asked about in one call."""


class Readable(Protocol):
    """The queries whose sources are asked about first, and the passages as they are judged."""

    @property
    def queries(self) -> Sequence[Query]:
        """The queries, in their order."""
        ...

    def text_of(self, chunk_id: str) -> str:
        """Return a passage as it is judged."""
        ...


@dataclass(slots=True)
class _Asked:
    """The answers so far, by the place of their group, and the trial of the judge; None for no trial."""

    trial: Trial | None
    stops: bool
    found: dict[int, list[Answered]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    judged: bool = False

    def ahead(self) -> int | None:
        """Return how many calls may be under way: None for no limit, 0 if the first replies were useless."""
        if self.trial is None:
            return None
        return 0 if self.stops and self.trial.failed else self.trial.next

    def failed_checks(self, queries: int) -> bool:
        """Return whether the judge has failed by the answers so far.

        Args:
            queries: How many there are; the sources of some are enough if chance can hardly explain their grades.
        """
        answers = Answers([item for _, items in sorted(self.found.items()) for item in items])
        grades, unanswered = answers.sources(), answers.unanswered_canaries().total()
        refuted = clustered_share([grade is Relevance.UNRELATED for grade in grades], [1] * len(grades))
        asked = {item.slot.query.query_id for item in answers.slots if item.slot.source}
        settled = len(asked) == queries or (refuted is not None and refuted[0] > REFUTED_ABOVE)
        found = findings(tally(answers.canaries()), sources=grades if settled else (), unanswered=unanswered)
        return bool(found.failed)

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
        if len(self.failures) >= MAX_FAILED_CALLS and not self.judged:
            raise ModelUnavailable(
                f"each of the first {len(self.failures)} calls failed, the last: {self.failures[-1].message}"
            )

    def put_next(self, places: Iterator[int], results: list[Answered]) -> None:
        """Put answers in the place of the first judge's alone.

        Args:
            places: Yields the place of the group.
            results: The answers.
        """
        self.found[next(places)] = results

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
    the judge fails them, or finds nothing in the first queries' own sources, which are asked about next.
    """

    gold: Readable
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
        checks, sources = self._first(groups) if self.tries else ([], [])
        await self._ask_in_turn(groups, checks, asked)
        if checks and self.panel.thresholds is None and self._is_over(asked):  # thresholds are set by sources as well
            return asked.in_order(groups)
        await self._ask_in_turn(groups, sources, asked, doubts=False)
        if sources and self._is_over(asked):
            return asked.in_order(groups)
        known = [asked.found[place] for place in sources if place in asked.found]
        await bounded(
            self._settle, known, limit=self.concurrency, take=functools.partial(asked.put_next, iter(sources))
        )
        await self._ask_in_turn(groups, sorted({*range(len(groups))}.difference(checks, sources)), asked)
        return asked.in_order(groups)

    def _first(self, groups: Sequence[Group]) -> tuple[list[int], list[int]]:
        """Return the places of the judge checks, and of the first queries' sources if they may end the asking."""
        checks = [place for place, group in enumerate(groups) if all(slot.planted for slot in group)]
        first = {query.query_id for query in self.gold.queries[:SOURCES_FIRST]} if self.stops else set()
        sources: dict[str, int] = {}
        for place, group in enumerate(groups):
            for slot in group:
                if slot.source and slot.query.query_id in first:
                    sources.setdefault(slot.query.query_id, place)  # with the answer in sight, if there is one
        return checks, sorted(set(sources.values()))

    def _is_over(self, asked: _Asked) -> bool:
        return self.stops and asked.failed_checks(len(self.gold.queries))

    async def _ask_in_turn(
        self, groups: Sequence[Group], places: Sequence[int], asked: _Asked, *, doubts: bool = True
    ) -> None:
        """Ask about the groups at these places, the first few alone while the judge is on trial.

        Args:
            groups: All groups.
            places: Positions among them.
            asked: Takes the answers.
            doubts: Whether the other judges are asked about pairs in doubt.
        """
        await bounded(
            functools.partial(self._work, doubts=doubts),
            [groups[place] for place in places],
            limit=self.concurrency,
            take=functools.partial(asked.take_next, iter(places)),
            ahead=asked.ahead,
        )

    async def _work(self, group: Group, *, doubts: bool) -> list[Answered]:
        try:
            firsts = await self._firsts(group)
        except LimitReached as error:
            return [Answered(slot, limit=str(error)) for slot in group]
        except NotAsked:
            return [Answered(slot) for slot in group]
        finally:
            self.advance(len(group))
        return await self._settle(firsts) if doubts else firsts

    async def _firsts(self, group: Group) -> list[Answered]:
        """Ask the first judge."""
        if len(group) == 1 and (self.panel.many is None or group[0].check or self.is_known(group[0])):
            return [await self._one(group[0])]
        return await self._several(group)

    async def _settle(self, firsts: list[Answered]) -> list[Answered]:
        """Ask the other judges about the pairs in doubt."""
        try:
            return [await self._escalated(item) if item.judgments else item for item in firsts]
        except LimitReached as error:
            return [Answered(item.slot, limit=str(error)) for item in firsts]
        except NotAsked:
            return [Answered(item.slot) for item in firsts]

    async def _one(self, slot: Slot) -> Answered:
        judge = self.panel.check if slot.check else self.panel.canary if slot.planted else self.panel.first
        try:
            return Answered(slot, (self._remembered(slot) or await judge.judge(self._pair(slot)),))
        except CallFailed as error:
            return Answered(slot, failures=(_failure(slot.stage, slot, error),))

    async def _several(self, group: tuple[Slot, ...]) -> list[Answered]:
        assert self.panel.many is not None
        assert self.panel.canary_many is not None
        judge = self.panel.canary_many if all(slot.planted for slot in group) else self.panel.many
        pairs = [self._pair(slot) for slot in group]
        try:
            firsts = await judge.judge_each(pairs)
        except CallFailed as error:
            return [Answered(slot, failures=(_failure(slot.stage, slot, error),)) for slot in group]
        answered = []
        for slot, first in zip(group, firsts, strict=True):
            if first is None:
                message = f"{slot.stage}: the reply about {len(group)} passages has no grade of this one"
                failure = Failure(stage=slot.stage, item=slot.name, kind="missing", message=message)
                answered.append(Answered(slot, failures=(failure,)))
            else:
                answered.append(Answered(slot, (first,)))
        return answered

    async def _escalated(self, item: Answered) -> Answered:
        """Ask the other judges about a pair in doubt, until most of the panel agree whether it is relevant.

        Judge checks test the first judge alone.
        """
        slot, first = item.slot, item.judgments[0]
        if slot.planted:
            return item
        names = [judge.assessor for judge in self.panel.others]
        given = {name: found for name in names if (found := self._find(slot, name)) is not None}
        failures = []
        for judge in self.panel.others:
            if judge.assessor in given:
                continue
            if not self.panel.everybody and not self._is_open(slot, first, list(given.values())):
                break
            try:
                given[judge.assessor] = await judge.judge(self._pair(slot))
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
            query=query.alone,
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
    return by_key(earlier.judgments), by_key(earlier.checks)


def by_key(judgments: Iterable[Judgment]) -> Known:
    """Return judgments by query, chunk, assessor and canary, without those that near-duplicates share."""
    own = (item for item in judgments if item.shared_from is None)
    return {(item.query_id, item.chunk_id, item.assessor, item.canary): item for item in own}


def _failure(stage: str, slot: Slot, error: CallFailed) -> Failure:
    return Failure(stage=stage, item=slot.name, kind=error.kind, message=str(error))
