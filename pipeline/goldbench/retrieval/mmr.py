"""Maximal marginal relevance: results that are relevant and differ from those above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from goldbench.measures.statistics.floats import of_finite_numbers
from goldbench.ports import Retriever
from goldbench.retrieval.fusion import normalised
from goldbench.retrieval.postings import Occurrences
from goldbench.retrieval.rerank import by_rank
from goldbench.retrieval.system_settings import Analyzer, MMRSettings
from goldbench.retrieval.tfidf import TfIdf
from goldbench.retrieval.tokens import tokenizer

Likenesses = npt.NDArray[np.float64]


class HasVectors(Retriever, Protocol):
    """A retriever that has a vector for each passage."""

    def passage_vectors(self, ids: Sequence[str]) -> npt.NDArray[Any]:
        """Return the normalised vectors of these passages."""


class MMR:
    """The first ``depth`` results of the system ``of``, chosen one after another; the others below, in their order.

    The next result is the one with the greatest ``lambda * relevance - (1 - lambda) * likeness``, the earlier of equal
    ones. Its likeness is the greatest cosine with a result chosen already, 0 if there is none. Its relevance is the
    score of ``of``: unchanged if that is a cosine too, else scaled to 0 to 1 over these results. Scores are ranks.

    Source: Carbonell and Goldstein, SIGIR 1998.
    """

    def __init__(
        self, settings: MMRSettings, *, of: Retriever, by: HasVectors | None = None, cosine: bool = False
    ) -> None:
        """Take the system whose results are ordered and what compares passages.

        Args:
            settings: The settings.
            of: The system whose results are ordered.
            by: The system whose vectors compare passages; None compares them by TF-IDF of words.
            cosine: Whether the scores of ``of`` are cosines.
        """
        self._settings = settings
        self._of = of
        self._by = by
        self._cosine = cosine
        self._positions: dict[str, int] = {}
        self._weights: sparse.csr_matrix | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below, and where they are compared."""
        self._of.index(passages)
        if self._by is None:
            counts = Occurrences.in_texts(passages.values(), tokenizer(Analyzer.UNICODE))
            self._positions = {doc_id: position for position, doc_id in enumerate(passages)}
            self._weights = TfIdf(counts).passages(counts).tocsr()
        elif self._by is not cast("object", self._of):
            self._by.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first, scored by rank."""
        results = self._of.search(queries, k=max(k, self._settings.depth))
        return {query_id: by_rank(self._chosen(results[query_id]), k=k) for query_id in queries}

    def _chosen(self, scores: Mapping[str, float]) -> list[str]:
        depth = self._settings.depth
        head = list(scores)[:depth]
        rest = list(scores)[depth:]
        if len(head) < 2:
            return [*head, *rest]
        relevance = {doc_id: scores[doc_id] for doc_id in head}
        if not self._cosine:
            relevance = normalised(relevance)
        order = marginal_order(list(relevance.values()), self._likenesses(head), self._settings.lambda_)
        return [*(head[position] for position in order), *rest]

    def _likenesses(self, ids: Sequence[str]) -> Likenesses:
        if self._by is None:
            assert self._weights is not None
            weights = self._weights[[self._positions[doc_id] for doc_id in ids]]
            return np.asarray((weights @ weights.T).toarray(), np.float64)
        rows = np.asarray(self._by.passage_vectors(ids), dtype=np.float64)
        with of_finite_numbers():
            return rows @ rows.T


def marginal_order(relevance: Sequence[float], likeness: Likenesses, lambda_: float) -> list[int]:
    """Return the places of the results in the order in which maximal marginal relevance chooses them.

    Args:
        relevance: The relevance of each result, in the order of the system they come from.
        likeness: The likeness of each two results, as a square matrix.
        lambda_: The weight of relevance, 0 to 1; likeness weighs the rest.
    """
    wanted = lambda_ * np.asarray(relevance, dtype=np.float64)
    nearest = np.zeros(len(wanted))
    left = np.ones(len(wanted), dtype=bool)
    order: list[int] = []
    while left.any():
        gain = np.where(left, wanted - (1 - lambda_) * nearest, -np.inf)
        chosen = int(np.argmax(gain))
        nearest = np.maximum(nearest, likeness[chosen]) if order else likeness[chosen].copy()
        order.append(chosen)
        left[chosen] = False
    return order
