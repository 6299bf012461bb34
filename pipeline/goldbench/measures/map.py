"""The measure average precision, whose mean over queries is MAP."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def average_precision(ranked: Ranked, k: int, rel: int, options: Options) -> float:
    """Return the mean of the precisions at the ranks of the relevant documents.

    Formula: sum over relevant documents at ranks r <= k of |relevant in the first r| / r, divided by |relevant|.
    Variants divide by something else: ``norm=hits`` by the relevant documents among the first k (ragas' context
    precision, many blogs), ``norm=min`` by min(k, |relevant|) (Kaggle's ``apk``).
    Range: 0 to 1.
    Source: trec_eval ``map`` and ``map_cut``.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
        options: Options of the measure.
    """
    ranks, total = ranked.relevant(rel)
    precisions, found = 0.0, 0
    for rank in ranks:
        if rank > k:
            break
        found += 1
        precisions += found / rank
    if not found:
        return 0.0
    norm = options.get("norm")
    return precisions / (found if norm == "hits" else min(k, total) if norm == "min" else total)


AVERAGE_PRECISION = Family(
    "map", ("ap", "mapcut", "averageprecision", "meanaverageprecision"), "AP", "optional", average_precision,
    {"norm": ("relevant", "hits", "min")},
)  # fmt: skip
