"""Latent semantic indexing: dense retrieval without a model, by TF-IDF and a truncated SVD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from goldbench.measures.ranks.order import in_tie_order
from goldbench.measures.statistics.floats import of_finite_numbers
from goldbench.retrieval.corpus_words import occurrences_in
from goldbench.retrieval.saved_indexes import Arrays, SavedIndexes, checked, numbered, packed
from goldbench.retrieval.stopwatch import Stopwatch, Took
from goldbench.retrieval.system_settings import EXACT_PASSAGES, Lexical, LSISettings
from goldbench.retrieval.tfidf import QueryWeights, TfIdf
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer, cut
from goldbench.retrieval.vectors import Rows, VectorIndex

_NOTHING = 1e-7
"""A text of length 1 whose image is shorter than this has nothing in common with the corpus."""
_BLURRED = 1e-11
"""Squares of singular values below this share of the largest are blurred by rounding."""
_BLURRED_PRODUCTS = 1e-9
"""As above, where the squares come from columns in single precision."""
_ITERATIONS = 2
"""Iterations of the randomized SVD.

On five collections of 1,000 to 11,000 passages nDCG@10 differs no more between 1 and 5 iterations than by seed.
"""
_SPARE = 10
"""Dimensions that the randomized SVD computes beyond those that are asked for, and drops; they make these exacter."""
_BLOCK = 8192
"""Rows whose products are summed in double precision at once, which bounds the memory of the copy."""
_COMMON = 200
"""Dimensions that are computed even if fewer are asked for, so that systems with different ones share a space."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What turns terms into vectors: their weights in a query, and the singular vectors (terms by dimensions)."""

    weights: QueryWeights
    columns: npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The space of one corpus: its axes, and the vectors of its passages, whose ids are in tie order.

    The dimensions go by falling singular value.
    """

    ids: list[str]
    rows: Rows
    axes: Axes


class Space:
    """The space of a corpus: weights of terms, and their largest singular vectors; computed once for several systems.

    Args:
        settings: Dimensions and the seed of the randomized SVD.
        tokens: How texts are cut into terms.
        stopwatch: As in `Dense`, for the SVD and its projections; counts them again for each system that uses them.
    """

    def __init__(
        self,
        settings: LSISettings,
        *,
        tokens: Tokenizer | TokenFiles,
        stopwatch: Stopwatch,
        saved: SavedIndexes | None = None,
    ) -> None:
        self._settings, self._dimensions, self._seed = settings, common(settings), settings.seed
        self._saved = saved or SavedIndexes()
        self._tokens, self._stopwatch = tokens, stopwatch
        self._passages: Mapping[str, str] | None = None
        self._fitted: Fitted | None = None
        self._took = Took(0.0, {})

    def passages(self, passages: Mapping[str, str]) -> Fitted:
        """Return the space of passages with their vectors, computed unless this very mapping was computed last."""
        if self._fitted is not None and passages is self._passages:
            self._stopwatch.count_again(self._took)
            return self._fitted
        self.forget()
        took = self._stopwatch.started()
        shape = self._settings.model_dump(mode="json", include={*Lexical.model_fields, "kind", "seed"})
        fitted = self._saved.kept(
            f"{shape} {self._dimensions}",
            passages,
            names=("vocabulary", "rarity", "axes", "rows"),
            make=lambda: self._made(passages),
            opened=lambda found: _opened(found, in_tie_order(passages)),
        )
        self._passages, self._fitted, self._took = passages, fitted, took()
        return fitted

    def forget(self) -> None:
        """Forget the passages and their vectors; systems that were indexed search on."""
        self._passages = self._fitted = None

    def _made(self, passages: Mapping[str, str]) -> Arrays:
        found = occurrences_in(passages, self._tokens)
        vocabulary = packed(found.vocabulary)
        with self._stopwatch.timing("embed"):
            tfidf = TfIdf(found)
            rarity = tfidf.queries.rarity
            # Else products with the axes hold both in double precision.
            weights = tfidf.rows(np.float32 if tfidf.size > EXACT_PASSAGES else np.float64)
            del found, tfidf  # as large as the weights, which are all that is needed from here on
            axes = _axes(weights, self._dimensions, self._seed)
            rows = (weights @ axes).astype(np.float32, copy=False)
        return {"vocabulary": vocabulary, "rarity": rarity, "axes": axes, "rows": rows}

    def queries(self, queries: Mapping[str, str], axes: Axes) -> Rows:
        """Return the vectors of queries, in the order of the mapping; 0 for those without a term of the corpus.

        Args:
            queries: The texts by id.
            axes: The axes that the space had for the passages to search.
        """
        rows = np.zeros((len(queries), axes.columns.shape[1]), dtype=np.float32)
        with self._stopwatch.timing("embed"):
            for place, terms in enumerate(cut(self._tokens, queries)):
                numbers, weights = axes.weights.of(terms)
                rows[place] = weights.astype(np.float32) @ axes.columns[numbers]
        return rows


def _opened(found: Arrays, ids: list[str]) -> Fitted:
    """Return a space over arrays.

    Args:
        found: The arrays.
        ids: The ids of the passages in tie order.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    vocabulary = numbered(found["vocabulary"])
    width = found["axes"].size // max(1, len(vocabulary))
    weights = QueryWeights(vocabulary, checked(found["rarity"], np.float64, len(vocabulary)))
    columns = checked(found["axes"], np.float32, len(vocabulary), width)
    return Fitted(ids, checked(found["rows"], np.float32, len(ids), width), Axes(weights, columns))


def common(settings: LSISettings) -> int:
    """Return how many dimensions are computed for a system, so that systems with other dimensions can share them."""
    return max(settings.dimensions, _COMMON)


class LSI:
    """An index of passages in the space of the corpus's largest singular vectors, compared by cosine.

    Source: Deerwester et al., JASIS 41 (1990), with damped counts. The singular vectors are exact for up to
    `EXACT_PASSAGES` passages, and those of the randomized SVD of Halko et al., SIAM Review 53 (2011), for more.
    """

    def __init__(self, settings: LSISettings, space: Space) -> None:
        """Take the settings and the space, and make an empty index.

        Args:
            settings: Dimensions, and how vectors are searched.
            space: Turns texts into vectors.
        """
        self._settings, self._space = settings, space
        self._index = VectorIndex(settings)
        self._axes: Axes | None = None
        self._indexed: frozenset[str] = frozenset()
        self._width = 0

    def index(self, passages: Mapping[str, str]) -> None:
        """Fit the space to the passages and index them; a passage without a term is never found."""
        self._axes, self._indexed = None, frozenset()
        fitted = self._space.passages(passages)
        rows = fitted.rows[:, : self._settings.dimensions]
        known = np.linalg.norm(rows, axis=1) > _NOTHING
        ids = [doc_id for doc_id, is_known in zip(fitted.ids, known, strict=True) if is_known]
        self._index.index(ids, rows[known])
        self._axes, self._indexed, self._width = fitted.axes, frozenset(ids), rows.shape[1]

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their cosine, best first; none without a known term."""
        found: dict[str, dict[str, float]] = {query_id: {} for query_id in queries}
        if self._axes is None or not self._indexed or not queries:
            return found
        rows = self._space.queries(queries, self._axes)[:, : self._settings.dimensions]
        known = np.linalg.norm(rows, axis=1) > _NOTHING
        ids = [query_id for query_id, is_known in zip(queries, known, strict=True) if is_known]
        return found | self._index.search(ids, rows[known], k=k)

    def passage_vectors(self, ids: Sequence[str]) -> Rows:
        """Return the normalised vectors of these passages, 0 for those without a term."""
        rows = np.zeros((len(ids), self._width), dtype=np.float32)
        has = [place for place, doc_id in enumerate(ids) if doc_id in self._indexed]
        if has:
            rows[has] = self._index.rows_of([ids[place] for place in has])
        return rows


def _axes(weights: sparse.csr_matrix, dimensions: int, seed: int) -> npt.NDArray[np.float32]:
    """Return the right singular vectors as columns (terms by dimensions), at most as many as the corpus has."""
    dimensions = min(dimensions, *weights.shape)
    if not dimensions or not weights.nnz:
        return np.empty((weights.shape[1], 0), dtype=np.float32)
    with of_finite_numbers():
        if weights.shape[0] <= EXACT_PASSAGES:
            return _exact_axes(weights, dimensions)
        return _randomized_axes(weights, dimensions, seed)


def _randomized_axes(weights: sparse.csr_matrix, dimensions: int, seed: int) -> npt.NDArray[np.float32]:
    """Return the right singular vectors by subspace iteration from a random start, with a few spare dimensions."""
    start = np.random.default_rng(seed).standard_normal((weights.shape[1], dimensions + _SPARE), dtype=np.float32)
    for _ in range(_ITERATIONS):
        start = _orthonormal(weights.T @ _orthonormal(weights @ start))
    image = weights.T @ _orthonormal(weights @ start)
    squares, turn = linalg.eigh(_products(image))
    squares, turn = squares[::-1][:dimensions], turn[:, ::-1][:, :dimensions]
    kept = squares > _BLURRED_PRODUCTS * squares[0]
    return np.asarray(image @ (turn[:, kept] / np.sqrt(squares[kept])), dtype=np.float32)


def _orthonormal(columns: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return orthonormal columns that span the same, without the directions that rounding blurs.

    By the eigenvectors of the products of the columns, which is many times faster than a QR decomposition.
    """
    squares, turn = linalg.eigh(_products(columns))
    kept = squares > _BLURRED_PRODUCTS * squares[-1]
    return np.asarray(columns @ (turn[:, kept] / np.sqrt(squares[kept])).astype(np.float32))


def _products(columns: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the products of columns with each other, summed in double precision over blocks of rows."""
    total = np.zeros((columns.shape[1], columns.shape[1]))
    for start in range(0, len(columns), _BLOCK):
        block = columns[start : start + _BLOCK].astype(np.float64)
        total += block.T @ block
    return total


def _exact_axes(weights: sparse.csr_matrix, dimensions: int) -> npt.NDArray[np.float32]:
    """Return the right singular vectors by way of the left ones: those of the likenesses between the passages."""
    likenesses = (weights @ weights.T).toarray()
    last = len(likenesses) - 1
    squares, left = linalg.eigh(likenesses, subset_by_index=(last - dimensions + 1, last))
    squares, left = squares[::-1], left[:, ::-1]
    kept = squares > _BLURRED * squares[0]
    return np.asarray(weights.T @ (left[:, kept] / np.sqrt(squares[kept])), dtype=np.float32)
