"""Measure how hard queries are: cheap systems search the corpus as it is emitted for the passages that they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from goldbench.goldset.dataset import passages
from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk, TitleUse
from goldbench.records.query import Query
from goldbench.stages.difficulty import SOUGHT, difficulty_of
from goldbench.stages.pool import language_of
from goldbench.text.title_path import titled

BOTH_UP_TO = 20_000
"""Passages of a collection up to which both systems are asked; in a larger one BM25 over words alone."""
MEASURED_UP_TO = 50_000
"""Passages of a collection up to which difficulty is measured."""


def measure_difficulty(
    queries: Sequence[Query],
    positions: Sequence[Sequence[int]],
    chunks: StoredRecords[Chunk],
    titles: TitleUse,
    cluster_of: Callable[[int], Sequence[int]],
) -> list[Query]:
    """Return the queries with their difficulty.

    Args:
        queries: The queries.
        positions: Positions of the chunks that each needs.
        chunks: All chunks.
        titles: Whether passages are emitted with their titles.
        cluster_of: Names the near-duplicates of a chunk, by positions.
    """
    texts = {passage.chunk_id: titled(passage.title, passage.text) for passage in passages(chunks, titles)}
    rankings = _search(texts, {query.query_id: query.text for query in queries}, language_of(chunks))
    measured = []
    for query, places in zip(queries, positions, strict=True):
        needed = [{chunks.at(copy).chunk_id for copy in {position, *cluster_of(position)}} for position in places]
        ranks = {
            name: {chunk_id: rank for rank, chunk_id in enumerate(ranking[query.query_id], 1)}
            for name, ranking in rankings.items()
        }
        measured.append(query.model_copy(update={"difficulty": difficulty_of(ranks, needed)}))
    return measured


def _search(
    texts: Mapping[str, str], queries: Mapping[str, str], language: str | None
) -> dict[str, dict[str, dict[str, float]]]:
    """Return the first results of each query by system: BM25 over words, and over n-grams of characters."""
    from goldbench.retrieval.bm25 import BM25
    from goldbench.retrieval.system_settings import Analyzer, BM25Settings
    from goldbench.retrieval.tokens import tokenizer

    systems = {"bm25": BM25Settings(language=language)}
    if len(texts) <= BOTH_UP_TO:
        systems["bm25-ngrams"] = BM25Settings(analyzer=Analyzer.NGRAMS)
    rankings = {}
    for name, settings in systems.items():
        system = BM25(settings, tokens=tokenizer(settings.analyzer, language=settings.language))
        system.index(texts)
        rankings[name] = system.search(queries, k=SOUGHT)
    return rankings
