"""Reciprocal rank: one over the rank of the first relevant document; its mean is MRR.

Formula: 1 / rank of the first document of grade >= rel, 0 if there is none among the first k. Range: 0 to 1.
Source: trec_eval ``recip_rank``; with a cutoff ``-M k -m recip_rank``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, rel: int, _: Mapping[str, str]) -> Kernel:
    def reciprocal_rank(ranked: Ranked) -> float:
        ranks = ranked.relevant(rel)[0]
        return 1.0 / ranks[0] if ranks and ranks[0] <= k else 0.0

    return reciprocal_rank


RECIPROCAL_RANK = Family("mrr", ("rr", "reciprank", "reciprocalrank", "meanreciprocalrank"), "RR", "optional", _kernel)
