"""What becomes of a query that is put into other words: it keeps its evidence, or its first wording stays."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from goldbench.config import load_config
from goldbench.errors import AnswerRejected
from goldbench.generate.attempts import Attempts
from goldbench.generate.draw import Draw
from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.generate.task_source import TaskSource
from goldbench.ports import Brief, Proposal
from goldbench.records.corpus import Chunk, Span
from goldbench.records.query import Assignment, Candidate, Constraints, QueryKind, QueryStyle

TEXT = "The pump of the northern station starts at six in the morning. Its spare impeller lies in the second cabinet."
FIRST, SECOND = (0, TEXT.index(" Its")), (TEXT.index("Its"), len(TEXT))
COPY = "When starts the pump of the northern station daily"


@dataclass
class Writer:
    """Proposes a query that copies, and rewrites it with the given words and evidence, or fails."""

    rewritten: str | None
    span: tuple[int, int] = FIRST
    name: str = "test"
    evidence_level: str = "model"

    async def propose(self, brief: Brief) -> Proposal:
        return Proposal((self.candidate(brief.chunk, COPY, FIRST),))

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:
        if self.rewritten == "fail":
            raise AnswerRejected("misfit", "no JSON")
        return None if self.rewritten is None else self.candidate(brief.chunk, self.rewritten, self.span)

    def candidate(self, chunk: Chunk, text: str, span: tuple[int, int]) -> Candidate:
        return Candidate(chunk_id=chunk.chunk_id, text=text, generator=self.name, evidence=(chunk.evidence(*span),))


class Chunks(list[Chunk]):
    def at(self, position: int) -> Chunk:
        return self[position]


def draw(writer: Writer) -> DrawnQueries:
    chunk = Chunk(chunk_id="c1", span=Span(doc_id="d1", start=0, end=len(TEXT)), text=TEXT)
    assignment = Assignment(kind=QueryKind.FACT, style=QueryStyle.QUESTION)
    source = TaskSource(
        chunks=Chunks([chunk]),
        order=[0],
        brief=lambda about: Brief(about, assignment, Constraints(), "en"),
        settings=load_config(None, {}).generate,
    )
    return asyncio.run(Draw(source=source, attempts=Attempts(generator=writer), target=3, concurrency=1).draw())


def test_a_rewrite_about_the_same_words_is_taken():
    drawn = draw(Writer("At what hour does the northern machine begin"))
    assert [query.text for query in drawn.queries] == ["At what hour does the northern machine begin"]


def test_a_rewrite_with_other_evidence_is_dropped_and_the_first_wording_fills_the_set():
    drawn = draw(Writer("Where is the reserve rotor kept", span=SECOND))
    assert [query.text for query in drawn.queries] == [COPY]


def test_the_first_wording_fills_the_set_when_no_rewrite_comes():
    assert [query.text for query in draw(Writer(None)).queries] == [COPY]


def test_the_first_wording_fills_the_set_when_the_rewrite_fails_and_the_failure_is_told():
    drawn = draw(Writer("fail"))
    assert [query.text for query in drawn.queries] == [COPY]
    assert [failure.stage for failure in drawn.failures] == ["rewrite"]


def test_a_rewrite_that_is_worse_falls_back_to_the_first_wording():
    drawn = draw(Writer("What does this section say about it"))
    assert [query.text for query in drawn.queries] == [COPY]
