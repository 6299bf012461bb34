"""Measure how hard queries are: cheap systems search the corpus as it is emitted for the passages that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from goldbench.pipeline.goldset.dataset import passages
from goldbench.pipeline.ports import Stored
from goldbench.pipeline.retrieval.analyzer_names import Analyzer
from goldbench.pipeline.stages.difficulty import SOUGHT, difficulty_of
from goldbench.pipeline.stages.pool import language_of
from goldbench.pipeline.text.title_path import titled
from goldbench.schemas.corpus import Chunk, TitleUse
from goldbench.schemas.query import Difficulty, Query

if TYPE_CHECKING:
    from goldbench.pipeline.retrieval.bm25 import BM25

WORDS, CHARACTERS = "bm25", "bm25-ngrams"
"""BM25 over words, in the language of the collection, and over character n-grams (analyzer ``ngrams``)."""
BOTH_UP_TO = 20_000
"""Passages of a collection up to which both systems are asked; in a larger one BM25 over words alone."""
MEASURED_UP_TO = 50_000
"""Passages of a collection up to which difficulty is measured although no shares of it are asked for."""


@dataclass(slots=True, kw_only=True)
class RankMeter:
    """Measures the difficulty of queries; the collection is indexed with the first query.

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
        """Return the difficulty of a query.

        Args:
            text: The query as it is searched for.
            positions: Positions of the chunks that it needs.
        """
        key = text, tuple(positions)
        if key not in self._known:
            self._known[key] = self._measured({"q": text}, {"q": positions})["q"]
        return self._known[key]

    def measured(self, queries: Sequence[Query], positions: Sequence[Sequence[int]]) -> list[Query]:
        """Return the queries with their difficulty.

        Args:
            queries: The queries.
            positions: Positions of the chunks that each needs.
        """
        needed = {query.query_id: held for query, held in zip(queries, positions, strict=True)}
        found = self._measured({query.query_id: query.text for query in queries}, needed)
        return [query.model_copy(update={"difficulty": found[query.query_id]}) for query in queries]

    def _measured(self, texts: Mapping[str, str], needed: Mapping[str, Sequence[int]]) -> dict[str, Difficulty]:
        if texts and not self._systems:
            self._index()
        found = {name: system.search(texts, k=SOUGHT) for name, system in self._systems.items()}
        return {
            key: difficulty_of(
                {name: list(results[key]) for name, results in found.items()}, [self._same(one) for one in held]
            )
            for key, held in needed.items()
        }

    def _same(self, position: int) -> set[str]:
        return {self.chunks.at(member).chunk_id for member in {position, *self.cluster_of(position)}}

    def _index(self) -> None:
        from goldbench.pipeline.retrieval.bm25 import BM25
        from goldbench.pipeline.retrieval.corpus_words import SharedWords
        from goldbench.pipeline.retrieval.stopwatch import Stopwatch
        from goldbench.pipeline.retrieval.system_settings import BM25Settings
        from goldbench.pipeline.retrieval.tokens import tokenizer

        every = {
            WORDS: BM25Settings(language=language_of(self.chunks)),
            CHARACTERS: BM25Settings(analyzer=Analyzer.NGRAMS),
        }
        emitted = passages(self.chunks, self.held_out, self.titles)
        texts = {one.chunk_id: titled(one.title, one.text) for one in emitted}
        words = SharedWords(Stopwatch())  # both cut texts at the same places
        for name, one in ((name, every[name]) for name in self.systems):
            self._systems[name] = BM25(one, tokens=tokenizer(one.analyzer, language=one.language), words=words)
            self._systems[name].index(texts)
