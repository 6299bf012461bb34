"""Carry out tasks: queries are written, checked, put into other words once, and asked about where words decide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from goldbench.config import KINDS
from goldbench.errors import CallFailed, LimitReached, NotAsked
from goldbench.generate.answer_search import AnswerSearch
from goldbench.generate.drawn_queries import DrawnCandidate, Task, TaskResult, failure_of, stand_in
from goldbench.ports import Proposal, QueryGenerator
from goldbench.records.corpus import Chunk
from goldbench.records.query import Candidate, QueryKind, Rejection
from goldbench.records.relevance import RELEVANT
from goldbench.stages.check import (
    ENOUGH,
    CheckContext,
    Finding,
    check_candidate,
    check_conversation,
    check_joined,
    query_id,
)
from goldbench.stages.generate import ModelKindWriter
from goldbench.stages.judge import ManyJudge, Pair, YesNoJudge

FOREIGN = "foreign-language"
"""The rule of chunks in a language that the model does not know."""
MOMENT = "moment"
"""The rule that a query breaks if it should name a date or a version and does not."""
SELF_CONTAINED = "self-contained"
"""The rule that a conversation breaks if its last question needs no earlier one."""
ANSWERED = "answered"
"""The rule that a query breaks if a passage helps to answer it although nothing should."""
_BROKEN_BY_GOOD_QUERIES = frozenset({"copied-run", "overlap", "unlikely"})
"""Rules that many a good query breaks; one of people's questions in five copies. Such queries fill a set at the end."""
_NOT_OF_A_PASSAGE = frozenset({"evidence", "overlap"})
"""Rules that do not apply to a query that no passage answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Carries out tasks.

    Args:
        generator: Writes queries about one passage.
        cluster_of: Returns the positions of a chunk's near-duplicates.
        kind_writer: Writes the kinds beyond one passage; None if nobody can.
        judge: Judges the passages that ``search`` finds for queries that nothing should answer.
        advance: Is told when a task is done.
    """

    generator: QueryGenerator
    cluster_of: Callable[[int], Sequence[int]] = lambda position: (position,)
    kind_writer: ModelKindWriter | None = None
    judge: ManyJudge | YesNoJudge | None = None
    search: AnswerSearch | None = None
    advance: Callable[[int], None] = lambda _: None

    async def carry_out(self, task: Task) -> TaskResult:
        """Write and check the queries of a task."""
        try:
            return await (self._ask_about_passage(task) if task.kind in KINDS else self._ask_beyond_passage(task))
        finally:
            self.advance(1)

    def may_fall_back(self, outcome: DrawnCandidate) -> bool:
        """Return whether the first wording may fill the set at the end."""
        finding = outcome.first_finding or outcome.finding
        return finding is not None and outcome.task.kind in KINDS and finding.filter in _BROKEN_BY_GOOD_QUERIES

    async def reword(self, outcome: DrawnCandidate) -> DrawnCandidate:
        """Reword a candidate that the set rejected, and check it like the first wording."""
        await self._rewrite(outcome)
        return outcome

    async def _ask_about_passage(self, task: Task) -> TaskResult:
        """Ask for queries about one passage; if none may be taken, the generator may propose others."""
        outcomes: list[DrawnCandidate] = []
        try:
            proposal = await self.generator.propose(task.brief)
            outcomes += await self._checked(task, proposal)
            while proposal.goes_on and all(map(self._is_lost, outcomes)):
                task = replace(task, brief=replace(task.brief, attempt=task.brief.attempt + 1))
                proposal = await self.generator.propose(task.brief)
                outcomes += await self._checked(task, proposal)
        except (CallFailed, LimitReached) as error:
            return TaskResult(task, outcomes, failure_of("generate", task.chunks[0].chunk_id, error))
        except NotAsked:
            planned = [_planned(task, number) for number in range(task.brief.constraints.per_chunk)]
            return TaskResult(task, outcomes + planned)
        if not outcomes:
            return _skipped(task, proposal.skip_reason, FOREIGN if proposal.is_foreign else "skipped")
        return TaskResult(task, outcomes)

    def _is_lost(self, outcome: DrawnCandidate) -> bool:
        """Return whether a candidate is rejected for good."""
        return outcome.finding is not None and not self.may_fall_back(outcome)

    async def _checked(self, task: Task, proposal: Proposal) -> list[DrawnCandidate]:
        """Check the candidates of a proposal, and reword those whose wording can be mended."""
        outcomes = [DrawnCandidate(task, candidate, candidate) for candidate in proposal.candidates]
        for outcome in outcomes:
            outcome.finding = self._check(outcome)
            await self._rewrite(outcome)
        return outcomes

    def _check(self, outcome: DrawnCandidate) -> Finding | None:
        task = outcome.task
        return check_candidate(outcome.candidate, task.context())

    async def _rewrite(self, outcome: DrawnCandidate) -> None:
        """Reword a candidate once if its finding asks for it; a wording with other evidence is dropped."""
        finding = outcome.finding
        if finding is None or not finding.rewrite or outcome.candidate.first_text is not None:
            return
        outcome.first_finding = finding
        try:
            rewritten = await self.generator.rewrite(outcome.task.brief, outcome.candidate, finding.complaint)
        except (CallFailed, LimitReached) as error:
            outcome.failure = failure_of("rewrite", outcome.candidate.chunk_id, error)
            return
        except NotAsked:
            outcome.candidate = stand_in(outcome.task.brief, 0)
            outcome.finding = None
            outcome.planned = True
            return
        if rewritten is not None and _keeps_evidence(rewritten, outcome.candidate):
            outcome.candidate = rewritten.model_copy(update={"first_text": outcome.candidate.text})
            outcome.finding = self._check(outcome)

    async def _ask_beyond_passage(self, task: Task) -> TaskResult:
        """Ask for a query of a kind beyond one passage, and ask about it what words alone do not decide."""
        try:
            written = await self._write(task)
        except (CallFailed, LimitReached) as error:
            return TaskResult(task, end=failure_of("generate", task.chunks[0].chunk_id, error))
        except NotAsked:
            outcome = _planned(task)
        else:
            if isinstance(written, str):
                return _skipped(task, written)
            outcome = DrawnCandidate(task, written, written, _check_beyond_passage(task, written))
        if outcome.finding is None:
            await self._verify(outcome)
        return TaskResult(task, [outcome])

    def _write(self, task: Task) -> Awaitable[Candidate | str]:
        assert self.kind_writer is not None
        if task.kind is QueryKind.TEMPORAL:
            return self.kind_writer.date(task.brief, task.moment)
        if task.kind is QueryKind.CONVERSATIONAL:
            return self.kind_writer.converse(task.brief)
        if task.kind is QueryKind.UNANSWERABLE:
            return self.kind_writer.lead_astray(task.brief, task.chunks)
        return self.kind_writer.join(task.brief, task.chunks)

    async def _verify(self, outcome: DrawnCandidate) -> None:
        """Ask one question after another about a candidate, until one speaks against it."""
        for question in self._questions(outcome):
            try:
                outcome.finding = await question
            except (CallFailed, LimitReached) as error:
                outcome.failure = failure_of("check", outcome.candidate.chunk_id, error)
                return
            except NotAsked:
                outcome.planned = True
            if outcome.finding is not None:
                return

    def _questions(self, outcome: DrawnCandidate) -> Iterator[Awaitable[Finding | None]]:
        """Yield the requests that decide whether a query is of its kind."""
        task = outcome.task
        text = outcome.candidate.text
        if task.kind is QueryKind.CONVERSATIONAL:
            yield self._needs_history(text)
        elif task.kind is QueryKind.UNANSWERABLE:
            assert self.search is not None
            for passages in self.search.groups(text, first=[chunk.chunk_id for chunk in task.chunks]):
                yield self._has_no_answer(outcome, passages)
        elif task.kind is not QueryKind.TEMPORAL:
            for number, chunk in enumerate(task.chunks, 1):
                yield self._needs_more_than(chunk, f"passage {number} of {len(task.chunks)}", text)

    async def _needs_history(self, text: str) -> Finding | None:
        assert self.kind_writer is not None
        if not await self.kind_writer.understood(text):
            return None
        return Finding(SELF_CONTAINED, "its last question can be understood without the earlier ones")

    async def _needs_more_than(self, chunk: Chunk, name: str, text: str) -> Finding | None:
        assert self.kind_writer is not None
        return Finding(ENOUGH, f"{name} answers it alone") if await self.kind_writer.enough(text, chunk) else None

    async def _has_no_answer(self, outcome: DrawnCandidate, passages: Mapping[str, str]) -> Finding | None:
        """Judge passages that may answer a query which nothing should answer.

        Raises:
            CallFailed: The reply leaves out a passage: a query is accepted only if all are judged.
        """
        assert self.judge is not None
        text = outcome.candidate.text
        pairs = [Pair(query_id(text), chunk_id, text, passage) for chunk_id, passage in passages.items()]
        replies = await self.judge.judge_each(pairs)
        judgments = [judgment for judgment in replies if judgment is not None]
        outcome.judgments += tuple(judgments)
        highest = max(judgments, key=lambda judgment: judgment.relevance, default=None)
        if highest is not None and highest.relevance >= RELEVANT:
            reason = f"passage {highest.chunk_id} was graded {highest.relevance:d} for it"
            return Finding(ANSWERED, reason, float(highest.relevance))
        if any(judgment.capped for judgment in judgments):
            return Finding(ANSWERED, "a passage was graded 2 or more for it, without a sentence that shows it")
        if len(judgments) < len(replies):
            missing = len(replies) - len(judgments)
            raise CallFailed("missing", f"answer check: the reply about {len(replies)} passages leaves out {missing}")
        return None


def _check_beyond_passage(task: Task, candidate: Candidate) -> Finding | None:
    """Return the first rule of its kind that a candidate breaks, None if it breaks none."""
    if task.kind in {QueryKind.MULTI_HOP, QueryKind.CROSS_COMPARISON}:
        return check_joined(candidate, task.chunks, task.brief)
    context = CheckContext.of(task.chunks[0], task.brief)
    if task.kind is QueryKind.CONVERSATIONAL:
        return check_conversation(candidate, context)
    if task.kind is QueryKind.UNANSWERABLE:
        return check_candidate(candidate, context, without=_NOT_OF_A_PASSAGE)
    from goldbench.stages.generate.moments import names_moment  # its patterns take a while to be made

    finding = check_candidate(candidate, context, without={"overlap"})
    if finding is None and not names_moment(candidate.text, task.moment):
        return Finding(MOMENT, f"it does not name the date or the version of its passage, {task.moment}")
    return finding


def _planned(task: Task, number: int = 0) -> DrawnCandidate:
    """Return a stand-in for a query of which a dry run counts the requests."""
    candidate = stand_in(task.brief, number)
    return DrawnCandidate(task, candidate, candidate, planned=True)


def _skipped(task: Task, reason: str | None, rule: str = "skipped") -> TaskResult:
    rejection = Rejection(chunk_id=task.chunks[0].chunk_id, filter=rule, reason=reason or "no query proposed")
    return TaskResult(task, end=rejection)


def _keeps_evidence(rewritten: Candidate, first: Candidate) -> bool:
    """Return whether a rewritten query still asks about the same words; a simulated query is drawn anew."""
    if rewritten.is_simulated:
        return True
    return any(item.meets(earlier) for item in rewritten.evidence for earlier in first.evidence)
