"""F1: the harmonic mean of precision and recall at k, per query.

Formula: 2 P R / (P + R) with P = hits / k and R = hits / |relevant|; 0 where both are 0. Range: 0 to 1. Its mean is the
macro mean. ``f1@k(k=returned)`` takes P = hits / min(k, retrieved); without a cutoff that is ``set_F`` of trec_eval.
Source: van Rijsbergen, Information Retrieval, 1979, chapter 7; trec_eval has no F1@k.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, rel: int, options: Mapping[str, str]) -> Kernel:
    returned = options.get("k") == "returned"

    def f1(ranked: Ranked) -> float:
        hits = ranked.hits(k, rel)
        if not hits:
            return 0.0
        precision = hits / (min(k, ranked.retrieved) if returned else k)
        recall = hits / ranked.relevant(rel)[1]
        return 2 * precision * recall / (precision + recall)

    return f1


F1 = Family("f1", ("f", "fscore", "f1score", "fmeasure"), None, "required", _kernel, {"k": ("asked", "returned")})
