"""Holes: what a system puts first and nobody judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence


def hole_rate(
    ranked: Mapping[str, Sequence[str]], judged: Mapping[str, Collection[str]], *, depth: int = 10
) -> float | None:
    """Return the share of the first ``depth`` results that nobody judged, mean over queries; None without a result.

    Where a query has fewer results the share is of these; one without any counts for nothing.

    Args:
        ranked: document ids by query, best first.
        judged: judged document ids by query.
        depth: how many results count.
    """
    shares = []
    for query_id, found in ranked.items():
        if query_id in judged and found[:depth]:
            known = judged[query_id]
            shares.append(sum(doc_id not in known for doc_id in found[:depth]) / len(found[:depth]))
    return sum(shares) / len(shares) if shares else None


def left_out_holes(
    pool: Iterable[tuple[str, str, Mapping[str, int], bool]], retriever: str, *, depth: int = 10
) -> float | None:
    """Return the hole rate that a retriever would have had if it had not brought its results into the pool.

    Args:
        pool: query, document, rank at each retriever that brought it, and whether it is in the pool without any.
        retriever: which to leave out.
        depth: how many of its results count.
    """
    found: dict[str, list[bool]] = {}
    for query_id, _, ranks, anyway in pool:
        if ranks.get(retriever, depth + 1) <= depth:
            found.setdefault(query_id, []).append(not anyway and ranks.keys() == {retriever})
    shares = [sum(holes) / len(holes) for holes in found.values()]
    return sum(shares) / len(shares) if shares else None
