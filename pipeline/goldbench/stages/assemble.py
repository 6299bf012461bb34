"""Labels: the chunks that are known to answer a query.

Reads: queries, chunks, clusters of near-duplicates. Writes: the grades of a query's relevant chunks.
Fails: never; a query's own chunk is always relevant to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from goldbench.ports import StoredRecords
from goldbench.records.corpus import Chunk
from goldbench.records.query import Query
from goldbench.records.relevance import Relevance


def label(
    query: Query, position: int, *, chunks: StoredRecords[Chunk], cluster_of: Callable[[int], Sequence[int]]
) -> dict[str, Relevance]:
    """Return the grade of every chunk known to be relevant to a query.

    Relevant are the chunk the query was written from, the neighbours whose overlap with it holds all of the
    evidence, and the near-duplicates of all of these. Other chunks get no grade: they are unjudged.

    Args:
        query: The query.
        position: Position of its source chunk in ``chunks``.
        chunks: All chunks; those of one document stand side by side in order of their start.
        cluster_of: Returns the positions of a chunk's near-duplicates, its own included.
    """
    holders = [position, *_neighbours_with_evidence(query, position, chunks)]
    relevant = sorted({member for holder in holders for member in (holder, *cluster_of(holder))})
    return {chunks.at(member).chunk_id: Relevance.ANSWERS for member in relevant}


def label_needed(
    query: Query, positions: Sequence[int], *, chunks: StoredRecords[Chunk], cluster_of: Callable[[int], Sequence[int]]
) -> dict[str, Relevance]:
    """Return the grade of every chunk known to be relevant to a query that needs one or several chunks.

    Each needed chunk is labelled by the evidence that it holds, as `label` does.

    Args:
        query: As in `label`.
        positions: Positions of the chunks it was written from, the source first.
        chunks: As in `label`.
        cluster_of: As in `label`.
    """
    if len(positions) == 1:
        return label(query, positions[0], chunks=chunks, cluster_of=cluster_of)
    grades: dict[str, Relevance] = {}
    for position in positions:
        span = chunks.at(position).span
        own = tuple(item for item in query.evidence if span.contains(item))
        grades |= label(query.model_copy(update={"evidence": own}), position, chunks=chunks, cluster_of=cluster_of)
    return grades


def add_derived(
    relevance: Mapping[str, dict[str, Relevance]], queries: Sequence[Query], same_answers: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Label the chunks that give the same answer as a query's source, and return those that had no label.

    They get grade 2, since neither a person nor a model read them; a noisy query has those of its original.

    Args:
        relevance: The grades of each query, to which these are added.
        queries: The queries.
        same_answers: The chunks that give each query's answer.
    """
    derived = {}
    for query in queries:
        known = relevance[query.query_id]
        new = [chunk_id for chunk_id in same_answers.get(query.original or query.query_id, ()) if chunk_id not in known]
        if new:
            derived[query.query_id] = new
            known |= dict.fromkeys(new, Relevance.HELPS)
    return derived


def _neighbours_with_evidence(query: Query, position: int, chunks: StoredRecords[Chunk]) -> Iterator[int]:
    if not query.evidence:
        return
    source = chunks.at(position).span
    for step in (-1, 1):
        neighbour = position + step
        while 0 <= neighbour < len(chunks):
            span = chunks.at(neighbour).span
            if span.doc_id != source.doc_id or span.end <= source.start or source.end <= span.start:
                break
            if all(span.contains(evidence) for evidence in query.evidence):
                yield neighbour
            neighbour += step
