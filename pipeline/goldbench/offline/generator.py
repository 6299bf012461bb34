"""The generator that needs no model: simulated queries in any language, labelled as simulated."""

from __future__ import annotations

from collections.abc import Iterable

from goldbench.offline.analysis import LONGEST_TEXT, Analysis
from goldbench.offline.corpus_sample import ChunkSample, SampledChunks
from goldbench.offline.query_maker import BORROWED_AGAIN, QueryDraft, QueryMaker, SourcePassage
from goldbench.ports import Brief, Proposal
from goldbench.records.corpus import Chunk
from goldbench.records.query import SIMULATION, Candidate, QueryStyle
from goldbench.text.draws import Draws
from goldbench.text.scripts import letter_count

FEWEST_STEMS = 5
"""Fewest different content words of a chunk that gets a query."""
FEWEST_LETTERS = 0.5
"""Lowest share of letters, 0 to 1, among the characters of a chunk that gets a query, white space not counted."""


class OfflineGenerator:
    """Simulates queries from the words of a corpus, which it reads once.

    The queries of a chunk depend on the seed, its id and the corpus alone, not on earlier draws.

    Args:
        chunks: Every chunk of the corpus, in any order.
        seed: Any whole number; other seeds give other queries.
        pool_size: Number of chunks, drawn by their ids, that stand for the corpus in statistics.
    """

    name = SIMULATION
    evidence_level = "smoke"

    def __init__(self, chunks: Iterable[Chunk], *, seed: int, pool_size: int = 20_000) -> None:
        self._seed = seed
        sample = ChunkSample(pool_size, seed)
        for chunk in chunks:
            sample.add(chunk)
        drawn = [(chunk_id, text[:LONGEST_TEXT]) for chunk_id, text in sample.chunks()]
        self._analysis = Analysis([text for _, text in drawn])
        pool = SampledChunks(drawn, self._analysis)
        self._maker = QueryMaker(analysis=self._analysis, pool=pool)

    async def propose(self, brief: Brief) -> Proposal:
        """Return up to ``per_chunk`` different queries, or the reason why the chunk gives none."""
        passage = SourcePassage.of(brief.chunk.chunk_id, brief.chunk.text, self._analysis)
        unfit = _unfit(passage)
        if unfit is not None:
            return Proposal(skip_reason=unfit)
        candidates: dict[str, Candidate] = {}
        for number in range(brief.constraints.per_chunk):
            draws = Draws(self._seed, brief.chunk.chunk_id, "propose", number)
            draft = self._maker.make(passage, draws, brief.constraints)
            if draft is not None:
                candidates.setdefault(draft.text, self._candidate(brief, draft))
        if not candidates:
            return Proposal(skip_reason="no query within the constraints can be made of the chunk's words")
        return Proposal(candidates=tuple(candidates.values()))

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:  # noqa: ARG002 - every complaint gets the same answer: another draw
        """Return a query from another draw, None if it has the same words.

        Args:
            candidate: The rejected query.
            complaint: Why it was rejected; every reason leads to the same draw.
        """
        passage = SourcePassage.of(brief.chunk.chunk_id, brief.chunk.text, self._analysis)
        draws = Draws(self._seed, brief.chunk.chunk_id, "rewrite", 1)
        draft = self._maker.make(passage, draws, brief.constraints, least_borrowed=BORROWED_AGAIN)
        if draft is None or draft.text == candidate.text:
            return None
        return self._candidate(brief, draft).model_copy(update={"first_text": candidate.text})

    def _candidate(self, brief: Brief, draft: QueryDraft) -> Candidate:
        evidence = brief.chunk.evidence(*draft.evidence)
        return Candidate(
            chunk_id=brief.chunk.chunk_id,
            text=draft.text,
            generator=self.name,
            evidence=(evidence,),
            quote=evidence.quote,
            language=brief.language,
            style=QueryStyle.KEYWORDS,
        )


def _unfit(passage: SourcePassage) -> str | None:
    """Return why a passage is not fit for a query, None if it is."""
    visible = sum(map(len, passage.text.split()))
    if letter_count(passage.text) < FEWEST_LETTERS * max(1, visible):
        return "fewer than half of the characters are letters"
    different = len(passage.counts())
    if different < FEWEST_STEMS:
        return f"{different} different content words, {FEWEST_STEMS} are needed"
    return None
