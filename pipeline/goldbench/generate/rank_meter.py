"""Measure how hard queries are: cheap systems search the corpus as it is emitted for the passages that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from goldbench.goldset.dataset import passages
from goldbench.measures.ranks.order import in_tie_order
from goldbench.ports import Stored
from goldbench.records.corpus import Chunk, TitleUse
from goldbench.records.query import Difficulty, Query
from goldbench.retrieval.analyzer_names import Analyzer
from goldbench.stages.difficulty import SOUGHT, difficulty_of
from goldbench.stages.pool import language_of
from goldbench.text.title_path import titled

if TYPE_CHECKING:
    from goldbench.retrieval.bm25 import BM25
    from goldbench.retrieval.system_settings import BM25Settings

_Ranks: TypeAlias = Mapping[str, dict[str, int]]
"""By system, the rank of each passage that it found."""
WORDS, CHARACTERS = "bm25", "bm25-ngrams"
"""BM25 over words, in the language of the collection, and over character n-grams (analyzer ``ngrams``)."""
BOTH_UP_TO = 20_000
"""Passages of a collection up to which both systems are asked; in a larger one BM25 over words alone."""
MEASURED_UP_TO = 50_000
"""Passages of a collection up to which difficulty is measured although no shares of it are asked for."""


@dataclass(slots=True, kw_only=True)
class RankMeter:
    """Measures the difficulty of queries; the collection is indexed with the first of those that come one by one.

    Args:
        chunks: All chunks.
        titles: Whether passages are emitted with their titles.
        cluster_of: Names the near-duplicates of a chunk, by positions.
        held_out: Queries whose words are held out of the corpus.
    """

    chunks: Stored[Chunk]
    titles: TitleUse
    held_out: Sequence[Query] = ()
    cluster_of: Callable[[int], Sequence[int]]
    _systems: dict[str, BM25] = field(default_factory=dict)
    _known: dict[tuple[str, tuple[int, ...]], Difficulty] = field(default_factory=dict)

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the systems whose ranks are measured."""
        return (WORDS, CHARACTERS) if len(self.chunks) <= BOTH_UP_TO else (WORDS,)

    def measure(self, text: str, positions: Sequence[int]) -> Difficulty:
        """Return the difficulty of one of many queries that come one after another.

        Args:
            text: The query as it is searched for.
            positions: Positions of the chunks that it needs.
        """
        key = text, tuple(positions)
        if key not in self._known:
            if not self._systems:
                self._index()
            self._known[key] = difficulty_of(self._searched(text), [self._same(one) for one in positions])
        return self._known[key]

    def measured(self, queries: Sequence[Query], positions: Sequence[Sequence[int]]) -> list[Query]:
        """Return all queries with their difficulty.

        Args:
            queries: The queries.
            positions: Positions of the chunks that each needs.
        """
        needed = [[self._same(one) for one in held] for held in positions]
        if self._systems:
            found = [self._searched(query.text) for query in queries]
        else:
            found = self._ranked([query.text for query in queries], needed)
        every = zip(queries, found, needed, strict=True)
        return [query.model_copy(update={"difficulty": difficulty_of(ranks, held)}) for query, ranks, held in every]

    def _searched(self, text: str) -> _Ranks:
        results = {name: system.search({"q": text}, k=SOUGHT)["q"] for name, system in self._systems.items()}
        return {name: {one: rank for rank, one in enumerate(found, 1)} for name, found in results.items()}

    def _ranked(self, texts: Sequence[str], needed: Sequence[Sequence[set[str]]]) -> list[_Ranks]:
        """Return the ranks of the needed passages of each query, without an index."""
        from goldbench.retrieval.postings import Occurrences
        from goldbench.retrieval.term_ranks import ranks_of
        from goldbench.retrieval.tokens import tokenizer

        found: list[_Ranks] = [{name: {} for name in self.systems} for _ in texts]
        if not texts:
            return found
        emitted = self._texts()
        ids = in_tie_order(emitted)
        places = {chunk_id: place for place, chunk_id in enumerate(ids)}
        pairs = [(number, one) for number, groups in enumerate(needed) for one in sorted(set().union(*groups))]
        sought = [(number, places[chunk_id]) for number, chunk_id in pairs]
        words: Occurrences | None = None
        for name, one in self._settings().items():
            tokens = tokenizer(one.analyzer, language=one.language)
            if words is None:  # all systems cut texts into the same words
                words = Occurrences.of(tokens.words(emitted[chunk_id]) for chunk_id in ids)
            ranks = ranks_of(one, tokens, words, texts, sought)
            for (number, chunk_id), rank in zip(pairs, ranks, strict=True):
                if rank is not None and rank <= SOUGHT:
                    found[number][name][chunk_id] = rank
        return found

    def _same(self, position: int) -> set[str]:
        return {self.chunks.at(member).chunk_id for member in {position, *self.cluster_of(position)}}

    def _settings(self) -> dict[str, BM25Settings]:
        """Return the settings of each system."""
        from goldbench.retrieval.system_settings import BM25Settings

        every = {
            WORDS: BM25Settings(language=language_of(self.chunks)),
            CHARACTERS: BM25Settings(analyzer=Analyzer.NGRAMS),
        }
        return {name: every[name] for name in self.systems}

    def _texts(self) -> dict[str, str]:
        """Return the passages as they are emitted."""
        emitted = passages(self.chunks, self.held_out, self.titles)
        return {one.chunk_id: titled(one.title, one.text) for one in emitted}

    def _index(self) -> None:
        from goldbench.retrieval.bm25 import BM25
        from goldbench.retrieval.corpus_words import SharedWords
        from goldbench.retrieval.stopwatch import Stopwatch
        from goldbench.retrieval.tokens import tokenizer

        texts, words = self._texts(), SharedWords(Stopwatch())  # both cut texts at the same places
        for name, one in self._settings().items():
            self._systems[name] = BM25(one, tokens=tokenizer(one.analyzer, language=one.language), words=words)
            self._systems[name].index(texts)
