"""The measure reciprocal rank, whose mean over queries is MRR."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def reciprocal_rank(ranked: Ranked, k: int, rel: int, _: Options) -> float:
    """Return one over the rank of the first relevant document.

    Formula: 1 / rank of the first document of grade >= rel, 0 if there is none among the first k.
    Range: 0 to 1.
    Source: trec_eval ``recip_rank``; with a cutoff ``-M k -m recip_rank``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
    """
    ranks = ranked.relevant(rel)[0]
    return 1.0 / ranks[0] if ranks and ranks[0] <= k else 0.0


RECIPROCAL_RANK = Family(
    "mrr", ("rr", "reciprank", "reciprocalrank", "meanreciprocalrank"), "RR", "optional", reciprocal_rank
)
