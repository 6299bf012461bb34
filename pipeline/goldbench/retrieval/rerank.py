"""Reranking: a model that reads query and passage together rates the first results of another system."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from goldbench.errors import RetrieverFailed
from goldbench.measures.ranks.order import best
from goldbench.ports import Retriever
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import CrossEncoderSettings, RerankEndpointSettings

RateAll = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[Sequence[float]]]
"""Takes queries, each with its passages; returns for each query one score per passage, in order, higher is better."""


class Reranker:
    """The first ``depth`` results of the system ``of`` by the scores of a model; the others below, in their order."""

    def __init__(
        self,
        settings: RerankEndpointSettings | CrossEncoderSettings,
        *,
        of: Retriever,
        rate_all: RateAll,
        stopwatch: Stopwatch,
    ) -> None:
        """Store the system to rerank and the model that rates.

        Args:
            settings: The depth.
            of: The system whose results are rated.
            rate_all: Rates passages.
            stopwatch: Counts the time of the model as ``rerank``.
        """
        self._depth = settings.depth
        self._of = of
        self._rate_all = rate_all
        self._stopwatch = stopwatch
        self._passages: Mapping[str, str] = {}

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below, and keep their texts."""
        self._passages = passages
        self._of.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first.

        Raises:
            RetrieverFailed: The model did not give one list for each query with one finite score for each passage.
        """
        results = self._of.search(queries, k=max(k, self._depth))
        heads = {query_id: list(results[query_id])[: self._depth] for query_id in queries if results[query_id]}
        pairs = [(queries[query_id], [self._passages[doc_id] for doc_id in head]) for query_id, head in heads.items()]
        with self._stopwatch.timing("rerank"):
            rates = self._rate_all(pairs) if pairs else []
        if len(rates) != len(pairs):
            raise RetrieverFailed(f"the reranker returned scores for {len(rates)} of {len(pairs)} queries")
        rated = {query_id: _rated(head, scores) for (query_id, head), scores in zip(heads.items(), rates, strict=True)}
        return {
            query_id: above_the_rest(rated.get(query_id, {}), list(results[query_id])[self._depth :], k=k)
            for query_id in queries
        }


def above_the_rest(rated: Mapping[str, float], rest: Iterable[str], *, k: int) -> dict[str, float]:
    """Return the first ``k`` documents: the rated ones by their score, then the rest, scored below them.

    Args:
        rated: The scores of the documents that were rated.
        rest: The other documents, best first; each scores less than the one before it by the same step.
        k: Documents at most.
    """
    first = best(rated, k)
    lowest = min(rated.values(), default=0.0)
    step = max(1.0, abs(lowest) * 1e-9)  # a step of 1 might be lost to rounding beside a very large number
    below = itertools.islice(rest, max(0, k - len(first)))
    return first | {doc_id: lowest - step * position for position, doc_id in enumerate(below, start=1)}


def by_rank(order: Sequence[str], *, k: int) -> dict[str, float]:
    """Return the first ``k`` documents with the scores n, n - 1, …, 1 of their ranks among all n: no two are equal."""
    return {doc_id: float(len(order) - position) for position, doc_id in enumerate(order[:k])}


def _rated(head: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
    if len(scores) != len(head):
        raise RetrieverFailed(f"the reranker returned {len(scores)} scores for {len(head)} passages of a query")
    numbers = [float(score) for score in scores]
    if not all(map(math.isfinite, numbers)):
        raise RetrieverFailed("the reranker gave a score that is not a finite number")
    return dict(zip(head, numbers, strict=True))
