"""Maximal marginal relevance: results that are relevant and unlike those above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pipeline.measures.statistics.floats import of_finite_numbers
from pipeline.ports import Retriever
from pipeline.retrieval.analyzer_names import Analyzer, Normalisation
from pipeline.retrieval.fusion import normalised
from pipeline.retrieval.lsi import weighed
from pipeline.retrieval.reorder import by_rank
from pipeline.retrieval.system_settings import MMRSettings
from pipeline.retrieval.token_files import TokenFiles
from pipeline.retrieval.tokens import Tokenizer, tokenizer

Likenesses = npt.NDArray[np.float64]


class HasVectors(Protocol):
    """A retriever that has a vector for each passage."""

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages."""

    def passage_vectors(self, ids: Sequence[str]) -> npt.NDArray[Any]:
        """Return the normalised vectors of these passages."""


class MMR:
    """The first ``depth`` results of the system ``of``, chosen one after another; the others below, in their order.

    Chosen next is the result with the greatest ``lambda * relevance - (1 - lambda) * likeness``, its likeness being the
    greatest cosine with a result chosen already, 0 where there is none; of equal ones the earlier. Relevance is the
    score of ``of``: as it is where that is a cosine too, else brought to 0 to 1 over these results. Scores are ranks.

    Source: Carbonell and Goldstein, SIGIR 1998.
    """

    def __init__(
        self,
        settings: MMRSettings,
        *,
        name: str,
        of: Retriever,
        by: HasVectors | None = None,
        cosine: bool = False,
        tokens: Tokenizer | TokenFiles | None = None,
    ) -> None:
        """Take the system whose results are chosen from, and the one whose vectors tell how like passages are.

        Args:
            settings: lambda and depth.
            name: the system's name.
            of: the system whose results are chosen from.
            by: has the vectors; without it TF-IDF tells.
            cosine: whether the scores of ``of`` are cosines.
            tokens: how TF-IDF cuts texts; words where none is given.
        """
        self._settings, self._name, self._of, self._by = settings, name, of, by
        self._cosine = cosine
        self._weights = None if by is not None else _TfIdf(tokens or tokenizer(Analyzer.UNICODE))

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages in the system below, and where likeness is told."""
        self._of.index(passages)
        if self._weights is not None:
            self._weights.index(passages)
        elif self._by is not None and self._by is not cast("object", self._of):
            self._by.index(passages)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages, best first, scored by rank."""
        found = self._of.search(queries, k=max(k, self._settings.depth))
        return {query_id: by_rank(self._chosen(found[query_id]), k=k) for query_id in queries}

    def _chosen(self, scores: Mapping[str, float]) -> list[str]:
        depth = self._settings.depth
        head, rest = list(scores)[:depth], list(scores)[depth:]
        if len(head) < 2:
            return [*head, *rest]
        relevance = {doc_id: scores[doc_id] for doc_id in head}
        if not self._cosine:
            relevance = normalised(relevance, Normalisation.MIN_MAX)
        order = marginal_order(list(relevance.values()), self._likenesses(head), self._settings.lambda_)
        return [*(head[place] for place in order), *rest]

    def _likenesses(self, ids: Sequence[str]) -> Likenesses:
        if self._weights is not None:
            return self._weights.likenesses(ids)
        assert self._by is not None
        rows = np.asarray(self._by.passage_vectors(ids), dtype=np.float64)
        with of_finite_numbers():
            return rows @ rows.T


def marginal_order(relevance: Sequence[float], likeness: Likenesses, lambda_: float) -> list[int]:
    """Return the places of the results in the order in which maximal marginal relevance chooses them.

    Args:
        relevance: how relevant each result is, the results in the order of the system they are from.
        likeness: how like each two results are, a square matrix.
        lambda_: the weight of relevance, 0 to 1; the rest is that of unlikeness.
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


class _TfIdf:
    """Passages as TF-IDF weights of length 1."""

    def __init__(self, tokens: Tokenizer | TokenFiles) -> None:
        self._tokens = tokens
        self._places: dict[str, int] = {}
        self._rows: sparse.csr_matrix | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        self._places = {doc_id: place for place, doc_id in enumerate(passages)}
        fitted = weighed(self._tokens, passages)
        self._rows = None if fitted is None else fitted[1]

    def likenesses(self, ids: Sequence[str]) -> Likenesses:
        if self._rows is None:
            return np.zeros((len(ids), len(ids)))
        rows = self._rows[[self._places[doc_id] for doc_id in ids]]
        likeness: Likenesses = (rows @ rows.T).toarray().astype(np.float64)
        return likeness
