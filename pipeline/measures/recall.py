"""Recall: the share of the relevant documents that stand among the first k.

Formula: |relevant in the first k| / |relevant|, 0 for a query without a relevant document. Range: 0 to 1.
Source: trec_eval ``recall``; without a cutoff ``set_recall``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, rel: int, _: Mapping[str, str]) -> Kernel:
    def recall(ranked: Ranked) -> float:
        total = ranked.relevant(rel)[1]
        return ranked.hits(k, rel) / total if total else 0.0

    return recall


RECALL = Family("r", ("recall", "rec"), "R", "optional", _kernel)
