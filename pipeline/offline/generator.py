"""The generator that needs no model: simulated queries, in any language, labelled as what they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, Self

from pipeline.offline.analysis import LONGEST_TEXT, Analysis
from pipeline.offline.corpus_sample import Pool, Sample
from pipeline.offline.heading_queries import Headings, heading_draft
from pipeline.offline.recipes import BORROWED_AGAIN, Draft, Passage, Recipes
from pipeline.offline.stretches import SentencesSeen
from pipeline.ports import Brief, Proposal
from pipeline.text.draws import Draws
from pipeline.text.scripts import letter_count
from schemas.corpus import Chunk, Evidence
from schemas.query import Candidate, Constraints, QueryStyle, Recipe

RecipeName = Literal["terms", "held-out", "mixed"]
Maker = Callable[[Passage, Draws, Constraints], Draft | None]

FEWEST_STEMS = 5
"""Different content words a chunk must have before anything is asked of it."""
FEWEST_LETTERS = 0.5
"""Share of letters among the characters that are not white space."""


class OfflineGenerator:
    """Simulates queries from the words of a corpus.

    What is drawn for a chunk depends on the seed, its id and the corpus only, never on what was drawn before.
    """

    name = "offline-v1"
    evidence_level = "smoke"

    def __init__(
        self,
        *,
        recipe: RecipeName,
        seed: int,
        analysis: Analysis,
        pool: Pool,
        headings: Headings,
        once: Callable[[str], bool],
    ) -> None:
        self._seed, self._analysis, self._pool, self._headings = seed, analysis, pool, headings
        self._makers = _makers(recipe, Recipes(analysis=analysis, pool=pool, once=once))
        again = Recipes(analysis=analysis, pool=pool, once=once, least_borrowed=BORROWED_AGAIN)
        self._makers_again = _makers(recipe, again)

    @classmethod
    def fit(cls, chunks: Iterable[Chunk], *, recipe: RecipeName, seed: int, pool_size: int = 20_000) -> Self:
        """Return a generator that has read the corpus once.

        Args:
            chunks: Every chunk of the corpus, in any order.
            recipe: ``terms`` leaves the corpus as it is; ``held-out`` and ``mixed`` ask with sentences that must be
                taken out of it.
            seed: Other seeds give other queries.
            pool_size: How many chunks, drawn by their ids, stand for the corpus in statistics.
        """
        sample, headings, seen = Sample(pool_size, seed), Headings(), SentencesSeen() if recipe != "terms" else None
        for chunk in chunks:
            sample.add(chunk)
            headings.add(chunk)
            if seen is not None:
                seen.add(chunk)
        drawn = [(chunk_id, text[:LONGEST_TEXT]) for chunk_id, text in sample.chunks()]
        analysis = Analysis([text for _, text in drawn])
        pool, once = Pool(drawn, analysis), seen.once if seen is not None else _never
        return cls(recipe=recipe, seed=seed, analysis=analysis, pool=pool, headings=headings, once=once)

    async def propose(self, brief: Brief) -> Proposal:
        """Return up to ``per_chunk`` different queries, or why none can be made of this chunk."""
        passage = Passage.of(brief.chunk.chunk_id, brief.chunk.text, self._analysis)
        unfit = _unfit(passage)
        if unfit is not None:
            return Proposal(skip_reason=unfit)
        found: dict[str, Candidate] = {}
        first = self._heading(brief, passage)
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
        """Return a query drawn anew, None where the draw ends in the same words."""
        passage = Passage.of(brief.chunk.chunk_id, brief.chunk.text, self._analysis)
        draft = self._draft(brief, passage, "rewrite", 1, makers=self._makers_again)
        if draft is None or draft.text == candidate.text:
            return None
        return self._candidate(brief, draft).model_copy(update={"first_text": candidate.text})

    def _heading(self, brief: Brief, passage: Passage) -> Draft | None:
        return heading_draft(
            brief.chunk,
            passage,
            headings=self._headings,
            analysis=self._analysis,
            pool=self._pool,
            constraints=brief.constraints,
        )

    def _draft(
        self, brief: Brief, passage: Passage, purpose: str, number: int, *, makers: list[Maker] | None = None
    ) -> Draft | None:
        """Return what the drawn recipe makes, or the first of the others that makes anything."""
        draws = Draws(self._seed, brief.chunk.chunk_id, purpose, number)
        makers = makers or self._makers
        start = int(draws.uniform("recipe") * len(makers))
        for maker in makers[start:] + makers[:start]:
            draft = maker(passage, draws, brief.constraints)
            if draft is not None:
                return draft
        return None

    def _candidate(self, brief: Brief, draft: Draft) -> Candidate:
        evidence = _evidence(brief.chunk, draft.evidence)
        return Candidate(
            chunk_id=brief.chunk.chunk_id,
            text=draft.text,
            generator=self.name,
            evidence=(evidence,),
            quote=evidence.quote,
            language=brief.language,
            style=_style(draft),
            recipe=draft.recipe,
            masked=() if draft.masked is None else (_evidence(brief.chunk, draft.masked),),
        )


def _makers(recipe: RecipeName, recipes: Recipes) -> list[Maker]:
    by_name: dict[RecipeName, list[Maker]] = {
        "terms": [recipes.terms],
        "held-out": [recipes.held_out_sentence, recipes.held_out_terms],
        "mixed": [recipes.terms, recipes.held_out_terms],
    }
    return by_name[recipe]


def _never(sentence: str) -> bool:  # noqa: ARG001  nothing is held out
    return False


def _evidence(chunk: Chunk, span: tuple[int, int]) -> Evidence:
    start, end = span
    return Evidence(
        doc_id=chunk.span.doc_id,
        start=chunk.span.start + start,
        end=chunk.span.start + end,
        quote=chunk.text[start:end],
    )


def _style(draft: Draft) -> QueryStyle | None:
    if draft.text.endswith(("?", "？", "؟")):
        return QueryStyle.QUESTION
    return QueryStyle.KEYWORDS if draft.recipe in {Recipe.TERMS, Recipe.HELD_OUT_TERMS} else None


def _unfit(passage: Passage) -> str | None:
    """Return why nothing can be asked of a passage, None where something can."""
    visible = sum(not character.isspace() for character in passage.text)
    if letter_count(passage.text) < FEWEST_LETTERS * max(1, visible):
        return "fewer than half of the characters are letters"
    different = len(passage.counts())
    if different < FEWEST_STEMS:
        return f"{different} different content words, {FEWEST_STEMS} are needed"
    return None
