"""Reranking: a model that reads query and passage together rates the first results of another system."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from pipeline.errors import RetrieverFailed
from pipeline.ports import Retriever
from pipeline.retrieval.reorder import above_the_rest
from pipeline.retrieval.stopwatch import Stopwatch
from pipeline.retrieval.system_settings import CrossEncoderSettings, RerankEndpointSettings

RateAll = Callable[[Sequence[tuple[str, Sequence[str]]]], Sequence[Sequence[float]]]
"""For each query and its passages one score per passage, in order; the higher the better."""


class Reranker:
    """The first ``depth`` results of the system ``of`` by the scores of a model; the others below, in their order."""

    def __init__(
        self,
        settings: RerankEndpointSettings | CrossEncoderSettings,
        *,
        name: str,
        of: Retriever,
        rate_all: RateAll,
        stopwatch: Stopwatch,
    ) -> None:
        """Take the depth, the system's name, the system whose results are rated, and what rates them."""
        self._depth, self._name, self._of, self._rate_all = settings.depth, name, of, rate_all
        self._stopwatch = stopwatch
        self._passages: Mapping[str, str] = {}

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below, and keep hold of their texts."""
        self._passages = passages
        self._of.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first.

        Raises:
            RetrieverFailed: the model did not give one finite score for each passage.
        """
        found = self._of.search(queries, k=max(k, self._depth))
        heads = {query_id: list(found[query_id])[: self._depth] for query_id in queries if found[query_id]}
        pairs = [(queries[query_id], [self._passages[doc_id] for doc_id in head]) for query_id, head in heads.items()]
        with self._stopwatch.timing("rerank"):
            rates = self._rate_all(pairs) if pairs else []
        rated = {
            query_id: self._checked(head, scores) for (query_id, head), scores in zip(heads.items(), rates, strict=True)
        }
        return {
            query_id: above_the_rest(rated.get(query_id, {}), list(found[query_id])[self._depth :], k=k)
            for query_id in queries
        }

    def _checked(self, head: Sequence[str], scores: Sequence[float]) -> dict[str, float]:
        if len(scores) != len(head):
            raise RetrieverFailed(self._name, f"the reranker rated {len(scores)} of {len(head)} passages")
        numbers = [float(score) for score in scores]
        if not all(map(math.isfinite, numbers)):
            raise RetrieverFailed(self._name, "the reranker gave a score that is no finite number")
        return dict(zip(head, numbers, strict=True))


class EndpointReranker(Reranker):
    """A reranker behind a ``/rerank`` endpoint, as Cohere and Jina serve it; its scores come by the model path."""
