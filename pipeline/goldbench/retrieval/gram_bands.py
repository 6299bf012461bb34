"""The n-grams of a corpus: how often each occurs, in bands of passages, and the best passages by cosine.

N-grams are common, so a query compares most passages. What an n-gram weighs is computed when it is searched, so that
three or four bytes are kept for each n-gram of a passage, and four for each n-gram of the corpus and band.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from goldbench.measures.ranks.best_so_far import BestSoFar
from goldbench.retrieval.postings import Floats, Occurrences, best_places

if TYPE_CHECKING:
    from scipy import sparse

_ROWS = 2**12
"""Passages per band: fewer than 65,536, because a place takes two bytes."""
_CELLS, _FEWEST_ROWS = 2**18, 32
"""Weights, and passages, that are laid out at once: few enough to stay near the processor while all queries pass."""


@dataclass(slots=True)
class Band:
    """The counts of n-grams in some passages; arrays as in `Occurrences`, with places from the first passage on.

    ``lengths`` are those of the vectors of the passages, before these are brought to length 1; ``weights`` what each
    n-gram weighs then, once it is needed for a single query.
    """

    starts: npt.NDArray[np.int32]
    places: npt.NDArray[np.uint16]
    counts: npt.NDArray[np.unsignedinteger[Any]]
    lengths: Floats
    weights: Floats | None = None


class GramBands:
    """The n-grams of a corpus.

    Args:
        texts: The words of each passage, with repetitions.
        grams_of: Returns the n-grams of a word, with repetitions.

    Attributes:
        vocabulary: The number of each n-gram.
        rarity: The inverse document frequency of each, by its number; see `TfIdf`.
    """

    def __init__(self, texts: Iterable[Sequence[str]], grams_of: Callable[[str], Sequence[str]]) -> None:
        words = _Words(grams_of)
        left = iter(texts)
        self._bands: list[Band] = []
        while part := list(islice(left, _ROWS)):
            self._bands.append(_band(words.grams_in(part)))
        self.vocabulary = words.vocabulary
        frequencies = np.zeros(len(self.vocabulary), np.int64)
        for band in self._bands:
            band.starts = np.pad(band.starts, (0, len(frequencies) + 1 - len(band.starts)), "edge")
            frequencies += np.diff(band.starts)
        self.rarity: Floats = 1.0 + np.log((1 + self._size()) / (1 + frequencies))
        for band in self._bands:
            lengths = np.sqrt(np.bincount(band.places, self._unscaled(band) ** 2, minlength=len(band.lengths)))
            band.lengths[:] = np.where(lengths == 0.0, 1.0, lengths)

    def _size(self) -> int:
        return sum(len(band.lengths) for band in self._bands)

    def best_of_one(self, terms: Sequence[int], factors: Floats, k: int) -> tuple[npt.NDArray[np.intp], Floats]:
        """Return the places and scores of the best passages for one query, equal scores by ascending place.

        The first query makes the weights of all passages, which are kept.

        Args:
            terms: The numbers of the query's n-grams, each once.
            factors: Their weights, of length 1.
            k: The most passages, 1 or more.
        """
        sums = [np.empty(0)]
        for band in self._bands:
            if band.weights is None:
                band.weights = self._weights(band)
            sums.append(_columns(band, band.weights, terms) @ factors)
        return best_places(np.concatenate(sums), k)

    def best_of_many(self, queries: Sequence[tuple[Sequence[int], Floats]], k: int) -> BestSoFar:
        """Return the best passages of many queries, as `best_of_one` finds them; the weights are not kept.

        Args:
            queries: The terms and factors of each query.
            k: The most passages of each, 1 or more.
        """
        terms, asked = _together(queries)
        found, first = BestSoFar(len(queries), k), 0
        for band in self._bands:
            weights = self._weights(band) if band.weights is None else band.weights
            for start, plain in _plain(_columns(band, weights, terms)):
                found.add(asked @ plain, first + start)
            first += len(band.lengths)
        return found

    def _unscaled(self, band: Band) -> Floats:
        """Return what n-grams weigh in the passages of a band before these are brought to length 1."""
        known = 1.0 + np.log(np.arange(1.0, int(band.counts.max(initial=0)) + 1))  # most counts are small
        weights: Floats = np.concatenate([[0.0], known])[band.counts]
        weights *= np.repeat(self.rarity, np.diff(band.starts))
        return weights

    def _weights(self, band: Band) -> Floats:
        weights = self._unscaled(band)
        weights /= band.lengths[band.places]
        return weights


class _Words:
    """The words that were seen so far, and the n-grams that they are made of, in the order of their appearance."""

    def __init__(self, grams_of: Callable[[str], Sequence[str]]) -> None:
        self._grams_of = grams_of
        self._numbers: dict[str, int] = {}
        self._grams: defaultdict[str, int] = defaultdict()
        self._grams.default_factory = self._grams.__len__
        self._each, self._ends = array("i"), array("q", [0])

    @property
    def vocabulary(self) -> dict[str, int]:
        """The number of each n-gram."""
        return dict(self._grams)

    def grams_in(self, texts: Iterable[Sequence[str]]) -> sparse.csr_matrix:
        """Return how often each text (row) holds each n-gram that was seen so far (column).

        Args:
            texts: The words of each text, with repetitions.
        """
        from scipy import sparse

        found = Occurrences.of(texts)
        for word in found.vocabulary:
            if word not in self._numbers:
                self._numbers[word] = len(self._numbers)
                self._each.extend(map(self._grams.__getitem__, self._grams_of(word)))
                self._ends.append(len(self._each))
        made_of = sparse.csr_matrix(
            (np.ones(len(self._each), np.int32), np.array(self._each), np.array(self._ends)),
            shape=(len(self._numbers), len(self._grams)),
        )
        numbers = np.fromiter(map(self._numbers.__getitem__, found.vocabulary), np.int32)
        shape = (len(found.lengths), len(numbers))
        columns = sparse.csc_matrix((found.counts, found.places, found.starts), shape=shape)
        return columns.tocsr() @ made_of[numbers]


def _band(counts: sparse.csr_matrix) -> Band:
    by_gram = counts.tocsc()
    return Band(
        starts=by_gram.indptr.astype(np.int32),
        places=by_gram.indices.astype(np.uint16),
        counts=by_gram.data.astype(np.min_scalar_type(int(by_gram.data.max(initial=0)))),
        lengths=np.empty(counts.shape[0]),
    )


def _columns(band: Band, weights: Floats, terms: Sequence[int] | npt.NDArray[np.int64]) -> sparse.csc_matrix:
    """Return what n-grams weigh in each passage of a band (rows), a column for each of ``terms``."""
    from scipy import sparse

    parts = [slice(start, end) for start, end in zip(band.starts[terms], band.starts[1:][terms], strict=True)]
    places = np.concatenate([band.places[part] for part in parts])
    ends = np.cumsum([0, *(part.stop - part.start for part in parts)])
    each = np.concatenate([weights[part] for part in parts])
    return sparse.csc_matrix((each, places, ends), shape=(len(band.lengths), len(parts)))


def _plain(columns: sparse.csc_matrix) -> Iterator[tuple[int, Floats]]:
    """Yield the first row and the plain numbers of a few rows of a matrix at a time, turned by 90 degrees.

    All are written into the same array, which is valid until the next one is asked for.
    """
    rows = columns.tocsr()
    step = max(_FEWEST_ROWS, _CELLS // max(1, rows.shape[1]))
    plain = np.zeros((rows.shape[1], step))
    flat = plain.reshape(-1)
    for start in range(0, rows.shape[0], step):
        end = min(start + step, rows.shape[0])
        part = slice(rows.indptr[start], rows.indptr[end])
        at = np.repeat(np.arange(end - start), np.diff(rows.indptr[start : end + 1])) + step * rows.indices[part]
        flat[at] = rows.data[part]
        yield start, plain[:, : end - start]
        flat[at] = 0.0


def _together(queries: Sequence[tuple[Sequence[int], Floats]]) -> tuple[npt.NDArray[np.int64], sparse.csr_matrix]:
    """Return the n-grams of all queries, and what each (column) weighs in each query (row).

    The weights of a row stand in the order of the query, in which they are summed.
    """
    from scipy import sparse

    each = np.concatenate([np.asarray(terms, np.int64) for terms, _ in queries])
    terms, at = np.unique(each, return_inverse=True)
    ends = np.cumsum([0, *(len(terms) for terms, _ in queries)])
    factors = np.concatenate([factors for _, factors in queries])
    return terms, sparse.csr_matrix((factors, at, ends), shape=(len(queries), len(terms)))
