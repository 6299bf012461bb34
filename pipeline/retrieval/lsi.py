"""Latent semantic indexing: dense retrieval without a model, by TF-IDF and a truncated SVD of scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.extmath import randomized_svd

from goldbench.pipeline.measures.statistics.floats import of_finite_numbers
from goldbench.pipeline.retrieval.stopwatch import Stopwatch
from goldbench.pipeline.retrieval.system_settings import LSISettings
from goldbench.pipeline.retrieval.token_files import TokenFiles
from goldbench.pipeline.retrieval.tokens import Tokenizer, cut
from goldbench.pipeline.retrieval.vectors import Rows, VectorIndex

_NOTHING = 1e-7
"""A text of length 1 whose image is shorter than this has nothing in common with the corpus."""


class LSI:
    """An index of passages in the space of the corpus's largest singular vectors, compared by cosine.

    A term weighs (1 + ln f) * (1 + ln((1 + N) / (1 + n))): f its count in the text, n the passages of N that have it.

    Source: Deerwester et al., JASIS 41 (1990); the weights are scikit-learn's, with ``sublinear_tf``. The SVD is the
    randomized one of Halko et al., SIAM Review 53 (2011), so a seed makes it repeatable.
    """

    def __init__(self, settings: LSISettings, *, tokens: Tokenizer | TokenFiles, stopwatch: Stopwatch) -> None:
        """Store the settings and the tokenizer, and make an empty index.

        Args:
            settings: Dimensions, seed, and how vectors are searched.
            tokens: How texts are cut into terms.
            stopwatch: As in `Dense`, for the SVD and its projections.
        """
        self._settings, self._tokens, self._stopwatch = settings, tokens, stopwatch
        self._index = VectorIndex(settings)
        self._weigher: TfidfVectorizer | None = None
        self._axes: npt.NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._indexed: frozenset[str] = frozenset()

    def index(self, passages: Mapping[str, str]) -> None:
        """Fit the space to the passages and index them; a passage without a term is never found."""
        with self._stopwatch.timing("embed"):
            ids, rows = self._fit(passages)
        self._index.index(ids, rows)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their cosine, best first; none without a known term."""
        found: dict[str, dict[str, float]] = {query_id: {} for query_id in queries}
        if self._weigher is None or not queries:
            return found
        with self._stopwatch.timing("embed"):
            rows = self._weigher.transform(cut(self._tokens, queries)) @ self._axes
            known = np.linalg.norm(rows, axis=1) > _NOTHING
        ids = [query_id for query_id, is_known in zip(queries, known, strict=True) if is_known]
        return found | self._index.search(ids, rows[known], k=k)

    def passage_vectors(self, ids: Sequence[str]) -> Rows:
        """Return the normalised vectors of these passages, 0 for those without a term."""
        rows = np.zeros((len(ids), self._axes.shape[1]), dtype=np.float32)
        has = [place for place, doc_id in enumerate(ids) if doc_id in self._indexed]
        if has:
            rows[has] = self._index.rows_of([ids[place] for place in has])
        return rows

    def _fit(self, passages: Mapping[str, str]) -> tuple[list[str], Rows]:
        self._weigher, self._axes = None, np.empty((0, 0), dtype=np.float32)
        self._indexed = frozenset()
        fitted = weighed(self._tokens, passages)
        if fitted is None:
            return [], np.empty((0, 0), dtype=np.float32)
        self._weigher, weights = fitted
        self._axes = _axes(weights, self._settings)
        rows = weights @ self._axes
        known = np.linalg.norm(rows, axis=1) > _NOTHING
        ids = [doc_id for doc_id, is_known in zip(passages, known, strict=True) if is_known]
        self._indexed = frozenset(ids)
        return ids, rows[known]


def _axes(weights: sparse.csr_matrix, settings: LSISettings) -> npt.NDArray[np.float32]:
    """Return the right singular vectors as columns (terms by dimensions), at most as many as the corpus has."""
    dimensions = min(settings.dimensions, *weights.shape)
    with of_finite_numbers():
        _, sizes, right = randomized_svd(weights, dimensions, n_iter=5, random_state=settings.seed)
    right = right[sizes > _NOTHING * sizes[0]]
    return np.ascontiguousarray(right.T, dtype=np.float32)


def weighed(
    tokens: Tokenizer | TokenFiles, passages: Mapping[str, str]
) -> tuple[TfidfVectorizer, sparse.csr_matrix] | None:
    """Return a vectorizer fitted to the passages and their TF-IDF weights, rows of length 1; None without terms."""
    terms = 0

    def counted() -> Iterator[list[str]]:
        nonlocal terms
        for found in cut(tokens, passages):
            terms += len(found)
            yield found

    weigher = TfidfVectorizer(analyzer=list, sublinear_tf=True, dtype=np.float32)
    try:
        return weigher, weigher.fit_transform(counted())
    except ValueError:  # raised for a corpus without terms, and perhaps for other reasons
        if terms:
            raise
        return None
