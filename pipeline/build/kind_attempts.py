"""One attempt at a query of each kind beyond a single passage: written, checked, and asked about where words decide."""

from __future__ import annotations

from dataclasses import dataclass

from goldbench.pipeline.build.kind_tasks import Attempt, Task
from goldbench.pipeline.build.waves import failure_of, stand_in
from goldbench.pipeline.errors import CallFailed, LimitReached, NotAsked
from goldbench.pipeline.ports import KindWriter
from goldbench.pipeline.stages.check import ENOUGH, Finding, check_joined, joined_context


@dataclass(frozen=True, slots=True)
class Attempts:
    """Carries out tasks with a model."""

    writer: KindWriter

    async def joined(self, task: Task) -> Attempt:
        """Write a query about several passages, and ask about each whether it alone is enough."""
        try:
            found = await self.writer.join(task.brief, task.chunks)
        except (CallFailed, LimitReached) as error:
            return Attempt(task, failure=failure_of("generate", task.chunks[0].chunk_id, error))
        except NotAsked:
            attempt = Attempt(task, stand_in(task.brief, 0), planned=True)
        else:
            if isinstance(found, str):
                return Attempt(task, skipped=found)
            context = joined_context(task.chunks, task.brief)
            attempt = Attempt(task, found, context, check_joined(found, task.chunks, task.brief))
        await self._check_each(attempt)
        return attempt

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
