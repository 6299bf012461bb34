"""The measure precision at k."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def precision(ranked: Ranked, k: int, rel: int, options: Options) -> float:
    """Return the share of relevant documents among the first k.

    Formula: |relevant in the first k| / k, also when fewer than k were retrieved. ``p@k(k=returned)`` divides by
    min(k, retrieved), as LlamaIndex and ragas do; without a cutoff by all retrieved, as ``set_P`` of trec_eval and
    ``SetP`` of ir_measures do. Nothing retrieved is 0.
    Range: 0 to 1.
    Source: trec_eval ``P``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
        options: Options of the measure.
    """
    size = min(k, ranked.retrieved) if options.get("k") == "returned" else k
    return ranked.hits(k, rel) / size if size else 0.0


PRECISION = Family("p", ("precision", "prec"), "P", "required", precision, {"k": ("asked", "returned")})
