"""The recipes: how a query is made of a chunk's words, its neighbours' words, or a sentence taken out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.offline.analysis import LONGEST_TEXT, Analysis, Token
from pipeline.offline.draws import Draws
from pipeline.offline.evidence import heaviest_piece, pieces
from pipeline.offline.pool import Pool
from pipeline.offline.wording import allowed_terms, fitted_sentence, fitted_terms
from schemas.constraints import Constraints
from schemas.query import Recipe

TERMS_MEAN = 8
NEIGHBOURS = 10
NEIGHBOUR_SHARE = 0.5
HELD_OUT_TERMS = 8
SENTENCE_STEMS = 4
"""Fewest different content words of a sentence that can be held out."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A query with the characters of the chunk it stands for; ``masked`` are to be taken out of the indexed text."""

    text: str
    recipe: Recipe
    evidence: tuple[int, int]
    masked: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk's text, cut into content words."""

    chunk_id: str
    text: str
    tokens: Sequence[Token]

    @classmethod
    def of(cls, chunk_id: str, text: str, analysis: Analysis) -> Passage:
        """Return the passage of a chunk, its beginning where it is very long."""
        text = text[:LONGEST_TEXT]
        return cls(chunk_id, text, analysis.content(text))

    def counts(self) -> Counter[str]:
        """Return how often each stem occurs."""
        return Counter(token.stem for token in self.tokens)

    def forms(self) -> dict[str, str]:
        """Return the first form of each stem."""
        return {token.stem: token.form for token in reversed(self.tokens)}

    def between(self, start: int, end: int) -> Passage:
        """Return the part of the passage between two offsets; its tokens keep their places."""
        return Passage(self.chunk_id, self.text, [t for t in self.tokens if start <= t.start and t.end <= end])


class Recipes:
    """Makes queries of passages, with the words of a corpus at hand."""

    def __init__(self, *, analysis: Analysis, pool: Pool) -> None:
        self._analysis, self._pool = analysis, pool

    def terms(self, passage: Passage, draws: Draws, constraints: Constraints) -> Draft | None:
        """Return some words of the chunk and some of one like it, in whatever form the corpus uses them.

        About ``TERMS_MEAN`` words, drawn by tf-idf, half of them from one of the nearest chunks: a user knows the
        subject's words, not the text's, and knows nothing of the forms they have in it.
        """
        size = max(constraints.min_words, 3, draws.poisson("length", TERMS_MEAN))
        borrowed = sum(draws.uniform("borrow", str(number)) < NEIGHBOUR_SHARE for number in range(size))
        weights = self._weights(passage)
        own = draws.race("own", weights, size - borrowed) or draws.race("own", weights, 1)
        other = self._neighbour(passage, draws)
        strange: list[str] = []
        if other is not None:
            strange = draws.race("borrowed", {s: w for s, w in self._weights(other).items() if s not in own}, borrowed)
        forms = {**(other.forms() if other else {}), **passage.forms()}
        places = {token.stem: token.start for token in reversed(passage.tokens)}
        drawn = [stem for pair in _alternating(own, strange) for stem in pair]
        chosen = self._worded(drawn, forms, draws, constraints)
        ordered = sorted(chosen, key=lambda stem: places.get(stem, len(passage.text)))
        kept = [stem for stem in own if stem in chosen]
        if not kept:
            return None
        evidence = heaviest_piece(passage.text, passage.tokens, {stem: self._pool.idf(stem) for stem in kept})
        return Draft(" ".join(chosen[stem] for stem in ordered), Recipe.TERMS, evidence)

    def held_out_sentence(self, passage: Passage, draws: Draws, constraints: Constraints) -> Draft | None:
        """Return a sentence of the chunk, word for word, to be taken out of the indexed text."""
        sentences = self._sentences(passage)
        fitting = {}
        for start, end in sentences:
            text = fitted_sentence(passage.text[start:end], constraints)
            if text is not None:
                fitting[text] = (start, end)
        drawn = draws.race("sentence", dict.fromkeys(fitting, 1.0), 1)
        return Draft(drawn[0], Recipe.HELD_OUT, fitting[drawn[0]], fitting[drawn[0]]) if drawn else None

    def held_out_terms(self, passage: Passage, draws: Draws, constraints: Constraints) -> Draft | None:
        """Return the weightiest words of a sentence of the chunk, which is to be taken out of the indexed text."""
        sentences = {passage.text[start:end]: (start, end) for start, end in self._sentences(passage)}
        drawn = draws.race("sentence", dict.fromkeys(sentences, 1.0), 1)
        if not drawn:
            return None
        start, end = sentences[drawn[0]]
        part = passage.between(start, end)
        weights = self._weights(part)
        ranked = sorted(weights, key=lambda stem: (-weights[stem], stem))[:HELD_OUT_TERMS]
        chosen = self._worded(ranked, part.forms(), draws, constraints)
        if not chosen:
            return None
        text = " ".join(chosen[stem] for stem in part.forms() if stem in chosen)
        return Draft(text, Recipe.HELD_OUT_TERMS, (start, end), (start, end))

    def _weights(self, passage: Passage) -> dict[str, float]:
        return {stem: count * self._pool.idf(stem) for stem, count in passage.counts().items()}

    def _neighbour(self, passage: Passage, draws: Draws) -> Passage | None:
        near = self._pool.neighbours(passage.chunk_id, passage.counts(), NEIGHBOURS)
        ids = {self._pool.ids[position]: position for position in near}
        drawn = draws.race("neighbour", dict.fromkeys(ids, 1.0), 1)
        return Passage.of(drawn[0], self._pool.texts[ids[drawn[0]]], self._analysis) if drawn else None

    def _worded(
        self, ranked: Sequence[str], forms: dict[str, str], draws: Draws, constraints: Constraints
    ) -> dict[str, str]:
        """Return the words to say for the first stems that fit into the constraints together."""
        said: dict[str, str] = {}
        for stem in ranked:
            form = (draws.race(f"form of {stem}", self._pool.forms_of(stem), 1) or [forms[stem]])[0]
            parts = allowed_terms([form], constraints)
            if parts and " ".join(parts) not in said.values():
                said[stem] = " ".join(parts)
        fitting = set(fitted_terms(list(said.values()), constraints))
        return {stem: word for stem, word in said.items() if word in fitting}

    def _sentences(self, passage: Passage) -> list[tuple[int, int]]:
        """Return the sentences that say something and leave something that says something too."""
        whole = {token.stem for token in passage.tokens}
        found = []
        for start, end in pieces(passage.text):
            own = {token.stem for token in passage.between(start, end).tokens}
            if SENTENCE_STEMS <= len(own) <= len(whole) / 2:
                found.append((start, end))
        return found


def _alternating(first: Sequence[str], second: Sequence[str]) -> list[tuple[str, ...]]:
    length = max(len(first), len(second))
    return [tuple(first[i : i + 1]) + tuple(second[i : i + 1]) for i in range(length)]
