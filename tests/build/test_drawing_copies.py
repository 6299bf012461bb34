"""Copies of a drawing: what one of them plans does not reach another."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import numpy as np

from goldbench.pipeline.build.kind_counts import PassageKinds
from goldbench.pipeline.build.waves import Drawing
from goldbench.pipeline.ports import Brief, Proposal
from goldbench.schemas.corpus import Chunk, Span
from goldbench.schemas.query import Assignment, Constraints, QueryKind, QueryStyle

CHUNK = Chunk(chunk_id="c1", span=Span(doc_id="d1", start=0, end=30), text="The pump holds 30 bar at most.")


class OneChunk(list[Chunk]):
    """Chunks in memory."""

    def at(self, position: int) -> Chunk:
        return self[position]


class RecordingGenerator:
    """Records which kinds of queries are requested, and writes none."""

    name, evidence_level = "recording", "smoke"

    def __init__(self) -> None:
        self.kinds: list[QueryKind] = []

    async def propose(self, brief: Brief) -> Proposal:
        self.kinds.append(brief.assignment.kind)
        return Proposal(skip_reason="recorded")


def fact(chunk: Chunk) -> Brief:
    assignment = Assignment(kind=QueryKind.FACT, style=QueryStyle.QUESTION)
    return Brief(chunk=chunk, assignment=assignment, constraints=Constraints(), language="en")


def test_the_kinds_that_one_copy_requests_are_not_requested_by_another() -> None:
    generator: Any = RecordingGenerator()
    first = Drawing(
        chunks=OneChunk([CHUNK]),
        generator=generator,
        brief=fact,
        cluster_of=lambda position: [position],
        concurrency=1,
        advance=lambda _: None,
        kinds=PassageKinds({QueryKind.REASON: 1}, seed=0),
    )
    second = replace(first, kinds=None)
    for drawing in (first, second):
        asyncio.run(drawing.draw(np.array([0]), target=1, per_chunk=1))
    assert generator.kinds == [QueryKind.REASON, QueryKind.FACT]
