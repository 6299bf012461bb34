"""TF-IDF cosine over character n-grams: needs no words and tolerates spelling errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import sparse

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval.postings import Occurrences, best_places
from goldbench.retrieval.system_settings import NgramSettings
from goldbench.retrieval.tfidf import TfIdf
from goldbench.retrieval.tokens import Tokenizer


class Ngrams:
    """An index of the character n-grams of passages, within words; a score is the cosine of two TF-IDF vectors."""

    def __init__(self, settings: NgramSettings) -> None:
        self._tokens = Tokenizer(lambda text: text.lower().split(), grams_of_word(settings.shortest, settings.longest))
        self._ids: list[str] = []
        self._tfidf: TfIdf | None = None
        self._by_gram: sparse.csr_matrix | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._tfidf = self._by_gram = None
        self._ids = in_tie_order(passages)
        counts = Occurrences.in_texts((passages[doc_id] for doc_id in self._ids), self._tokens)
        self._tfidf = TfIdf(counts)
        self._by_gram = self._tfidf.passages(counts, np.float32).T  # a row for each n-gram

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a cosine above 0, best first."""
        if self._tfidf is None:
            return {query_id: {} for query_id in queries}
        weights = self._tfidf.queries(map(self._tokens, queries.values()), np.float32)
        return {query_id: self._best(row, k) for query_id, row in zip(queries, weights, strict=True)}

    def _best(self, query: sparse.csr_matrix, k: int) -> dict[str, float]:
        places, scores = best_places((query @ self._by_gram).toarray()[0].astype(np.float64), k)
        return {self._ids[position]: score for position, score in zip(places.tolist(), scores.tolist(), strict=True)}


def grams_of_word(shortest: int, longest: int) -> Callable[[str], list[str]]:
    """Return the function that cuts a word, with a space before and after it, into n-grams.

    Args:
        shortest: Fewest characters of an n-gram; a word that has fewer with its spaces is one itself.
        longest: Most characters.
    """

    def of_word(word: str) -> list[str]:
        spaced = f" {word} "
        grams: list[str] = []
        for size in range(shortest, longest + 1):
            grams += [spaced[start : start + size] for start in range(max(1, len(spaced) - size + 1))]
            if size >= len(spaced):
                break
        return grams

    return of_word
