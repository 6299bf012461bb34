"""Average precision: the mean of the precisions at the ranks of the relevant documents; its mean is MAP.

Formula: sum over relevant documents at ranks r <= k of |relevant in the first r| / r, divided by |relevant|.
Range: 0 to 1.
Variants divide by something else: ``norm=hits`` by the relevant documents among the first k (ragas' context precision,
many blogs), ``norm=min`` by min(k, |relevant|) (Kaggle's ``apk``).
Source: trec_eval ``map`` and ``map_cut``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, rel: int, options: Mapping[str, str]) -> Kernel:
    norm = options.get("norm")

    def average_precision(ranked: Ranked) -> float:
        ranks, total = ranked.relevant(rel)
        precisions, found = 0.0, 0
        for rank in ranks:
            if rank > k:
                break
            found += 1
            precisions += found / rank
        if not found:
            return 0.0
        return precisions / (found if norm == "hits" else min(k, total) if norm == "min" else total)

    return average_precision


AVERAGE_PRECISION = Family(
    "map", ("ap", "mapcut", "averageprecision", "meanaverageprecision"), "AP", "optional", _kernel,
    {"norm": ("relevant", "hits", "min")},
)  # fmt: skip
