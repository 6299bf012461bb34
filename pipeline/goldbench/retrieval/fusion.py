"""Fusion: the results of several systems as one list, by their ranks or by their scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from goldbench.measures.ranks.order import best
from goldbench.ports import Retriever
from goldbench.retrieval.system_settings import RRFSettings, WeightedSettings


class Fusion:
    """Several systems as one; each is searched for the same number of results: ``depth``, or ``k`` if that is more."""

    def __init__(self, settings: RRFSettings | WeightedSettings, *, of: Sequence[Retriever]) -> None:
        self._settings = settings
        self._of = tuple(of)

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in every system."""
        for retriever in self._of:
            retriever.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` of the documents that any system found, best first."""
        depth = max(k, self._settings.depth)
        runs = [retriever.search(queries, k=depth) for retriever in self._of]
        return {query_id: best(self._fused([run[query_id] for run in runs]), k) for query_id in queries}

    def _fused(self, results: Sequence[Mapping[str, float]]) -> dict[str, float]:
        settings = self._settings
        if isinstance(settings, RRFSettings):
            return reciprocal_ranks(results, k=settings.k, weights=settings.weights)
        return weighted_scores(results, weights=settings.weights)


def reciprocal_ranks(
    rankings: Sequence[Iterable[str]], *, k: float, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Return for each document the sum over the rankings that hold it of ``weight / (k + rank)``; ranks count from 1.

    A ranking that lacks a document adds nothing to it.

    Args:
        rankings: Ids of documents, best first.
        k: Added to each rank, 0 or more: the greater, the less the first ranks stand out.
        weights: One for each ranking, 0 or more; None gives every ranking 1.

    Source: Cormack, Clarke and Büttcher, SIGIR 2009 (there k is 60 and every weight 1).
    """
    parts: dict[str, list[float]] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, doc_id in enumerate(ranking, start=1):
            parts.setdefault(doc_id, []).append(weight / (k + rank))
    return {doc_id: math.fsum(shares) for doc_id, shares in parts.items()}


def weighted_scores(
    results: Sequence[Mapping[str, float]], *, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Return for each document the weighted sum of its normalised scores; one that a system did not find gets 0.

    Args:
        results: The scores of each system for one query.
        weights: One for each system, 0 or more; None gives every system 1.

    Source: weighted CombSUM, Fox and Shaw, TREC-2 (1994), over the min-max scores of Montague and Aslam, CIKM 2001.
    """
    parts: dict[str, list[float]] = {}
    for scores, weight in zip(results, weights or [1.0] * len(results), strict=True):
        for doc_id, score in normalised(scores).items():
            parts.setdefault(doc_id, []).append(weight * score)
    return {doc_id: math.fsum(values) for doc_id, values in parts.items()}


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of one query from 0 for the lowest to 1 for the best; equal scores are 1 each."""
    least = min(scores.values(), default=0.0)
    most = max(scores.values(), default=0.0)
    span = most - least
    return {doc_id: (score - least) / span if span else 1.0 for doc_id, score in scores.items()}
