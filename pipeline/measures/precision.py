"""Precision: the share of relevant documents among the first k.

Formula: |relevant in the first k| / k, also when fewer than k were retrieved. Range: 0 to 1.
``p@k(k=returned)`` divides by min(k, retrieved), as LlamaIndex and ragas do; without a cutoff by all retrieved, as
``set_P`` of trec_eval and ``SetP`` of ir_measures do. Nothing retrieved is 0.
Source: trec_eval ``P``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, rel: int, options: Mapping[str, str]) -> Kernel:
    returned = options.get("k") == "returned"

    def precision(ranked: Ranked) -> float:
        size = min(k, ranked.retrieved) if returned else k
        return ranked.hits(k, rel) / size if size else 0.0

    return precision


PRECISION = Family("p", ("precision", "prec"), "P", "required", _kernel, {"k": ("asked", "returned")})
