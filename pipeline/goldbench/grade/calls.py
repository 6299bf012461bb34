"""Ask the judges: the first judge about every pair, all of them about pairs in doubt; answers are stored first."""

from __future__ import annotations

import functools
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from goldbench.errors import CallFailed, LimitReached, ModelUnavailable, ModelUnfit, NotAsked
from goldbench.generate.bounded_work import bounded
from goldbench.generate.first_replies import FAULTS, MAX_FAILED_CALLS, Trial
from goldbench.grade.panel import CANARY, CHECK, ESCALATION, GRADING, Assessors
from goldbench.grade.pool import GradableSet, Pool
from goldbench.llm.chat import NO_PROBABILITY
from goldbench.measures.statistics.shares import clustered_share
from goldbench.records.judgment import Canary, Flag, Judgment, Origin
from goldbench.records.manifest import CanaryVerdict, Failure
from goldbench.records.query import Query
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.canaries import (
    CHECKS,
    FAIL_ABOVE,
    REFUTED_ABOVE,
    TRAPS,
    Findings,
    PlantedPair,
    findings,
    how_many,
    plant,
    tally,
)
from goldbench.stages.judge import Pair, Thresholds, escalates, of_one_mind
from goldbench.stages.pool import shuffled

_FEWEST = 3
"""Fewest probabilities of answers, and of fakes, that thresholds are set by."""
_LEAST_TOPIC = 0.01
"""The least probability of a grade of 1: at 0, where half of the fakes may be, every passage would get it."""


def thresholds_for(answers: Sequence[float], fakes: Sequence[float]) -> Thresholds:
    """Return the thresholds that probabilities of known answers and of planted fakes suggest.

    A grade of 2 begins where answers and fakes are told apart best, and of equal places nearest to even odds; a grade
    of 3 at the middle one of the answers, of 1 at the middle one of the fakes: a source below that is no better than
    they are, and its query is left out. Few pairs leave the default.
    """
    if min(len(answers), len(fakes)) < _FEWEST:
        return Thresholds()
    known = sorted({*answers, *fakes})
    places = [0.5, *((low + high) / 2 for low, high in pairwise(known))]
    helps = max(places, key=lambda threshold: (_balance(threshold, answers, fakes), -abs(threshold - 0.5)))
    topic = max(median(fakes), _LEAST_TOPIC)
    return Thresholds(min(topic, helps), helps, max(median(answers), helps))


def _balance(threshold: float, answers: Sequence[float], fakes: Sequence[float]) -> float:
    """Return the share of answers from a threshold on, less the share of fakes; rounded, so that equal is equal."""
    found_share = sum(value >= threshold for value in answers) / len(answers)
    return round(found_share - sum(value >= threshold for value in fakes) / len(fakes), 9)


def held_out_grades(answers: Sequence[float], fakes: Sequence[float]) -> tuple[list[Relevance], list[Relevance]]:
    """Return the grade of each probability by the thresholds that the other half of the pairs suggests."""
    halves = [thresholds_for(answers[1 - half :: 2], fakes[1 - half :: 2]) for half in (0, 1)]
    return (
        [halves[place % 2].grade(value) for place, value in enumerate(answers)],
        [halves[position % 2].grade(value) for position, value in enumerate(fakes)],
    )


SOURCES_FIRST = 20
"""How many queries' sources are asked about before other passages: a judge that finds nothing in them is given up."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One pair to be judged; ``check`` marks a source shown with its answer, ``planted`` a judge check."""

    query: Query
    chunk_id: str
    source: bool = False
    check: bool = False
    planted: PlantedPair | None = None

    @property
    def stage(self) -> str:
        """The account of its first call."""
        return CHECK if self.check else CANARY if self.planted else GRADING

    @property
    def name(self) -> str:
        """Query and chunk."""
        return f"{self.query.query_id} {self.chunk_id}"


@dataclass(frozen=True, slots=True)
class SlotAnswer:
    """The judgments about a slot, the first judge's first; none if the slot is unjudged."""

    slot: Slot
    judgments: tuple[Judgment, ...] = ()
    failures: tuple[Failure, ...] = ()
    limit: str | None = None


@dataclass(slots=True)
class PanelAnswers:
    """All answers, in the order of asking."""

    slots: list[SlotAnswer] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    limit: str | None = None

    def add(self, *answers: SlotAnswer) -> None:
        """Add answers about further slots."""
        for answer in answers:
            self.slots.append(answer)
            self.failures.extend(answer.failures)
            self.limit = self.limit or answer.limit

    def pairs(self) -> dict[tuple[str, str], tuple[Judgment, ...]]:
        """Return the judgments of each pair of the pool."""
        graded = (item for item in self.slots if item.slot.stage == GRADING)
        return {(item.slot.query.query_id, item.slot.chunk_id): item.judgments for item in graded}

    def checks(self) -> dict[str, tuple[Judgment, ...]]:
        """Return the judgments of each query's source, made with the answer in sight."""
        return {item.slot.query.query_id: item.judgments for item in self.slots if item.slot.check}

    def sources(self) -> list[Relevance]:
        """Return the first judge's grade of each query's source: shown with the answer if there is one, else alone."""
        shown: dict[str, list[Relevance]] = {}
        alone: dict[str, list[Relevance]] = {}
        for item in self.slots:
            if item.slot.source and item.judgments:
                grades = shown if item.slot.check else alone
                grades.setdefault(item.slot.query.query_id, []).append(item.judgments[0].relevance)
        return [max(grades) for grades in (alone | shown).values()]

    def canaries(self) -> list[Judgment]:
        """Return the judgments of all canaries, no grade by thresholds that were set on the same pair.

        A judge by yes or no has thresholds that these pairs set. Graded by them, it would look better than it is: each
        half of the pairs is graded by the thresholds that the other half suggests.
        """
        judgments = [judgment for item in self.slots if item.slot.planted for judgment in item.judgments]
        known = self._known_pairs()
        grades: dict[Judgment, Relevance] = {}
        for pairs, held_out in zip(known, held_out_grades(*self.probabilities()), strict=True):
            grades.update(zip(pairs, held_out, strict=True))
        return [item.model_copy(update={"relevance": grades.get(item, item.relevance)}) for item in judgments]

    def probabilities(self) -> tuple[list[float], list[float]]:
        """Return the probabilities of yes about known answers, and about planted fakes."""
        answers, fakes = ([item.probability or 0.0 for item in pairs] for pairs in self._known_pairs())
        return answers, fakes

    def _known_pairs(self) -> tuple[list[Judgment], list[Judgment]]:
        """Return the judgments by yes or no of known answers (planted, then first sources), and of planted fakes."""
        planted = [item.judgments[0] for item in self.slots if item.slot.planted and item.judgments]
        sources: dict[str, Judgment] = {}
        for item in self.slots:
            if item.slot.source and item.judgments and len(sources) < SOURCES_FIRST:
                sources.setdefault(item.slot.query.query_id, item.judgments[0])
        answers = [item for item in planted if item.canary is Canary.EVIDENCE_ALONE] + [*sources.values()]
        fakes = [item for item in planted if item.canary in TRAPS]
        judged = [[item for item in pairs if item.probability is not None] for pairs in (answers, fakes)]
        return judged[0], judged[1]

    def findings(self, *, sources: Sequence[Relevance] = ()) -> Findings:
        """Return the limits that the judge checks crossed; the grades of ``sources`` count as well."""
        return findings(tally(self.canaries()), sources=sources, unanswered=self.unanswered_canaries().total())

    def unanswered_canaries(self) -> Counter[Canary]:
        """Return how many canaries of each kind were asked about without a usable reply."""
        return Counter(
            item.slot.planted.kind for item in self.slots if item.slot.planted and item.failures and not item.judgments
        )


def own_answers_missing(gold: GradableSet, judge: str) -> str | None:
    """Return why no answer of the set is known to be written by the judge's model, or None if there are some.

    Args:
        gold: The set.
        judge: The judge's model.
    """
    if not any(query.answer and query.evidence for query in gold.queries):
        return "the set holds no answers written by a model"
    if gold.manifest.model != judge:
        return f"the answers were written by {gold.manifest.model or 'no known model'}, not by the judge's model"
    return None


def slots_of(gold: GradableSet, pool: Pool, *, share: float, judge: str) -> list[Slot]:
    """Return the pairs to judge, query by query so that a cap leaves whole queries judged, judge checks mixed in.

    Args:
        gold: The set.
        pool: Its pool.
        share: How many judge checks there are per call (0.05 = 5 %).
        judge: The first judge's model.
    """
    by_query: dict[str, list[Slot]] = {}
    calls = 0
    for query in gold.queries:
        rows = [row for row in pool.pairs[query.query_id] if row.shared_from is None]
        slots = [Slot(query, row.chunk_id, source=row.origin is Origin.SOURCE) for row in rows]
        if query.answer and gold.sources[query.query_id]:
            slots.insert(0, Slot(query, query.chunk_id, source=True, check=True))
        by_query[query.query_id] = slots
        calls += len(slots)
    pooled = {query_id: {row.chunk_id for row in rows} for query_id, rows in pool.pairs.items()}
    own = own_answers_missing(gold, judge) is None
    kinds = [*CHECKS, Canary.EMPTY, *([Canary.OWN_ANSWER] if own else [])]
    count = how_many(calls, share, kinds=len(kinds))
    for canary in plant(gold.queries, count=count, chunks=gold.chunks, pooled=pooled.__getitem__, kinds=kinds):
        slots = by_query[canary.query.query_id]
        order = shuffled(canary.query.query_id, [slot.chunk_id for slot in slots] + [canary.chunk_id])
        slots.insert(max(1, order.index(canary.chunk_id)), Slot(canary.query, canary.chunk_id, planted=canary))
    return [slot for query in gold.queries for slot in by_query[query.query_id]]


class Question(NamedTuple):
    """What was asked whom: a pair, an assessor, the kind of judge check, and whether the answer was in sight."""

    query_id: str
    chunk_id: str
    assessor: str
    canary: Canary | None = None
    check: bool = False


Known = dict[Question, Judgment]


@dataclass(slots=True)
class _AskingState:
    """The answers so far, by the place of their slot, and the trial of the judge; None for no trial."""

    trial: Trial | None
    stops: bool
    answers: dict[int, SlotAnswer] = field(default_factory=dict)
    failures: int = 0
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
        answers = PanelAnswers([self.answers[position] for position in sorted(self.answers)])
        grades = answers.sources()
        refuted = clustered_share([grade is Relevance.UNRELATED for grade in grades], [1] * len(grades))
        query_ids = {item.slot.query.query_id for item in answers.slots if item.slot.source}
        settled = len(query_ids) == queries or (refuted is not None and refuted[0] > REFUTED_ABOVE)
        return bool(answers.findings(sources=grades if settled else ()).failed)

    def take_next(self, places: Iterator[int], answer: SlotAnswer) -> None:
        """Take in the answer about a slot.

        Args:
            places: Yields the place of the slot.
            answer: The answer.

        Raises:
            ModelUnavailable: Each of the first calls failed.
            ModelUnfit: The first replies are useless, and they do not belong to judge checks that end the asking.
        """
        self.answers[next(places)] = answer
        self.failures += len(answer.failures)
        self.judged = self.judged or bool(answer.judgments)
        if self.trial is not None and not answer.limit:
            failure = answer.failures[0] if answer.failures else None
            fault = FAULTS.get(failure.kind) if failure else None
            self.trial.take("" if answer.judgments else fault, failure)
            if not (self.stops and answer.slot.planted):
                self.trial.check()
        if self.failures >= MAX_FAILED_CALLS and not self.judged:
            last = answer.failures[-1].message
            raise ModelUnavailable(f"each of the first {self.failures} calls failed, the last: {last}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelCalls:
    """Asks a panel about slots; ``known`` are the judgments of an earlier grading.

    If ``tries`` is set, a few calls go ahead, and the judge checks before everything else. ``stops`` ends the asking if
    the judge fails them, or finds nothing in the first queries' own sources, which are asked about next.
    """

    text_of: Callable[[str], str]
    panel: Assessors
    concurrency: int
    advance: Callable[[int], None] = lambda _: None
    known: Known = field(default_factory=dict)
    tries: bool = False
    stops: bool = False

    async def ask(self, slots: Sequence[Slot]) -> PanelAnswers:
        """Return the answers about the slots, in their order; slots that were not asked about are unjudged.

        Raises:
            ModelUnavailable: No call can work now, or each of the first calls failed.
            ModelUnfit: The first replies are useless.
        """
        queries = dict.fromkeys(slot.query.query_id for slot in slots if not slot.planted)
        state = _AskingState(Trial("judge", "use another model") if self.tries else None, stops=self.stops)
        for places, may_end in self._turns(slots, list(queries)[:SOURCES_FIRST]):
            await bounded(
                self._work,
                [slots[position] for position in places],
                limit=self.concurrency,
                take=functools.partial(state.take_next, iter(places)),
                ahead=state.ahead,
            )
            if places and may_end and state.failed_checks(len(queries)):
                break
        answers = PanelAnswers()
        for position, slot in enumerate(slots):
            answers.add(state.answers.get(position, SlotAnswer(slot)))
        return answers

    def _turns(self, slots: Sequence[Slot], first_queries: Collection[str]) -> Iterator[tuple[list[int], bool]]:
        """Yield the places of the slots asked about at a time, and whether a judge that failed by then is given up.

        While the judge is on trial, the judge checks come first, then the sources of the first queries, then the rest.
        """
        places = range(len(slots))
        if not self.tries:
            yield list(places), False
            return
        checks = [position for position in places if slots[position].planted]
        yield checks, self.stops and self.panel.thresholds is None  # thresholds are set by sources as well
        sources: dict[str, int] = {}
        for position in places:
            if self.stops and slots[position].source and slots[position].query.query_id in first_queries:
                # The first slot of a source is the one with the answer in sight, if there is one.
                sources.setdefault(slots[position].query.query_id, position)
        yield sorted(sources.values()), self.stops
        yield sorted(set(places).difference(checks, sources.values())), False

    async def _work(self, slot: Slot) -> SlotAnswer:
        try:
            return await self._escalated(slot, self._find(slot, self.panel.first.assessor) or await self._first(slot))
        except CallFailed as error:
            return SlotAnswer(slot, failures=(_failure(slot.stage, slot, error),))
        except LimitReached as error:
            return SlotAnswer(slot, limit=str(error))
        except NotAsked:
            return SlotAnswer(slot)
        finally:
            self.advance(1)

    async def _first(self, slot: Slot) -> Judgment:
        return await replace(self.panel.first, stage=slot.stage).judge(self._pair(slot))

    async def _escalated(self, slot: Slot, first: Judgment) -> SlotAnswer:
        """Ask the other judges about a pair in doubt, until most of the panel agree whether it is relevant.

        Judge checks test the first judge alone.
        """
        if slot.planted:
            return SlotAnswer(slot, (first,))
        names = [judge.assessor for judge in self.panel.others]
        judgments = {name: judgment for name in names if (judgment := self._find(slot, name)) is not None}
        failures = []
        for judge in self.panel.others:
            if judge.assessor in judgments:
                continue
            if not self.panel.everybody and not self._is_open(slot, first, list(judgments.values())):
                break
            try:
                judgments[judge.assessor] = await judge.judge(self._pair(slot))
            except CallFailed as error:
                failures.append(_failure(ESCALATION, slot, error))
        return SlotAnswer(slot, (first, *(judgments[name] for name in names if name in judgments)), tuple(failures))

    def _is_open(self, slot: Slot, first: Judgment, others: list[Judgment]) -> bool:
        return self._in_doubt(slot, first) and not of_one_mind([first, *others], 1 + len(self.panel.others))

    @staticmethod
    def _in_doubt(slot: Slot, first: Judgment) -> bool:
        if slot.check:
            return first.relevance < RELEVANT or first.capped or first.flag is not Flag.NONE
        return escalates(first, source=slot.source)

    def _pair(self, slot: Slot) -> Pair:
        return Pair(
            query_id=slot.query.query_id,
            chunk_id=slot.chunk_id,
            query=slot.query.alone,
            passage=slot.planted.text if slot.planted else self.text_of(slot.chunk_id),
            answer=slot.query.answer if slot.check else None,
            canary=slot.planted.kind if slot.planted else None,
        )

    def is_known(self, slot: Slot) -> bool:
        """Whether an earlier grading has the first judgment of a slot."""
        return self._find(slot, self.panel.first.assessor) is not None

    def _find(self, slot: Slot, assessor: str) -> Judgment | None:
        kind = slot.planted.kind if slot.planted else None
        return self.known.get(Question(slot.query.query_id, slot.chunk_id, assessor, kind, slot.check))


def by_key(judgments: Iterable[Judgment], *, check: bool = False) -> Known:
    """Return judgments by what was asked, without those that near-duplicates share.

    Args:
        judgments: The judgments.
        check: Whether they were made with the answer in sight.
    """
    own = (item for item in judgments if item.shared_from is None)
    return {Question(item.query_id, item.chunk_id, item.assessor, item.canary, check): item for item in own}


def _failure(stage: str, slot: Slot, error: CallFailed) -> Failure:
    return Failure(stage=stage, item=slot.name, kind=error.kind, message=str(error))


_log = logging.getLogger(__name__)

_ORDER = (CanaryVerdict.PASSED, CanaryVerdict.WARNING, CanaryVerdict.FAILED, CanaryVerdict.NOT_ASKED)
"""Verdicts, the best first. A cap may have ended the asking before anything was answered."""
_ROUND = 5
"""Judge checks between two looks at whether the written grades have failed already: one of each kind."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The asking with the judge that was chosen, its pace, and a line that says why it was chosen."""

    asking: PanelCalls
    seconds_a_call: float | None = None
    """Seconds from one answer of the judge checks to the next, None if all came from the store."""
    line: str = ""


class _Pace:
    """Measures how fast a panel answers from now on; answers of the store do not count."""

    def __init__(self, panel: Assessors) -> None:
        self._panel = panel
        self._started = time.monotonic()
        self._before = self._calls()

    def _calls(self) -> int:
        speed = self._panel.traffic().speed if self._panel.traffic else None
        return speed.calls if speed else 0

    def seconds_a_call(self) -> float | None:
        """Return the seconds from answer to answer, None if there was none."""
        calls = self._calls() - self._before
        return (time.monotonic() - self._started) / calls if calls else None


async def choose_judge(asking: PanelCalls, slots: Sequence[Slot], *, must: bool = False) -> Choice:
    """Return the way of judging that makes fewer errors on the judge checks.

    Written grades are tried first: a judge that passes with them says more, and its checks are part of the grading
    anyway. Asked for yes or no, the judge answers with one token, and its thresholds are set by the checks and the
    first sources; its errors are counted with the thresholds of the other half of the pairs (`PanelAnswers.canaries`).

    Args:
        asking: How the panel is asked; its judges grade in writing, unless ``must``.
        slots: The pairs of the grading, with its judge checks.
        must: Whether yes or no was asked for.

    Raises:
        ModelUnfit: Yes or no was asked for, and the server does not say how likely they are.
    """
    checks = [slot for slot in slots if slot.planted]
    written = Findings()
    in_writing = Choice(asking)
    if not must:
        pace = _Pace(asking.panel)
        checked = await _in_writing(asking, checks)
        known = asking.known | by_key(checked.canaries())
        in_writing = Choice(replace(asking, known=known), pace.seconds_a_call())
        written = checked.findings()
        if written.verdict in {CanaryVerdict.PASSED, CanaryVerdict.NOT_ASKED} or checked.limit:
            return in_writing
    pace = _Pace(asking.panel)
    judge = replace(asking, panel=asking.panel.by_yes_no(Thresholds()), tries=False, stops=False)
    answers = await judge.ask(checks[:1])
    if any(failure.kind == NO_PROBABILITY for failure in answers.failures):
        if must:
            raise ModelUnfit("this model cannot judge by yes or no: its server does not say how likely they are")
        return in_writing
    answers.add(*(await judge.ask([*checks[1:], *_first_sources(slots)])).slots)
    by_yes_no = answers.findings()
    _log.info("judge checks: in writing %s, by yes or no %s", written.verdict.value, by_yes_no.verdict.value)
    if not must and _ORDER.index(by_yes_no.verdict) >= _ORDER.index(written.verdict):
        return in_writing
    failed = by_yes_no.verdict is CanaryVerdict.FAILED
    thresholds = Thresholds() if failed else thresholds_for(*answers.probabilities())
    line = f"The model judges by how likely yes is: judge checks {by_yes_no.verdict.value}"
    if not must:
        line += f", in writing {written.verdict.value} ({[*written.failed, *written.warnings][0]})"
    panel = asking.panel.by_yes_no(thresholds)
    return Choice(replace(asking, panel=panel), pace.seconds_a_call(), f"{line}.")


async def _in_writing(asking: PanelCalls, checks: Sequence[Slot]) -> PanelAnswers:
    """Ask the judge checks until no reply of a round can be used, or more fakes are accepted than may be of all."""
    answers = PanelAnswers()
    fakes = sum(slot.planted is not None and slot.planted.kind in TRAPS for slot in checks)
    for start in range(0, len(checks), _ROUND):
        more = await asking.ask(checks[start : start + _ROUND])
        answers.add(*more.slots)
        counts = tally(answers.canaries())
        accepted = sum(counts.get(kind, (0, 0))[1] for kind in TRAPS)
        unusable = not any(item.judgments for item in more.slots)
        if answers.limit or unusable or accepted > FAIL_ABOVE * fakes:
            break
    return answers


def _first_sources(slots: Sequence[Slot]) -> Iterator[Slot]:
    """Yield a source of each of the first queries: passages that are known to answer."""
    seen: set[str] = set()
    for slot in slots:
        if slot.source and slot.query.query_id not in seen and len(seen) < SOURCES_FIRST:
            seen.add(slot.query.query_id)
            yield slot
