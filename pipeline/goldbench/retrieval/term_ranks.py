"""The ranks of given passages in BM25, for queries that are all known: no index is kept, only their terms are weighed.

The ranks are those of the results of ``BM25``. It costs half of an index that is searched once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from goldbench.retrieval.bm25 import rarity_of
from goldbench.retrieval.postings import Floats, Occurrences
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import Tokenizer

if TYPE_CHECKING:
    from scipy import sparse

_CELLS, _FEWEST_ROWS = 2**19, 32
"""Weights, and passages, that are laid out at once: few enough to stay near the processor while all queries pass."""


def ranks_of(
    settings: BM25Settings,
    tokens: Tokenizer,
    words: Occurrences,
    queries: Sequence[str],
    sought: Sequence[tuple[int, int]],
) -> list[int | None]:
    """Return the rank of each sought passage, from 1; None if its score is 0.

    Args:
        settings: The weights of BM25.
        tokens: Cuts the queries, and the words of the passages, into terms.
        words: The words of the passages, which are in tie order, as the tokenizer cuts them.
        queries: The queries.
        sought: The number of a query and the place of a passage.
    """
    asked = [tokens(query) for query in queries]
    columns = {term: column for column, term in enumerate(dict.fromkeys(term for terms in asked for term in terms))}
    numbered = [[columns[term] for term in terms] for terms in asked]
    weights = list(_weights(settings, words, *_made_of(words.vocabulary, tokens, columns)))
    if not weights or not columns:
        return [None] * len(sought)
    bands = _Bands(weights, weights[0].shape[0])
    scores = np.array([bands.score(numbered[query], place) for query, place in sought])
    above = bands.above(numbered, len(columns), np.array(sought, np.int64).reshape(-1, 2), scores)
    return [rank if score else None for rank, score in zip((1 + above).tolist(), scores.tolist(), strict=True)]


def _made_of(
    words: Iterable[str], tokens: Tokenizer, columns: dict[str, int]
) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
    """Return how often each word (row) holds each term of the queries (column), and the number of all its terms."""
    from scipy import sparse

    each = [[word] for word in words] if tokens.terms_of is None else list(map(tokens.terms_of, words))
    sizes = np.fromiter(map(len, each), np.int64, len(each))
    term = np.fromiter(map(columns.get, chain.from_iterable(each), repeat(-1)), np.int32, int(sizes.sum()))
    has_column = term >= 0
    ends = np.concatenate(([0], np.cumsum(has_column)))[np.concatenate(([0], np.cumsum(sizes)))]
    known = np.ones(int(ends[-1]), np.int32), term[has_column], ends
    return sparse.csr_matrix(known, shape=(len(each), len(columns))), sizes


def _weights(
    settings: BM25Settings, words: Occurrences, made_of: sparse.csr_matrix, sizes: npt.NDArray[np.int64]
) -> Iterator[sparse.csr_matrix]:
    """Yield what each term adds to the scores of passages, some passages at a time.

    Args:
        settings: The weights of BM25.
        words: The words of the passages.
        made_of: How often each word holds each term.
        sizes: The number of terms of each word.
    """
    from scipy import sparse

    passages, terms = len(words.lengths), made_of.shape[1]
    shape = passages, len(words.vocabulary)
    counts = sparse.csc_matrix((words.counts, words.places, words.starts), shape=shape).tocsr()
    rows = max(_FEWEST_ROWS, _CELLS // max(1, terms))
    found = [counts[start : start + rows] @ made_of for start in range(0, passages, rows)]
    frequencies = sum((np.bincount(band.indices, minlength=terms) for band in found), np.zeros(terms, np.int64))
    rarity, lengths = rarity_of(frequencies, passages), counts @ sizes
    mean_length = float(lengths.mean()) if passages else 0.0
    by_length: Floats = np.asarray(settings.k1 * (1 - settings.b + settings.b * lengths / (mean_length or 1.0)))
    for start, band in zip(range(0, passages, rows), found, strict=True):
        weights = np.repeat(by_length[start : start + rows], np.diff(band.indptr)) + band.data
        np.divide(band.data, weights, out=weights)
        weights *= rarity[band.indices]
        yield sparse.csr_matrix((weights, band.indices, band.indptr), shape=band.shape)


@dataclass(frozen=True, slots=True)
class _Bands:
    """What terms add to the scores of passages; each matrix but the last has ``rows`` rows."""

    weights: Sequence[sparse.csr_matrix]
    rows: int

    def score(self, terms: Sequence[int], place: int) -> float:
        """Return the score of one passage, added in the order of the query."""
        band, row = self.weights[place // self.rows], place % self.rows
        part = slice(band.indptr[row], band.indptr[row + 1])
        known = dict(zip(band.indices[part].tolist(), band.data[part].tolist(), strict=True))
        return sum((known.get(term, 0.0) for term in terms), 0.0)

    def above(
        self, queries: Sequence[Sequence[int]], terms: int, sought: npt.NDArray[np.int64], scores: Floats
    ) -> npt.NDArray[np.int64]:
        """Return how many passages stand above each sought one.

        Args:
            queries: The terms of each query.
            terms: The number of all terms.
            sought: The query and the place of each sought passage.
            scores: The score of each.
        """
        from scipy import sparse

        ends = np.cumsum([0, *map(len, queries)])
        every = np.array([term for query in queries for term in query], np.int32)
        # Repeated terms stay apart and in order, so that sums are rounded as those of an index are.
        asked = sparse.csr_matrix((np.ones(len(every)), every, ends), shape=(len(queries), terms))
        above, own = np.zeros(len(sought), np.int64), scores[:, None]
        for number, band in enumerate(self.weights):
            sums = (asked @ band.T.toarray())[sought[:, 0]]
            places = np.arange(band.shape[0]) + number * self.rows
            higher = (sums > own) | ((sums == own) & (places < sought[:, 1:]))
            above += np.count_nonzero(higher, axis=1)
        return above
