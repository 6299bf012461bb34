"""Fusion: the results of several systems as one list, by their ranks or by their scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from goldbench.measures.ranks.order import best
from goldbench.ports import Retriever
from goldbench.retrieval.analyzer_names import Normalisation
from goldbench.retrieval.system_settings import RRFSettings, WeightedSettings


class Fusion:
    """Several systems as one; each is searched for the same number of results: ``depth``, or ``k`` if that is more."""

    def __init__(self, settings: RRFSettings | WeightedSettings, *, of: Sequence[Retriever]) -> None:
        self._settings, self._of = settings, tuple(of)

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
        return weighted_scores(results, normalisation=settings.normalisation, weights=settings.weights)


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
    results: Sequence[Mapping[str, float]], *, normalisation: Normalisation, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Return for each document the weighted sum of its normalised scores.

    A document that a system did not find gets what the normalisation makes of the least score: 0 for ``min-max`` and
    ``sum``; for ``z-score`` the least normalised score, because 0 is that of an average document; 0 for ``none``.

    Args:
        results: The scores of each system for one query.
        normalisation: How the scores of a system become comparable.
        weights: As in `reciprocal_ranks`, one for each system.

    Source: weighted CombSUM, Fox and Shaw, TREC-2 (1994), over the normalisations of Montague and Aslam, CIKM 2001.
    """
    parts: dict[str, list[float]] = {doc_id: [] for scores in results for doc_id in scores}
    for scores, weight in zip(results, weights or [1.0] * len(results), strict=True):
        normal = normalised(scores, normalisation)
        absent = min(normal.values(), default=0.0) if normalisation is Normalisation.Z_SCORE else 0.0
        for doc_id, values in parts.items():
            values.append(weight * normal.get(doc_id, absent))
    return {doc_id: math.fsum(values) for doc_id, values in parts.items()}


def normalised(scores: Mapping[str, float], how: Normalisation) -> dict[str, float]:
    """Return the scores of one query made comparable with those of another system.

    Equal scores are 1 each by ``min-max``, 1 / n each by ``sum``, and 0 by ``z-score`` (population standard deviation).
    """
    if not scores or how is Normalisation.NONE:
        return dict(scores)
    values = list(scores.values())
    least, most = min(values), max(values)
    if how is Normalisation.MIN_MAX:
        span = most - least
        return {doc_id: (score - least) / span if span else 1.0 for doc_id, score in scores.items()}
    if how is Normalisation.SUM:
        total = math.fsum(score - least for score in values)
        return {doc_id: (score - least) / total if total else 1 / len(values) for doc_id, score in scores.items()}
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in values) / len(values))
    if most == least or not deviation:
        return dict.fromkeys(scores, 0.0)
    return {doc_id: (score - mean) / deviation for doc_id, score in scores.items()}
