"""The measure recall at k."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def recall(ranked: Ranked, k: int, rel: int, _: Options) -> float:
    """Return the share of the relevant documents that stand among the first k.

    Formula: |relevant in the first k| / |relevant|, 0 for a query without a relevant document.
    Range: 0 to 1.
    Source: trec_eval ``recall``; without a cutoff ``set_recall``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
    """
    total = ranked.relevant(rel)[1]
    return ranked.hits(k, rel) / total if total else 0.0


RECALL = Family("r", ("recall", "rec"), "R", "optional", recall)
