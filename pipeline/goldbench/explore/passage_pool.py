"""The passages to read for a query: what several retrievers find, and their neighbours in the same section."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from goldbench.explore.word_rules import title_in
from goldbench.ports import Retriever
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.stages.pool import merged
from goldbench.systems import open_systems

NEIGHBOURED = 2
"""Passages of a query whose neighbours are read, too: an answer may be cut in two."""
SHOWN = 3
LOOKED_UP = 1000
"""Passages shown for an undecided query, and the most frequent undecided queries that they are looked up for."""


def pooled(
    queries: Mapping[str, str], corpus: Mapping[str, str], retrievers: Sequence[Retriever], *, count: int
) -> dict[str, list[str]]:
    """Return the ids of the passages to read for each query, the most likely first; all of a small corpus.

    Args:
        queries: Text by id.
        corpus: Passages as they are emitted, by id, in the order of their documents.
        retrievers: Retrievers that have indexed the corpus.
        count: Passages per query, before their neighbours are added.
    """
    depth = min(count, len(corpus))
    results = [retriever.search(queries, k=depth) for retriever in retrievers] if queries else []
    neighbours = _neighbours(corpus)
    pools = {}
    for query_id in queries:
        best = merged([list(run.get(query_id, {})) for run in results], count=count)
        beside = [near for chunk_id in best[:NEIGHBOURED] for near in neighbours(chunk_id)]
        pools[query_id] = list(dict.fromkeys([*best, *beside]))
    return pools


def looked_up(queries: Mapping[str, str], corpus: Mapping[str, str], language: str | None) -> dict[str, list[str]]:
    """Return the ids of a few passages to look at for each query, found by BM25.

    Args:
        queries: Text by id; passages are looked up for the first of them only.
        corpus: Passages as they are emitted, by id.
        language: ISO 639-1 code of most passages, or None.
    """
    first_queries = dict(list(queries.items())[:LOOKED_UP])
    if not first_queries:
        return {}
    with open_systems(("bm25",), {"bm25": BM25Settings(language=language)}) as systems:
        retriever = systems.retriever("bm25")
        retriever.index(corpus)
        match = retriever.search(first_queries, k=min(SHOWN, len(corpus)))
    return {query_id: list(match.get(query_id, {})) for query_id in first_queries}


def _neighbours(corpus: Mapping[str, str]) -> Callable[[str], list[str]]:
    """Return a function that names the passages before and after one, if they have the same title."""
    ids = list(corpus)
    numbers = {chunk_id: position for position, chunk_id in enumerate(ids)}

    def beside(chunk_id: str) -> list[str]:
        position = numbers[chunk_id]
        title = title_in(corpus[chunk_id])
        near = [ids[number] for number in (position - 1, position + 1) if 0 <= number < len(ids)]
        return [neighbour for neighbour in near if title and title_in(corpus[neighbour]) == title]

    return beside
