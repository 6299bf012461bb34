"""One attempt at a query of each kind beyond a single passage: written, checked, and asked about where words decide."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import dataclass

from goldbench.pipeline.build.answer_search import AnswerSearch
from goldbench.pipeline.build.drawn_queries import failure_of, stand_in
from goldbench.pipeline.build.one_kind import Attempt, Task
from goldbench.pipeline.errors import CallFailed, LimitReached, NotAsked
from goldbench.pipeline.ports import KindWriter, PoolJudge
from goldbench.pipeline.stages.check import (
    ENOUGH,
    CheckContext,
    Finding,
    check_candidate,
    check_conversation,
    check_joined,
    joined_context,
    query_id,
)
from goldbench.schemas.judgment import Judgment
from goldbench.schemas.manifest import Failure
from goldbench.schemas.query import Candidate
from goldbench.schemas.relevance import RELEVANT

MOMENT = "moment"
"""The rule that a query breaks if it should name a date or a version and does not."""
SELF_CONTAINED = "self-contained"
"""The rule that a conversation breaks if its last question needs no earlier one."""
ANSWERED = "answered"
"""The rule that a query breaks if a passage helps to answer it although nothing should."""
_NOT_OF_A_PASSAGE = frozenset({"evidence", "overlap"})
"""Rules that do not apply to a query that no passage answers."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """Carries out tasks with a model; ``judge`` and ``search`` look for answers to what nothing should answer."""

    writer: KindWriter
    judge: PoolJudge | None = None
    search: AnswerSearch | None = None

    async def joined(self, task: Task) -> Attempt:
        """Write a query about several passages, and ask about each whether it alone is enough."""
        attempt = await _proposed(task, self.writer.join(task.brief, task.chunks))
        if (found := attempt.candidate) is not None and not attempt.planned:
            attempt.context = joined_context(task.chunks, task.brief)
            attempt.finding = check_joined(found, task.chunks, task.brief)
        await self._check_each(attempt)
        return attempt

    async def temporal(self, task: Task) -> Attempt:
        """Write a query about one passage that names the date or the version on which its answer depends."""
        from goldbench.pipeline.stages.generate.moments import names_moment

        attempt = await _proposed(task, self.writer.date(task.brief, task.moment))
        found = attempt.candidate
        if found is None or attempt.planned:
            return attempt
        finding = check_candidate(found, CheckContext.of(task.chunks[0], found, task.brief), without={"overlap"})
        if finding is None and not names_moment(found.text, task.moment):
            finding = Finding(MOMENT, f"it does not name the date or the version of its passage, {task.moment}")
        attempt.context, attempt.finding = joined_context(task.chunks, task.brief), finding
        return attempt

    async def conversational(self, task: Task) -> Attempt:
        """Write a conversation, and ask whether its last question can be understood alone."""
        attempt = await _proposed(task, self.writer.converse(task.brief))
        if (found := attempt.candidate) is not None and not attempt.planned:
            context = CheckContext.of(task.chunks[0], found, task.brief)
            attempt.context = joined_context(task.chunks, task.brief)
            attempt.finding = check_conversation(found, context)
        if attempt.finding is not None or attempt.candidate is None:
            return attempt
        try:
            understood = await self.writer.understood(attempt.candidate.text)
        except (CallFailed, LimitReached) as error:
            attempt.failure = failure_of("check", task.chunks[0].chunk_id, error)
        except NotAsked:
            attempt.planned = True
        else:
            if understood:
                attempt.finding = Finding(
                    SELF_CONTAINED, "its last question can be understood without the earlier ones"
                )
        return attempt

    async def unanswerable(self, task: Task) -> Attempt:
        """Write a query that nothing should answer, and judge the passages that are most likely to answer it."""
        attempt = await _proposed(task, self.writer.lead_astray(task.brief, task.chunks))
        if (found := attempt.candidate) is not None and not attempt.planned:
            source = task.chunks[:1]
            about = CheckContext.of(source[0], found, task.brief)
            attempt.context = joined_context(source, task.brief)
            attempt.finding = check_candidate(found, about, without=_NOT_OF_A_PASSAGE)
        await self._look_for_answer(attempt)
        return attempt

    async def _look_for_answer(self, attempt: Attempt) -> None:
        """Reject a query if a judged passage helps to answer it, or may help."""
        if attempt.finding is not None or attempt.candidate is None:
            return
        assert self.judge is not None
        assert self.search is not None
        text, judgments = attempt.candidate.text, list[Judgment]()
        for passages in self.search.groups(text, first=[chunk.chunk_id for chunk in attempt.task.chunks]):
            try:
                found = await self.judge.judge(query_id(text), text, passages)
            except (CallFailed, LimitReached) as error:
                attempt.failure = failure_of("check", attempt.candidate.chunk_id, error)
                return
            except NotAsked:
                attempt.planned = True
                continue
            attempt.failure = _unjudged(attempt.candidate.chunk_id, found)
            judgments += [item for item in found if item is not None]
            attempt.finding = _answered(judgments)
            if attempt.finding is not None or attempt.failure is not None:
                return
        attempt.judgments = tuple(judgments)

    async def _check_each(self, attempt: Attempt) -> None:
        """Reject a query that one of its passages answers completely."""
        if attempt.finding is not None or attempt.candidate is None:
            return
        for number, chunk in enumerate(attempt.task.chunks, 1):
            try:
                enough = await self.writer.enough(attempt.candidate.text, chunk)
            except (CallFailed, LimitReached) as error:
                attempt.failure = failure_of("check", chunk.chunk_id, error)
                return
            except NotAsked:
                attempt.planned = True
                continue
            if enough:
                attempt.finding = Finding(ENOUGH, f"passage {number} of {len(attempt.task.chunks)} answers it alone")
                return


async def _proposed(task: Task, writing: Awaitable[Candidate | str]) -> Attempt:
    """Return what the model wrote, its reason for nothing, the failure of the call, or a stand-in in a dry run."""
    try:
        found = await writing
    except (CallFailed, LimitReached) as error:
        return Attempt(task, failure=failure_of("generate", task.chunks[0].chunk_id, error))
    except NotAsked:
        return Attempt(task, stand_in(task.brief, 0), planned=True)
    return Attempt(task, skipped=found) if isinstance(found, str) else Attempt(task, found)


def _unjudged(chunk_id: str, found: Sequence[Judgment | None]) -> Failure | None:
    """Return the failure of a reply that leaves out a passage: a query is accepted only if all are judged."""
    if None not in found:
        return None
    message = f"answer check: the reply about {len(found)} passages leaves out {list(found).count(None)}"
    return Failure(stage="check", item=chunk_id, kind="missing", message=message)


def _answered(judgments: Sequence[Judgment]) -> Finding | None:
    """Return what speaks against a query that nothing should answer, None for nothing."""
    if not judgments:
        return None
    highest = max(judgments, key=lambda item: item.relevance)
    if highest.relevance >= RELEVANT:
        reason = f"passage {highest.chunk_id} was graded {highest.relevance:d} for it"
        return Finding(ANSWERED, reason, float(highest.relevance))
    if any(item.capped for item in judgments):
        return Finding(ANSWERED, "a passage was graded 2 or more for it, without a sentence that shows it")
    return None
