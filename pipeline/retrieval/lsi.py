"""Latent semantic indexing: dense retrieval without a model, by TF-IDF and a truncated SVD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse

from goldbench.pipeline.measures.ranks.order import in_tie_order
from goldbench.pipeline.measures.statistics.floats import of_finite_numbers
from goldbench.pipeline.retrieval.corpus_words import Lexicon, SharedWords
from goldbench.pipeline.retrieval.saved_indexes import Arrays, SavedIndexes, checked, numbered, packed
from goldbench.pipeline.retrieval.stopwatch import Stopwatch, Took
from goldbench.pipeline.retrieval.system_settings import Lexical, LSISettings
from goldbench.pipeline.retrieval.tfidf import QueryWeights, TfIdf
from goldbench.pipeline.retrieval.token_files import TokenFiles
from goldbench.pipeline.retrieval.tokens import Tokenizer, cut
from goldbench.pipeline.retrieval.vectors import Rows, VectorIndex

_NOTHING = 1e-7
"""A text of length 1 whose image is shorter than this has nothing in common with the corpus."""
_EXACT = 2000
"""Most passages whose singular vectors are computed exactly, from their likenesses to each other."""
_BLURRED = 1e-11
"""Squares of singular values below this share of the largest are blurred by rounding."""
_BLURRED_PRODUCTS = 1e-9
_ITERATIONS, _SPARE, _BLOCK = 2, 10, 8192
"""On five collections of 1,000 to 11,000 passages nDCG@10 differs no more between 1 and 5 iterations than by seed."""
_COMMON = 200
"""Dimensions that are computed even if fewer are asked for, so that systems with different ones share a space."""


class Space:
    """The space of a corpus: weights of terms, and their largest singular vectors; computed once for several systems.

    Args:
        settings: Dimensions and the seed of the randomized SVD.
        tokens: How texts are cut into terms.
        words: As in `Lexicon`.
        stopwatch: As in `Dense`, for the SVD and its projections; counts them again for each system that uses them.
    """

    def __init__(
        self,
        settings: LSISettings,
        *,
        tokens: Tokenizer | TokenFiles,
        stopwatch: Stopwatch,
        words: SharedWords | None = None,
        saved: SavedIndexes | None = None,
    ) -> None:
        self._settings, self._dimensions, self._seed = settings, common(settings), settings.seed
        self._saved = saved or SavedIndexes()
        self._lexicon, self._stopwatch = Lexicon(tokens, words), stopwatch
        self._ids: list[str] = []
        self._passages: Mapping[str, str] | None = None
        self._took = Took(0.0, {})
        self._weights: QueryWeights | None = None
        self._axes: npt.NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._rows: Rows = np.empty((0, 0), dtype=np.float32)

    def passages(self, passages: Mapping[str, str]) -> tuple[list[str], Rows]:
        """Return the ids of passages, and their vectors, whose dimensions go by falling singular value."""
        if passages is self._passages:
            self._stopwatch.count_again(self._took)
            return self._ids, self._rows
        self._passages = None
        took = self._stopwatch.started()
        self._ids = in_tie_order(passages)
        shape = self._settings.model_dump(mode="json", include={*Lexical.model_fields, "kind", "seed"})
        self._weights, self._axes, self._rows = self._saved.kept(
            f"{shape} {self._dimensions}",
            passages,
            names=("vocabulary", "rarity", "axes", "rows"),
            make=lambda: self._made(passages),
            opened=lambda found: _opened(found, len(passages)),
        )
        self._passages, self._took = passages, took()
        return self._ids, self._rows

    def _made(self, passages: Mapping[str, str]) -> Arrays:
        _, found = self._lexicon.occurrences(passages)
        with self._stopwatch.timing("embed"):
            tfidf = TfIdf(found)
            weights = tfidf.rows()
            axes = _axes(weights, self._dimensions, self._seed)
            rows = (weights @ axes).astype(np.float32)
        vocabulary = packed(found.vocabulary)
        return {"vocabulary": vocabulary, "rarity": tfidf.queries.rarity, "axes": axes, "rows": rows}

    def queries(self, queries: Mapping[str, str]) -> Rows:
        """Return the vectors of queries, in the order of the mapping; 0 for those without a term of the corpus."""
        rows = np.zeros((len(queries), self._axes.shape[1]), dtype=np.float32)
        if self._weights is None:
            return rows
        with self._stopwatch.timing("embed"):
            for place, terms in enumerate(cut(self._lexicon.tokens, queries)):
                numbers, weights = self._weights.of(terms)
                rows[place] = weights.astype(np.float32) @ self._axes[numbers]
        return rows


def _opened(found: Arrays, size: int) -> tuple[QueryWeights, npt.NDArray[np.float32], Rows]:
    """Return what terms weigh in a query, the axes and the vectors of the passages.

    Args:
        found: The arrays of the index.
        size: The number of passages.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    vocabulary = numbered(found["vocabulary"])
    rarity = checked(found["rarity"], np.float64, len(vocabulary))
    width = found["axes"].size // max(1, len(vocabulary))
    axes = checked(found["axes"], np.float32, len(vocabulary), width)
    rows = checked(found["rows"], np.float32, size, width)
    return QueryWeights(vocabulary, rarity), axes, rows


def common(settings: LSISettings) -> int:
    """Return how many dimensions are computed for a system, so that systems with other dimensions can share them."""
    return max(settings.dimensions, _COMMON)


class LSI:
    """An index of passages in the space of the corpus's largest singular vectors, compared by cosine.

    Source: Deerwester et al., JASIS 41 (1990), with damped counts. The singular vectors are exact for up to 2,000
    passages, and those of the randomized SVD of Halko et al., SIAM Review 53 (2011), for more, with a seed.
    """

    def __init__(self, settings: LSISettings, space: Space) -> None:
        """Take the settings and the space, and make an empty index.

        Args:
            settings: Dimensions, and how vectors are searched.
            space: Turns texts into vectors.
        """
        self._settings, self._space = settings, space
        self._index = VectorIndex(settings)
        self._indexed: frozenset[str] = frozenset()
        self._width = 0

    def index(self, passages: Mapping[str, str]) -> None:
        """Fit the space to the passages and index them; a passage without a term is never found."""
        self._indexed = frozenset()
        every, rows = self._space.passages(passages)
        rows = rows[:, : self._settings.dimensions]
        known = np.linalg.norm(rows, axis=1) > _NOTHING
        ids = [doc_id for doc_id, is_known in zip(every, known, strict=True) if is_known]
        self._index.index(ids, rows[known])
        self._indexed, self._width = frozenset(ids), rows.shape[1]

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with their cosine, best first; none without a known term."""
        found: dict[str, dict[str, float]] = {query_id: {} for query_id in queries}
        if not self._indexed or not queries:
            return found
        rows = self._space.queries(queries)[:, : self._settings.dimensions]
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
        if weights.shape[0] <= _EXACT:
            return _exact_axes(weights, dimensions)
        return _randomized_axes(weights.astype(np.float32), dimensions, seed)


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
