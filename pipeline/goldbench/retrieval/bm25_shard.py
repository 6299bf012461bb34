"""A part of the passages of a BM25 index, as a node of a cluster holds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from goldbench.retrieval.bm25 import weights_of
from goldbench.retrieval.corpus_words import counted
from goldbench.retrieval.postings import Floats, Integers, Occurrences, Postings
from goldbench.retrieval.system_settings import BM25Settings
from goldbench.retrieval.tokens import tokenizer

Counts = tuple[list[str], npt.NDArray[np.int64], int]
"""The terms of some passages, how many passages hold each, and the number of terms with repetitions."""
Best = list[tuple[Integers, Floats]]
"""For each query the places of passages and their scores, best first."""
_NOWHERE, _NOTHING = np.empty(0, np.intp), np.empty(0)


class BM25Shard:
    """A part of the passages; the statistics that a score needs are those of all passages.

    Args:
        settings: The settings of the index.
    """

    def __init__(self, settings: BM25Settings) -> None:
        self._settings = settings
        self._tokens = tokenizer(settings.analyzer, language=settings.language)
        self._texts: list[str] = []
        self._found: Occurrences | None = None
        self._postings: Postings | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Take more passages, in tie order."""
        self._texts += texts

    def count(self) -> Counts:
        """Count the terms of the passages, which are then forgotten."""
        found = self._found = counted(self._tokens, self._texts)
        self._texts = []
        return list(found.vocabulary), np.diff(found.starts), int(found.lengths.sum())

    def weigh(self, rarity: Floats, mean_length: float) -> None:
        """Make the index.

        Args:
            rarity: What each term of `count` weighs.
            mean_length: Terms of a passage, on average over all passages.
        """
        assert self._found is not None
        found, settings = self._found, self._settings
        weights = weights_of(found, rarity, mean_length, k1=settings.k1, b=settings.b)
        self._postings = Postings(found.starts, found.places, weights, len(found.lengths))

    def search(self, queries: Sequence[Sequence[str]], k: int) -> Best:
        """Return the best passages of this part for each query.

        Args:
            queries: The terms of each query, with repetitions.
            k: Most passages of a query.
        """
        assert self._found is not None
        assert self._postings is not None
        vocabulary, sums = self._found.vocabulary, self._postings.buffer()
        best: Best = []
        for terms in queries:
            known = [vocabulary[term] for term in terms if term in vocabulary]
            places, scores = self._postings.best(known, k, sums) if known else (_NOWHERE, _NOTHING)
            best.append((places.astype(np.int32), scores))
        return best
