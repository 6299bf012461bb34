"""The measure judged at k, and its counterpart over whole systems: the rate of holes, results that nobody judged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from goldbench.measures.family import Family, Options, Ranked


def judged(ranked: Ranked, k: int, _: int, __: Options) -> float:
    """Return the share of the first k documents that were judged, relevant or not.

    Formula: |judged among the first k| / min(k, retrieved), 0 where nothing was retrieved.
    Range: 0 to 1.
    Source: ir_measures ``Judged``.
    """
    size = min(k, ranked.retrieved)
    return bisect_right(ranked.ranks, k) / size if size else 0.0


JUDGED = Family("judged", ("judgedrate", "judgmentrate"), "Judged", "optional", judged, has_rel=False)


def hole_rate(
    ranked: Mapping[str, Sequence[str]], known: Mapping[str, Collection[str]], *, depth: int = 10
) -> float | None:
    """Return the share of the first ``depth`` results that nobody judged, mean over queries; None without a result.

    A query with fewer results counts by the share of these; a query without results does not count.

    Args:
        ranked: Document ids by query, best first.
        known: Judged document ids by query.
        depth: How many results count, 1 or more.
    """
    tops = {query_id: doc_ids[:depth] for query_id, doc_ids in ranked.items() if query_id in known}
    shares = [sum(doc_id not in known[query_id] for doc_id in top) / len(top) for query_id, top in tops.items() if top]
    return sum(shares) / len(shares) if shares else None
