"""The generator that needs no model: simulated queries in any language, labelled as simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from goldbench.offline.analysis import LONGEST_TEXT, Analysis
from goldbench.offline.corpus_sample import Pool, Sample
from goldbench.offline.heading_queries import Headings
from goldbench.offline.recipes import BORROWED_AGAIN, Draft, Passage, Recipes
from goldbench.offline.stretches import SentenceCounter
from goldbench.ports import Brief, Proposal
from goldbench.records.corpus import Chunk, TitlePart
from goldbench.records.query import Candidate, Constraints, QueryStyle, Recipe
from goldbench.text.draws import Draws
from goldbench.text.scripts import letter_count

RecipeName = Literal["terms", "held-out", "mixed"]
Maker = Callable[[Passage, Draws, Constraints], Draft | None]

FEWEST_STEMS = 5
"""Fewest different content words of a chunk that gets a query."""
FEWEST_LETTERS = 0.5
"""Lowest share of letters, 0 to 1, among the characters of a chunk that gets a query, white space not counted."""


class OfflineGenerator:
    """Simulates queries from the words of a corpus, which it reads once.

    The queries of a chunk depend on the seed, its id and the corpus alone, not on earlier draws.

    Args:
        chunks: Every chunk of the corpus, in any order.
        recipe: ``terms`` leaves the corpus unchanged; ``held-out`` and ``mixed`` ask with sentences that must be taken
            out of it.
        seed: Any whole number; other seeds give other queries.
        pool_size: Number of chunks, drawn by their ids, that stand for the corpus in statistics.
    """

    name = "offline-v1"
    evidence_level = "smoke"

    def __init__(self, chunks: Iterable[Chunk], *, recipe: RecipeName, seed: int, pool_size: int = 20_000) -> None:
        seen = None if recipe == "terms" else SentenceCounter()
        sample, self._headings, self._seed = Sample(pool_size, seed), Headings(), seed
        for chunk in chunks:
            sample.add(chunk)
            self._headings.add(chunk)
            if seen is not None:
                seen.add(chunk)
        drawn = [(chunk_id, text[:LONGEST_TEXT]) for chunk_id, text in sample.chunks()]
        self._analysis = Analysis([text for _, text in drawn])
        self._pool = Pool(drawn, self._analysis)
        once = None if seen is None else seen.once
        self._makers, self._makers_again = (
            _makers(recipe, Recipes(analysis=self._analysis, pool=self._pool, once=once, least_borrowed=least))
            for least in (0.0, BORROWED_AGAIN)
        )

    async def propose(self, brief: Brief) -> Proposal:
        """Return up to ``per_chunk`` different queries, or the reason why the chunk gives none."""
        passage = Passage.of(brief.chunk.chunk_id, brief.chunk.text, self._analysis)
        unfit = _unfit(passage)
        if unfit is not None:
            return Proposal(skip_reason=unfit)
        found: dict[str, Candidate] = {}
        first = self._headings.draft(brief, passage, analysis=self._analysis, pool=self._pool)
        if first is not None:
            found[first.text] = self._candidate(brief, first)
        for number in range(brief.constraints.per_chunk):
            draft = self._draft(brief, passage, "propose", number) if len(found) < brief.constraints.per_chunk else None
            if draft is not None:
                found.setdefault(draft.text, self._candidate(brief, draft))
        if not found:
            return Proposal(skip_reason="no query within the constraints can be made of the chunk's words")
        return Proposal(candidates=tuple(found.values()))

    async def rewrite(self, brief: Brief, candidate: Candidate, complaint: str) -> Candidate | None:  # noqa: ARG002 - every complaint gets the same answer: another draw
        """Return a query from another draw, None if it has the same words.

        Args:
            brief: As in `propose`.
            candidate: The rejected query.
            complaint: Why it was rejected; every reason leads to the same draw.
        """
        passage = Passage.of(brief.chunk.chunk_id, brief.chunk.text, self._analysis)
        draft = self._draft(brief, passage, "rewrite", 1, makers=self._makers_again)
        if draft is None or draft.text == candidate.text:
            return None
        return self._candidate(brief, draft).model_copy(update={"first_text": candidate.text})

    def _draft(
        self, brief: Brief, passage: Passage, purpose: str, number: int, *, makers: list[Maker] | None = None
    ) -> Draft | None:
        """Return the draft of the drawn recipe, or of the first other recipe that gives one."""
        draws = Draws(self._seed, brief.chunk.chunk_id, purpose, number)
        makers = makers or self._makers
        start = int(draws.uniform("recipe") * len(makers))
        for maker in makers[start:] + makers[:start]:
            draft = maker(passage, draws, brief.constraints)
            if draft is not None:
                return draft
        return None

    def _candidate(self, brief: Brief, draft: Draft) -> Candidate:
        evidence = brief.chunk.evidence(*draft.evidence)
        return Candidate(
            chunk_id=brief.chunk.chunk_id,
            text=draft.text,
            generator=self.name,
            evidence=(evidence,),
            quote=evidence.quote,
            language=brief.language,
            style=_style(draft),
            recipe=draft.recipe,
            masked=() if draft.masked is None else (brief.chunk.evidence(*draft.masked),),
            masked_titles=tuple(TitlePart(doc_id=evidence.doc_id, text=part) for part in draft.masked_titles),
        )


def _makers(recipe: RecipeName, recipes: Recipes) -> list[Maker]:
    by_name: dict[RecipeName, list[Maker]] = {
        "terms": [recipes.terms],
        "held-out": [recipes.held_out_sentence, recipes.held_out_terms],
        "mixed": [recipes.terms, recipes.held_out_terms],
    }
    return by_name[recipe]


def _style(draft: Draft) -> QueryStyle | None:
    if draft.text.endswith(("?", "？", "؟")):
        return QueryStyle.QUESTION
    return QueryStyle.KEYWORDS if draft.recipe in {Recipe.TERMS, Recipe.HELD_OUT_TERMS} else None


def _unfit(passage: Passage) -> str | None:
    """Return why a passage is not fit for a query, None if it is."""
    visible = sum(map(len, passage.text.split()))
    if letter_count(passage.text) < FEWEST_LETTERS * max(1, visible):
        return "fewer than half of the characters are letters"
    different = len(passage.counts())
    if different < FEWEST_STEMS:
        return f"{different} different content words, {FEWEST_STEMS} are needed"
    return None
