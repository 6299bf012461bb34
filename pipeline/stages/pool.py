"""The pool: which chunks are judged for each query.

Reads: queries, the rankings of several retrievers, near-duplicate clusters. Writes: pairs, in the order of judging.
Fails: never by itself.

A pool from one system crowns that system, so three families go into it, and whatever the user's own systems found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from schemas.judgment import Origin, Pooled

SHARED_BY = 50
"""Of a larger cluster of near-duplicates only those members get a grade that are in the pool for a reason of their own:
a page of boilerplate that stands in a collection ten thousand times would fill the judgments of every query."""

REACHED_WITHIN, SOUGHT_WITHIN = 20, 100
"""A source is reached where a retriever has it in its first 20, unreachable where none has it in its first 100."""

Ranking = Sequence[str]
"""The ids of chunks, best first."""


def pool_query(
    query_id: str,
    *,
    rankings: Mapping[str, Ranking],
    sources: Iterable[str],
    cluster_of: Callable[[str], Sequence[str]],
) -> list[Pooled]:
    """Return the pool of one query, in the order of judging: shuffled, so that no rank shows.

    Args:
        query_id: The query; it seeds the order.
        rankings: What each retriever found, by its name, cut to the depth of the pool.
        sources: The chunks that are known to hold what the query asks for, the foremost first; they join whatever
            retrieved them.
        cluster_of: The ids of all near-duplicates of a chunk, itself among them, in a fixed order.
    """
    ranks: dict[str, dict[str, int]] = {}
    for name in sorted(rankings):
        for rank, chunk_id in enumerate(rankings[name], start=1):
            ranks.setdefault(chunk_id, {})[name] = rank
    known = list(dict.fromkeys(sources))
    own = ranks.keys() | set(known)
    judged: dict[str, str] = {}
    origins: dict[str, Origin] = {}
    for chunk_id in [*known, *sorted(ranks, key=lambda item: (min(ranks[item].values()), item))]:
        if chunk_id in judged:
            continue
        cluster = cluster_of(chunk_id)
        shares = cluster if len(cluster) <= SHARED_BY else [item for item in cluster if item in own]
        judged.update(dict.fromkeys(shares, chunk_id))
        origins |= {item: Origin.NEAR_DUPLICATE for item in shares if item in known or item not in ranks}
        origins |= {chunk_id: Origin.SOURCE} if chunk_id in known else {}
    return [
        Pooled(
            query_id=query_id,
            chunk_id=chunk_id,
            ranks=ranks.get(chunk_id, {}),
            origin=origins.get(chunk_id),
            shared_from=None if judged[chunk_id] == chunk_id else judged[chunk_id],
        )
        for chunk_id in shuffled(query_id, judged)
    ]


def shuffled(query_id: str, chunk_ids: Iterable[str]) -> list[str]:
    """Return the ids in an order that the query alone decides; one more chunk moves no other."""

    def place(chunk_id: str) -> bytes:
        return hashlib.blake2b(f"pool\0{query_id}\0{chunk_id}".encode(), digest_size=8).digest()

    return sorted(chunk_ids, key=lambda chunk_id: (place(chunk_id), chunk_id))


@dataclass(frozen=True, slots=True)
class Reach:
    """Which of the retrievers find what a query was written from, and whether none does."""

    reached_by: tuple[str, ...]
    unreachable: bool


def reach(rankings: Mapping[str, Ranking], sources: Iterable[str]) -> Reach:
    """Return which retrievers have a source among their first 20, and whether none has one among its first 100.

    Args:
        rankings: What each retriever found, by its name; at least 100 of each where there are so many.
        sources: The chunks that hold what the query asks for, their near-duplicates among them.
    """
    wanted = set(sources)
    best = {
        name: next((rank for rank, chunk_id in enumerate(found, start=1) if chunk_id in wanted), None)
        for name, found in rankings.items()
    }
    reached = tuple(sorted(name for name, rank in best.items() if rank is not None and rank <= REACHED_WITHIN))
    return Reach(reached, all(rank is None or rank > SOUGHT_WITHIN for rank in best.values()))
