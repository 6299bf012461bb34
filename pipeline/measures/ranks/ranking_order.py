"""The order of every hit list: score descending, then id descending, as trec_eval orders equal scores."""

from __future__ import annotations

import heapq
from collections.abc import Mapping


def best(scores: Mapping[str, float], k: int) -> dict[str, float]:
    """Return the ``k`` documents of the highest scores, best first, equal scores by id descending."""
    top = heapq.nlargest(k, ((score, doc_id) for doc_id, score in scores.items()))
    return {doc_id: score for score, doc_id in top}
