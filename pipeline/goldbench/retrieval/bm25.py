"""BM25 with Lucene's formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval.postings import Floats, Integers, Occurrences, Postings
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer, cut


class BM25:
    """An index of passages.

    Score of a passage d for a query: the sum over the query's terms t of
    ``ln(1 + (N - n_t + 0.5) / (n_t + 0.5)) * f / (f + k1 * (1 - b + b * |d| / avg|d|))``, with f the count of t in d.

    Source: Lucene's ``BM25Similarity`` since version 8; Kamphuis et al., ECIR 2020.
    """

    def __init__(self, settings: BM25Settings, *, tokens: Tokenizer | TokenFiles) -> None:
        self._settings = settings
        self._tokens = tokens
        self._ids: list[str] = []
        self._terms: WeightedTerms | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._terms = None
        self._ids = in_tie_order(passages)
        counts = Occurrences.in_corpus(passages, self._tokens)
        rarity = rarity_of(np.diff(counts.starts), len(counts.lengths))
        mean_length = float(counts.lengths.mean()) if len(counts.lengths) else 0.0
        self._terms = WeightedTerms(counts, rarity, mean_length, self._settings)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        if self._terms is None:
            return {query_id: {} for query_id in queries}
        best = self._terms.best(list(cut(self._tokens, queries)), k)
        return {
            query_id: {
                self._ids[position]: score for position, score in zip(places.tolist(), scores.tolist(), strict=True)
            }
            for query_id, (places, scores) in zip(queries, best, strict=True)
        }


class WeightedTerms:
    """The terms of passages, and what each adds to the scores of those that hold it.

    Args:
        counts: How often each term occurs in each passage.
        rarity: What each term weighs.
        mean_length: Terms of a passage, on average.
        settings: Saturation and length weight.
    """

    def __init__(self, counts: Occurrences, rarity: Floats, mean_length: float, settings: BM25Settings) -> None:
        self._vocabulary = counts.vocabulary
        weights = _weights(counts, rarity, mean_length, settings)
        self._postings = Postings(counts.starts, counts.places, weights, len(counts.lengths))

    def best(self, queries: Sequence[Sequence[str]], k: int) -> list[tuple[Integers, Floats]]:
        """Return the places of the best passages for each query and their scores, best first.

        Args:
            queries: The terms of each query, with repetitions.
            k: Most passages of a query.
        """
        sums = self._postings.buffer()
        best = []
        for terms in queries:
            known = [self._vocabulary[term] for term in terms if term in self._vocabulary]
            places, scores = self._postings.best(known, k, sums) if known else (np.empty(0), np.empty(0))
            best.append((places.astype(np.int32), scores))
        return best


def rarity_of(frequencies: npt.NDArray[np.int64], passages: int) -> Floats:
    """Return the inverse document frequency of each term.

    Args:
        frequencies: How many passages hold each term.
        passages: The number of all passages.
    """
    rarity: Floats = np.log1p((passages - frequencies + 0.5) / (frequencies + 0.5))
    return rarity


def _weights(counts: Occurrences, rarity: Floats, mean_length: float, settings: BM25Settings) -> Floats:
    """Return what each occurrence adds to a score; worked on in place, because the arrays may hold gigabytes."""
    if not len(counts.places):
        return np.empty(0)
    k1 = settings.k1
    b = settings.b
    by_length: Floats = np.asarray(k1 * (1 - b + b * counts.lengths / mean_length), np.float64)
    weights: Floats = by_length[counts.places]
    weights += counts.counts
    np.divide(counts.counts, weights, out=weights)
    weights *= np.repeat(rarity, np.diff(counts.starts))
    return weights
