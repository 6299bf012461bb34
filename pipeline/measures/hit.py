"""Hit (success): whether one of the first k documents is relevant.

Formula: 1 if a document of grade >= rel stands at a rank <= k, else 0. Range: 0 or 1.
Source: trec_eval ``success``; the mean over queries is the hit rate of the RAG literature.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, rel: int, _: Mapping[str, str]) -> Kernel:
    def hit(ranked: Ranked) -> float:
        ranks = ranked.relevant(rel)[0]
        return 1.0 if ranks and ranks[0] <= k else 0.0

    return hit


HIT = Family("hit", ("success", "hitrate", "hits"), "Success", "optional", _kernel)
