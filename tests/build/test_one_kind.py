"""What becomes of replies that hold nothing: each is counted or said, and no run ends in a traceback."""

from __future__ import annotations

import asyncio
from typing import Any

from goldbench.pipeline.build.one_kind import Attempt, KindDrawing, Task
from goldbench.pipeline.build.query_attempts import Attempts
from goldbench.pipeline.ports import Brief
from goldbench.pipeline.stages.check import SetChecks
from goldbench.schemas.corpus import Chunk, Span
from goldbench.schemas.query import Assignment, Candidate, Constraints, QueryKind, QueryStyle

CHUNK = Chunk(chunk_id="c1", span=Span(doc_id="d1", start=0, end=30), text="The pump holds 30 bar at most.")
ASSIGNMENT = Assignment(kind=QueryKind.UNANSWERABLE, style=QueryStyle.QUESTION)
TASK = Task(Brief(chunk=CHUNK, assignment=ASSIGNMENT, constraints=Constraints(), language="en"), (CHUNK,), (0,))
QUERY = Candidate(chunk_id="c1", text="How heavy is the pump?", generator="test", kind=QueryKind.UNANSWERABLE)


class Silent:
    """A judge that grades none of the passages, and a search that finds one."""

    async def judge(self, query_id: str, query: str, passages: list[Chunk]) -> list[None]:
        return [None for _ in passages]

    def groups(self, query: str, first: list[str]) -> list[list[Chunk]]:
        return [[CHUNK]]

    async def lead_astray(self, brief: Brief, chunks: list[Chunk]) -> Candidate:
        return QUERY


def test_a_reply_that_grades_no_passage_is_a_counted_failure() -> None:
    silent: Any = Silent()
    attempt = asyncio.run(Attempts(silent, silent, silent).unanswerable(TASK))
    assert attempt.failure is not None
    assert attempt.failure.kind == "missing"


def test_a_stand_in_that_a_later_check_speaks_against_is_entered() -> None:
    kind = QueryKind.UNANSWERABLE
    drawing = KindDrawing(
        kind=kind,
        tasks=iter([TASK]),
        attempt=lambda task: asyncio.sleep(0, Attempt(task, QUERY)),
        checks=SetChecks(target=1),
        concurrency=1,
        advance=lambda _: None,
    )
    asyncio.run(drawing.draw(1))
    assert len(drawing.drawn.unanswerable) == 1
