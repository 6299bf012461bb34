"""What becomes of replies that hold nothing: each is counted or said, and no run ends in a traceback."""

from __future__ import annotations

import asyncio
from typing import Any

from goldbench.generate.attempts import Attempts
from goldbench.generate.drawn_queries import Task
from goldbench.ports import Brief
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Assignment, Candidate, Constraints, QueryKind, QueryStyle
from goldbench.stages.judge import Pair

CHUNK = Chunk(chunk_id="c1", span=Span(doc_id="d1", start=0, end=30), text="The pump holds 30 bar at most.")
ASSIGNMENT = Assignment(kind=QueryKind.UNANSWERABLE, style=QueryStyle.QUESTION)
TASK = Task(Brief(chunk=CHUNK, assignment=ASSIGNMENT, constraints=Constraints(), language="en"), (CHUNK,), (0,))
QUERY = Candidate(chunk_id="c1", text="How heavy is the pump?", generator="test", kind=QueryKind.UNANSWERABLE)


class Silent:
    """A judge that grades none of the passages, and a search that finds one."""

    async def judge_each(self, pairs: list[Pair]) -> list[None]:
        return [None for _ in pairs]

    def groups(self, query: str, first: list[str]) -> list[dict[str, str]]:
        return [{CHUNK.chunk_id: CHUNK.text}]

    async def lead_astray(self, brief: Brief, chunks: list[Chunk]) -> Candidate:
        return QUERY


def test_a_reply_that_grades_no_passage_is_a_counted_failure() -> None:
    silent: Any = Silent()
    attempts = Attempts(generator=silent, kind_writer=silent, judge=silent, search=silent)
    [outcome] = asyncio.run(attempts.carry_out(TASK)).outcomes
    assert outcome.failure is not None
    assert outcome.failure.kind == "missing"
