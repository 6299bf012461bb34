"""TF-IDF cosine over character n-grams: needs no words and tolerates spelling errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from goldbench.measures.ranks.order import in_tie_order
from goldbench.retrieval.gram_bands import GramBands
from goldbench.retrieval.postings import Floats
from goldbench.retrieval.system_settings import NgramSettings
from goldbench.retrieval.tfidf import QueryWeights
from goldbench.retrieval.tokens import Tokenizer

Places = npt.NDArray[np.intp]

_MANY, _AT_ONCE = 32, 2**12
"""Queries from which they are searched together, and how many at a time."""


class Ngrams:
    """An index of the character n-grams of passages, within words; a score is the cosine of two TF-IDF vectors."""

    def __init__(self, settings: NgramSettings) -> None:
        self._settings = settings
        self._tokens = grams(settings.shortest, settings.longest)
        self._ids: list[str] = []
        self._bands: GramBands | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._bands = None
        self._ids = in_tie_order(passages)
        texts = (self._tokens.words(passages[doc_id]) for doc_id in self._ids)
        self._bands = GramBands(texts, grams_of_word(self._settings.shortest, self._settings.longest))

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a cosine above 0, best first."""
        if self._bands is None:
            return {query_id: {} for query_id in queries}
        weights = QueryWeights(self._bands.vocabulary, self._bands.rarity)
        asked = {query_id: weights.of(self._tokens(text)) for query_id, text in queries.items()}
        known = {query_id: query for query_id, query in asked.items() if query[0]}
        best = dict(zip(known, self._best(list(known.values()), k), strict=True))
        nothing = (np.empty(0, np.intp), np.empty(0))
        return {query_id: self._named(*best.get(query_id, nothing)) for query_id in queries}

    def _best(self, queries: Sequence[tuple[list[int], Floats]], k: int) -> Iterator[tuple[Places, Floats]]:
        assert self._bands is not None
        if len(queries) < _MANY:
            yield from (self._bands.best_of_one(*query, k) for query in queries)
            return
        for start in range(0, len(queries), _AT_ONCE):
            yield from self._bands.best_of_many(queries[start : start + _AT_ONCE], k)

    def _named(self, places: Places, scores: Floats) -> dict[str, float]:
        return {self._ids[place]: score for place, score in zip(places.tolist(), scores.tolist(), strict=True)}


def grams(shortest: int, longest: int) -> Tokenizer:
    """Return the function that cuts a text into the n-grams of its words; arguments as in `grams_of_word`."""
    return Tokenizer(lambda text: text.lower().split(), grams_of_word(shortest, longest))


def grams_of_word(shortest: int, longest: int) -> Callable[[str], list[str]]:
    """Return the function that cuts a word, with a space before and after it, into n-grams.

    Args:
        shortest: Fewest characters of an n-gram; a word that has fewer with its spaces is one itself.
        longest: Most characters.
    """

    def of_word(word: str) -> list[str]:
        spaced = f" {word} "
        found: list[str] = []
        for size in range(shortest, longest + 1):
            found += [spaced[start : start + size] for start in range(max(1, len(spaced) - size + 1))]
            if size >= len(spaced):
                break
        return found

    return of_word
