"""BM25 with Lucene's formula."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval.corpus_words import occurrences_in
from goldbench.retrieval.postings import Floats, Occurrences, Postings
from goldbench.retrieval.saved_indexes import Arrays, SavedIndexes, checked, numbered, packed
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer, cut


class BM25:
    """An index of passages.

    Score of a passage d for a query: the sum over the query's terms t of
    ``ln(1 + (N - n_t + 0.5) / (n_t + 0.5)) * f / (f + k1 * (1 - b + b * |d| / avg|d|))``, with f the count of t in d.

    Source: Lucene's ``BM25Similarity`` since version 8; Kamphuis et al., ECIR 2020.
    """

    def __init__(
        self, settings: BM25Settings, *, tokens: Tokenizer | TokenFiles, saved: SavedIndexes | None = None
    ) -> None:
        self._settings, self._tokens = settings, tokens
        self._saved = saved or SavedIndexes()
        self._ids: list[str] = []
        self._vocabulary: dict[str, int] = {}
        self._postings: Postings | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._postings = None
        self._ids = in_tie_order(passages)
        self._vocabulary, self._postings = self._saved.kept(
            self._settings.model_dump_json(),
            passages,
            names=("vocabulary", "starts", "places", "weights"),
            make=lambda: self._made(passages),
            opened=lambda found: _opened(found, len(passages)),
        )

    def _made(self, passages: Mapping[str, str]) -> Arrays:
        found = occurrences_in(passages, self._tokens)
        rarity = rarity_of(np.diff(found.starts), len(found.lengths))
        mean_length = float(found.lengths.mean()) if len(found.lengths) else 0.0
        return {
            "vocabulary": packed(found.vocabulary),
            "starts": found.starts,
            "places": found.places,
            "weights": weights_of(found, rarity, mean_length, k1=self._settings.k1, b=self._settings.b),
        }

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        if self._postings is None:
            return {query_id: {} for query_id in queries}
        terms, sums = cut(self._tokens, queries), self._postings.buffer()
        return {query_id: self._best(found, k, sums) for query_id, found in zip(queries, terms, strict=True)}

    def _best(self, terms: list[str], k: int, sums: Floats) -> dict[str, float]:
        known = [self._vocabulary[term] for term in terms if term in self._vocabulary]
        if self._postings is None or not known:
            return {}
        places, scores = self._postings.best(known, k, sums)
        return {self._ids[place]: score for place, score in zip(places.tolist(), scores.tolist(), strict=True)}


def _opened(found: Arrays, size: int) -> tuple[dict[str, int], Postings]:
    """Return the vocabulary and the postings of an index.

    Args:
        found: The arrays of the index.
        size: The number of passages.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    vocabulary = numbered(found["vocabulary"])
    starts = checked(found["starts"], np.int64, len(vocabulary) + 1)
    if starts[0] != 0 or np.any(np.diff(starts) < 0):
        raise ValueError("the passages of the terms overlap")
    postings = int(starts[-1])
    places, weights = checked(found["places"], np.int32, postings), checked(found["weights"], np.float64, postings)
    if postings and not 0 <= places.min() <= places.max() < size:
        raise ValueError("a term stands in a passage that does not exist")
    return vocabulary, Postings(starts, places, weights, size)


def rarity_of(frequencies: npt.NDArray[np.int64], passages: int) -> Floats:
    """Return the inverse document frequency of each term.

    Args:
        frequencies: How many passages hold each term.
        passages: The number of all passages.
    """
    rarity: Floats = np.log1p((passages - frequencies + 0.5) / (frequencies + 0.5))
    return rarity


def weights_of(found: Occurrences, rarity: Floats, mean_length: float, *, k1: float, b: float) -> Floats:
    """Return what each occurrence adds to a score; worked on in place, because the arrays may hold gigabytes.

    Args:
        found: The occurrences.
        rarity: What each term weighs.
        mean_length: Terms of a passage, on average.
        k1: Saturation.
        b: Length weight.
    """
    if not len(found.places):
        return np.empty(0)
    by_length: Floats = np.asarray(k1 * (1 - b + b * found.lengths / mean_length), np.float64)
    weights: Floats = by_length[found.places]
    weights += found.counts
    np.divide(found.counts, weights, out=weights)
    weights *= np.repeat(rarity, np.diff(found.starts))
    return weights
