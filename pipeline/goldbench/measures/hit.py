"""The measure hit (success) at k."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def hit(ranked: Ranked, k: int, rel: int, _: Options) -> float:
    """Return whether one of the first k documents is relevant.

    Formula: 1 if a document of grade >= rel stands at a rank <= k, else 0.
    Range: 0 or 1.
    Source: trec_eval ``success``; the mean over queries is the hit rate of the RAG literature.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
    """
    ranks = ranked.relevant(rel)[0]
    return 1.0 if ranks and ranks[0] <= k else 0.0


HIT = Family("hit", ("success", "hitrate", "hits"), "Success", "optional", hit)
