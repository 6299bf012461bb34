"""Look for an answer to a query that nothing should answer: cheap retrievers find passages, the model judges them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from goldbench.ports import Retriever, StoredRecords
from goldbench.records.corpus import Chunk
from goldbench.stages.pool import language_of, merged
from goldbench.text.title_path import title_path, titled

RETRIEVERS = ("bm25", "ngrams", "lsi")
"""The retrievers whose best passages are judged, as in the pool of a grading."""


@dataclass(slots=True)
class AnswerSearch:
    """Finds the passages that are most likely to answer a query; the collection is indexed with the first query.

    Args:
        chunks: All chunks.
        depth: How many passages are wanted for a query.
        per_call: How many are judged in one call.
        with_titles: Whether passages are emitted with their titles.
    """

    chunks: StoredRecords[Chunk]
    depth: int
    per_call: int
    with_titles: bool = True
    _retrievers: Mapping[str, Retriever] = field(default_factory=dict)
    _positions: dict[str, int] = field(default_factory=dict)

    def groups(self, query: str, *, first: Iterable[str]) -> list[dict[str, str]]:
        """Return the texts of the passages by their id, in groups for one call each, the likeliest first.

        Args:
            query: The query.
            first: Ids of chunks that are judged whatever is found: what the query was written from.

        Raises:
            RetrieverFailed: A retriever cannot index or search.
        """
        if not self._retrievers:
            self._index()
        depth = min(self.depth, len(self._positions))
        rankings = [list(retriever.search({"q": query}, k=depth)["q"]) for retriever in self._retrievers.values()]
        ids = merged(rankings, first=first, count=depth)
        texts = [(chunk_id, self._text(self.chunks.at(self._positions[chunk_id]))) for chunk_id in ids]
        return [dict(texts[start : start + self.per_call]) for start in range(0, len(texts), self.per_call)]

    def _index(self) -> None:
        from goldbench.retrieval.bm25 import BM25
        from goldbench.retrieval.lsi import LSI, Space
        from goldbench.retrieval.ngrams import Ngrams
        from goldbench.retrieval.stopwatch import Stopwatch
        from goldbench.retrieval.system_settings import BM25Settings, LSISettings, NgramSettings
        from goldbench.retrieval.tokens import tokenizer

        language = language_of(self.chunks)
        bm25 = BM25Settings(language=language)
        lsi = LSISettings(language=language)
        tokens = tokenizer(bm25.analyzer, language=language)
        space = Space(lsi, tokens=tokens, stopwatch=Stopwatch())
        self._retrievers = {
            "bm25": BM25(bm25, tokens=tokens),
            "ngrams": Ngrams(NgramSettings()),
            "lsi": LSI(lsi, space),
        }
        texts = {}
        for position, chunk in enumerate(self.chunks):
            self._positions[chunk.chunk_id] = position
            texts[chunk.chunk_id] = self._text(chunk)
        for retriever in self._retrievers.values():
            retriever.index(texts)
        space.forget()  # it holds all texts, and nothing is indexed again

    def _text(self, chunk: Chunk) -> str:
        """Return a passage as it is emitted."""
        return titled(title_path(chunk) if self.with_titles else "", chunk.text)
