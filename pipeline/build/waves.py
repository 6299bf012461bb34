"""Draw queries until the target is met: waves of chunks, whose queries are generated, checked and rewritten once.

The order of the chunks decides what is kept, never the order in which answers arrive: a wave is worked on with
bounded concurrency, then judged in drawing order. How large the next wave is depends on results alone.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from goldbench.pipeline.build.drawn_queries import LIMIT, ChunkResult, Drawn, Outcome, failure_of, rejection, stand_in
from goldbench.pipeline.build.first_replies import FAULTS, Trial, fault_of
from goldbench.pipeline.build.kind_counts import PassageKinds
from goldbench.pipeline.build.level_shares import DIFFICULTY, LevelShares
from goldbench.pipeline.errors import CallFailed, LimitReached, ModelUnavailable, NotAsked
from goldbench.pipeline.ports import Brief, Critics, Proposal, QueryGenerator, Stored
from goldbench.pipeline.stages.check import CheckContext, Finding, SetChecks, accepted, check_candidate
from goldbench.pipeline.stages.check.overlap import overlap
from goldbench.pipeline.stages.critique import GOOD
from goldbench.schemas.corpus import Chunk
from goldbench.schemas.manifest import Failure
from goldbench.schemas.query import Candidate, Level, QueryKind, Rejection

A = TypeVar("A")
B = TypeVar("B")

LOWEST_EXPECTED_YIELD = 0.25
"""Queries per chunk that a wave counts on at least: it has at most four times as many chunks as queries are missing."""

MAX_FAILED_CALLS = 50
"""Stop after this many failed calls when none succeeded."""
MAX_REJECTIONS = 100
"""Stop after this many rejected queries of a model when none was accepted."""

IN_OTHER_WORDS = frozenset({"off-topic", "no-subject"})
"""Rules for usual wordings. A query that is to be easy or hard to find is worded for that."""
FOREIGN = "foreign-language"
"""The rule of chunks in a language that the model does not know."""
BROKEN_BY_GOOD_QUERIES = frozenset({"copied-run", "overlap", "unlikely"})
"""Rules that many a good query breaks; one of people's questions in five copies. Such queries fill a set at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Draws queries from chunks.

    Args:
        chunks: The chunks of the corpus.
        generator: Writes queries.
        brief: Says what to ask about a chunk.
        cluster_of: Returns the positions of a chunk's near-duplicates.
        critics: Score queries, if asked to.
        concurrency: How many chunks are worked on at once.
        advance: Is told when a chunk is done.
        trial: Ends the drawing if the first replies of the model are useless; None for no trial.
        kinds: Says what to ask about each chunk and counts what is there; None leaves it to ``brief``.
        checks: Compare queries with those of the set so far; None for an empty set.
        levels: Say how hard the query about each chunk should be; None leaves it open.
        has_kept_queries: Allow zero accepted queries, because the set already has some.
    """

    chunks: Stored[Chunk]
    generator: QueryGenerator
    brief: Callable[[Chunk], Brief]
    cluster_of: Callable[[int], Sequence[int]]
    critics: Critics | None = None
    concurrency: int
    advance: Callable[[int], None]
    trial: Trial | None = None
    kinds: PassageKinds | None = None
    checks: SetChecks | None = None
    levels: LevelShares | None = None
    has_kept_queries: bool = False
    _asked: dict[str, QueryKind] = field(default_factory=dict, init=False)
    _levels_asked: dict[str, Level] = field(default_factory=dict, init=False)

    async def draw(self, order: npt.NDArray[np.integer[Any]], *, target: int, per_chunk: int) -> Drawn:
        """Return at most ``target`` queries, drawn from the chunks at ``order``, first ones first.

        Args:
            order: The positions of the chunks, in drawing order.
            target: How many queries are wanted.
            per_chunk: How many queries a chunk is expected to give, before the first wave.

        Raises:
            ModelUnavailable: No call can work now, or every call failed; the answers so far are in the store.
            ModelUnfit: The first replies are useless.
        """
        drawn = Drawn()
        checks = self.checks or SetChecks(target=target)
        while drawn.accepted < target and drawn.chunks_drawn < len(order) and drawn.limit is None:
            rate = drawn.accepted / drawn.chunks_drawn if drawn.chunks_drawn else per_chunk
            missing = target - drawn.accepted
            size = math.ceil(missing / max(rate, LOWEST_EXPECTED_YIELD))
            wave = [int(position) for position in order[drawn.chunks_drawn : drawn.chunks_drawn + size]]
            self._plan(wave)
            await self._draw_wave(wave, drawn, checks, target)
            self._reclaim_levels(drawn, checks, target)
        self._close_levels(drawn, checks, target)
        self._close_reserve(drawn, checks, target)
        if self.trial is not None and not drawn.accepted and drawn.limit is None:
            self.trial.close()
        if drawn.chunks_drawn and drawn.chunks_failed == drawn.chunks_drawn and drawn.limit is None:
            raise ModelUnavailable(f"each of the {drawn.chunks_drawn} chunks failed, {_last(drawn)}")
        return drawn

    def _plan(self, wave: Sequence[int]) -> None:
        """Decide what is asked about each chunk of a wave, so that kinds and levels get their number."""
        chunk_ids = [self.chunks.at(position).chunk_id for position in wave]
        if self.kinds is not None:
            self.kinds.drop_hopeless()
            self._asked.update(self.kinds.asked(chunk_ids))
        if self.levels is not None:
            self._levels_asked.update(self.levels.asked(chunk_ids))

    def _reclaim_levels(self, drawn: Drawn, checks: SetChecks, target: int) -> None:
        """Give up the levels that are not reached, and take candidates that were set aside for the room this makes."""
        if self.levels is None:
            return
        self.levels.drop_hopeless()
        for outcome in self.levels.taken_back():
            if drawn.accepted >= target:
                self.levels.aside.append(outcome)
            else:
                self._record(drawn, outcome, checks, target, last=True)

    def _close_levels(self, drawn: Drawn, checks: SetChecks, target: int) -> None:
        """Accept deferred candidates up to the target; reject the rest."""
        if self.levels is not None:
            self.levels.open()
            self._reclaim_levels(drawn, checks, target)
            self.levels.reject_rest(drawn)

    def _close_reserve(self, drawn: Drawn, checks: SetChecks, target: int) -> None:
        """Accept first wordings that copy up to the target, and reject the rest for what is wrong with them."""
        reserve = sorted(drawn.reserve, key=lambda outcome: -(outcome.proposed.mean_logprob or 0.0))
        drawn.reserve = []
        for outcome in reserve:
            finding = outcome.finding or outcome.first_finding
            if finding is not None and drawn.accepted >= target:
                drawn.rejections.append(rejection(finding, outcome.candidate))
                continue
            first = Outcome(outcome.position, outcome.brief, outcome.proposed, outcome.proposed)
            self._record(drawn, first, checks, target, last=True)

    def _stop_if_hopeless(self, drawn: Drawn) -> None:
        """Stop when more chunks would only cost more.

        Raises:
            ModelUnavailable: Each of the first chunks failed, or every query a model wrote about them was rejected.
        """
        if drawn.chunks_failed == drawn.chunks_drawn == MAX_FAILED_CALLS:
            raise ModelUnavailable(f"each of the first {MAX_FAILED_CALLS} chunks failed, {_last(drawn)}")
        if self.has_kept_queries or drawn.accepted or drawn.reserve:
            return
        if len(drawn.rejections) >= MAX_REJECTIONS and self.generator.evidence_level == "model":
            rule, count = Counter(item.filter for item in drawn.rejections).most_common(1)[0]
            raise ModelUnavailable(
                f"no query from the first {drawn.chunks_drawn} chunks was accepted, most often because of the rule "
                f"{rule} ({count} times); every answer is in the store: use another model or looser constraints"
            )

    async def _draw_wave(self, wave: Sequence[int], drawn: Drawn, checks: SetChecks, target: int) -> None:
        """Generate and check a wave; candidates are compared with the set in drawing order, as soon as possible."""
        again: list[Outcome] = []

        def take(result: ChunkResult) -> None:
            self._try(result)
            outcomes = self._count(drawn, result)
            again.extend(item for item in outcomes if not self._record(drawn, item, checks, target, last=False))
            if not again:
                self._stop_if_hopeless(drawn)

        trial = self.trial
        ahead = None if trial is None else lambda: trial.next
        await bounded(self.attempt, wave, limit=self.concurrency, take=take, ahead=ahead)
        await bounded(
            self._reword,
            again,
            limit=self.concurrency,
            take=lambda outcome: self._record(drawn, outcome, checks, target, last=True),
        )

    def _try(self, result: ChunkResult) -> None:
        """Take the result of a chunk into the trial; a query of another generator says nothing about the model."""
        if self.trial is None or (not result.outcomes and isinstance(result.end, LimitReached)):
            return
        if not result.outcomes and isinstance(result.end, Failure):
            self.trial.take(FAULTS.get(result.end.kind), result.end)
        elif not result.outcomes:
            self.trial.take(None)
        else:
            own = [item for item in result.outcomes if item.planned or item.proposed.generator == self.generator.name]
            faults = [fault_of(item.finding, (item.proposed, item.candidate), item.brief.chunk) for item in own]
            self.trial.take(None if not own else "" if not all(faults) else faults[0])
        self.trial.check()

    async def attempt(self, position: int) -> ChunkResult:
        """Generate and check the candidates of one chunk; if none may be taken, the generator may propose others."""
        brief = self._brief(position)
        chunk_id = brief.chunk.chunk_id
        outcomes: list[Outcome] = []
        try:
            proposal = await self.generator.propose(brief)
            outcomes += await self._judged(position, brief, proposal)
            while proposal.goes_on and all(map(self._is_lost, outcomes)):
                brief = replace(brief, attempt=brief.attempt + 1)
                proposal = await self.generator.propose(brief)
                outcomes += await self._judged(position, brief, proposal)
        except CallFailed as error:
            return ChunkResult(outcomes, failure_of("generate", chunk_id, error))
        except LimitReached as error:
            return ChunkResult(outcomes, error)
        except NotAsked:
            outcomes += await self._planned(position, brief)
        finally:
            self.advance(1)
        if not outcomes:
            reason = proposal.skip_reason or "no query proposed"
            rule = FOREIGN if proposal.is_foreign else "skipped"
            return ChunkResult(end=Rejection(chunk_id=chunk_id, filter=rule, reason=reason))
        return ChunkResult(outcomes)

    async def _judged(self, position: int, brief: Brief, proposal: Proposal) -> list[Outcome]:
        """Check the candidates of a proposal, and reword those whose wording can be mended."""
        outcomes = [Outcome(position, brief, candidate, candidate) for candidate in proposal.candidates]
        for outcome in outcomes:
            outcome.finding = self._check(outcome)
            await self._rewrite(outcome)
            await self._steer(outcome)
            await self._criticise(outcome)
        return outcomes

    def _brief(self, position: int) -> Brief:
        brief = self.brief(self.chunks.at(position))
        if (level := self._levels_asked.get(brief.chunk.chunk_id)) is not None:
            brief = replace(brief, level=level)
        kind = self._asked.get(brief.chunk.chunk_id)
        return brief if kind is None else replace(brief, assignment=brief.assignment.model_copy(update={"kind": kind}))

    async def _planned(self, position: int, brief: Brief) -> list[Outcome]:
        """Return stand-ins for the queries that one reply would hold, and ask the critics about each."""
        candidates = [stand_in(brief, number) for number in range(brief.constraints.per_chunk)]
        outcomes = [Outcome(position, brief, candidate, candidate, planned=True) for candidate in candidates]
        for outcome in outcomes:
            await self._criticise(outcome)
        return outcomes

    def _check(self, outcome: Outcome) -> Finding | None:
        chunk, candidate = outcome.brief.chunk, outcome.candidate
        if candidate.masked and len(self.cluster_of(outcome.position)) > 1:
            return Finding("held-out", "the held-out words also stand in a near-duplicate of the chunk", None, False)
        without = () if outcome.brief.level is None else IN_OTHER_WORDS
        return check_candidate(candidate, CheckContext.of(chunk, candidate, outcome.brief), without=without)

    async def _rewrite(self, outcome: Outcome) -> None:
        """Reword a candidate once if its finding asks for it; a wording with other evidence is dropped."""
        finding = outcome.finding
        if finding is None or not finding.rewrite or outcome.candidate.first_text is not None:
            return
        outcome.first_finding = finding
        try:
            rewritten = await self.generator.rewrite(outcome.brief, outcome.candidate, finding.complaint)
        except (CallFailed, LimitReached) as error:
            outcome.failure = failure_of("rewrite", outcome.brief.chunk.chunk_id, error)
            return
        except NotAsked:
            outcome.candidate, outcome.finding, outcome.planned = stand_in(outcome.brief, 0), None, True
            return
        if rewritten is not None and _keeps_evidence(rewritten, outcome.candidate):
            outcome.candidate = rewritten.model_copy(update={"first_text": outcome.candidate.text})
            outcome.finding = self._check(outcome)

    async def _steer(self, outcome: Outcome) -> None:
        """Reword a candidate once if it is easier than asked for and shares many words; a worse wording is dropped."""
        if self.levels is None or outcome.finding is not None or outcome.failure is not None or outcome.planned:
            return
        first, context = outcome.candidate, CheckContext.of(outcome.brief.chunk, outcome.candidate, outcome.brief)
        complaint = self.levels.complaint(outcome, overlap(first.text, context.indexed_text, context.language))
        if complaint is None:
            return
        outcome.finding = Finding(DIFFICULTY, complaint, rewrite=True)
        await self._rewrite(outcome)
        if outcome.failure is None and not outcome.planned and outcome.finding is not None:
            outcome.candidate, outcome.finding = first, None

    async def _reword(self, outcome: Outcome) -> Outcome:
        """Reword a candidate that a quota rejected; check and criticise it like the first wording."""
        await self._rewrite(outcome)
        await self._criticise(outcome)
        return outcome

    async def _criticise(self, outcome: Outcome) -> None:
        """Ask the critics about a candidate that passed the mechanical checks."""
        if self.critics is None or outcome.finding is not None or outcome.failure is not None:
            return
        try:
            scores = dict(await self.critics.judge(outcome.brief, outcome.candidate))
        except (CallFailed, LimitReached) as error:
            outcome.failure = failure_of("critic", outcome.brief.chunk.chunk_id, error)
            return
        except NotAsked:
            return
        outcome.candidate = outcome.candidate.model_copy(update={"scores": scores})
        low = [name for name, score in scores.items() if score < GOOD]
        if low:
            score = scores[low[0]]
            outcome.finding = Finding(f"critic-{low[0]}", f"scored {score} of 5, {GOOD} are needed", float(score))

    def _count(self, drawn: Drawn, result: ChunkResult) -> list[Outcome]:
        """Count the result of one chunk and return its candidates' outcomes."""
        outcomes = result.outcomes
        end = result.end
        if isinstance(end, LimitReached):
            drawn.limit = str(end)
            if not outcomes:
                return []
        drawn.chunks_drawn += 1
        if isinstance(end, Failure):
            drawn.chunks_failed += not outcomes
            drawn.failures.append(end)
        if isinstance(end, Rejection):
            drawn.chunks_skipped += 1
            drawn.rejections.append(end)
        if not outcomes:
            return []
        drawn.chunks_with_candidates += 1
        drawn.candidates.extend(outcome.proposed for outcome in outcomes)
        if self.levels is not None:
            self.levels.tried(outcome.brief.level for outcome in outcomes)
        if self.kinds is not None:
            self.kinds.tried(outcome.candidate for outcome in outcomes)
        return outcomes

    def _count_kept(self, outcome: Outcome) -> None:
        if self.kinds is not None:
            self.kinds.count(outcome.candidate)
        if self.levels is not None:
            self.levels.count(outcome)

    def _record(self, drawn: Drawn, outcome: Outcome, checks: SetChecks, target: int, *, last: bool) -> bool:
        """Record the candidate; return False if it may be rewritten."""
        candidate, chunk = outcome.candidate, outcome.brief.chunk
        if outcome.failure is not None:
            if self._may_fall_back(outcome):
                drawn.reserve.append(outcome)
            drawn.failures.append(outcome.failure)
            drawn.limit = drawn.limit or (outcome.failure.message if outcome.failure.kind == LIMIT else None)
            return True
        if outcome.finding is None and drawn.accepted >= target:
            outcome.finding = Finding("surplus", f"the target of {target} queries was already met", None, False)
        if outcome.finding is None and self.kinds is not None:
            outcome.finding = self.kinds.refuse(candidate)
        if outcome.finding is None and self.levels is not None and not self.levels.keeps(outcome):
            return True
        if outcome.finding is None and outcome.planned:
            drawn.planned += 1
            self._count_kept(outcome)
            return True
        context = CheckContext.of(chunk, candidate, outcome.brief)
        if outcome.finding is None:
            outcome.finding = checks.accept(candidate, context)
            if outcome.finding and outcome.finding.rewrite and not last and candidate.first_text is None:
                return False
        if outcome.finding is None:
            drawn.queries.append(accepted(candidate, context))
            drawn.positions.append((outcome.position,))
            self._count_kept(outcome)
        elif self._may_fall_back(outcome):
            drawn.reserve.append(outcome)
        else:
            drawn.rejections.append(rejection(outcome.finding, candidate))
        return True

    def _is_lost(self, outcome: Outcome) -> bool:
        """Return whether a candidate is rejected for good."""
        return outcome.finding is not None and not self._may_fall_back(outcome)

    def _may_fall_back(self, outcome: Outcome) -> bool:
        """Return whether the first wording may fill the set at the end; one that critics have not read may not."""
        finding = outcome.first_finding or outcome.finding
        return self.critics is None and finding is not None and finding.filter in BROKEN_BY_GOOD_QUERIES


def _keeps_evidence(rewritten: Candidate, first: Candidate) -> bool:
    """Return whether a rewritten query still asks about the same words; a simulated query is drawn anew."""
    if rewritten.recipe is not None:
        return True
    return any(item.meets(earlier) for item in rewritten.evidence for earlier in first.evidence)


def _last(drawn: Drawn) -> str:
    return f"the last: {drawn.failures[-1].message}"


async def bounded(
    work: Callable[[A], Awaitable[B]],
    items: Sequence[A],
    *,
    limit: int,
    take: Callable[[B], object],
    ahead: Callable[[], int | None] | None = None,
) -> None:
    """Do the work with at most ``limit`` items under way, and hand the results over in the order of the items.

    A result is handed over as soon as it and all before it are there. The first exception ends the others and is
    raised as it is.

    Args:
        work: Works on one item.
        items: The items.
        limit: How many items are worked on at once, 1 or more.
        take: Takes each result.
        ahead: Returns how many items may be begun beyond those that were handed over: None for no limit, 0 to begin no
            other item from then on. It is asked again after each hand-over.
    """
    early: dict[int, B] = {}
    waiting, due, handed_over = iter(enumerate(items)), 0, asyncio.Event()

    async def worker() -> None:
        nonlocal due
        for index, item in waiting:
            while ahead is not None and (most := ahead()) is not None and index >= due + most:
                if not most:
                    return
                await handed_over.wait()
            early[index] = await work(item)
            while due in early:
                take(early.pop(due))
                due += 1
            handed_over.set()
            handed_over.clear()

    workers: list[asyncio.Future[None]] = []
    try:
        for _ in range(min(limit, len(items))):
            workers.append(asyncio.ensure_future(worker()))
            await asyncio.sleep(0)  # one at a time, so that the first call is under way while the next is prepared
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
