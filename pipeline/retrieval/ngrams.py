"""TF-IDF cosine over character n-grams: needs no words and tolerates spelling errors."""

from __future__ import annotations

from collections.abc import Mapping

from goldbench.pipeline.retrieval.corpus_words import Lexicon, SharedWords
from goldbench.pipeline.retrieval.postings import Postings
from goldbench.pipeline.retrieval.system_settings import NgramSettings
from goldbench.pipeline.retrieval.tfidf import QueryWeights, TfIdf
from goldbench.pipeline.retrieval.tokens import Tokenizer, cut


class Ngrams:
    """An index of the character n-grams of passages, within words; a score is the cosine of two TF-IDF vectors."""

    def __init__(self, settings: NgramSettings, *, words: SharedWords | None = None) -> None:
        self._lexicon = Lexicon(grams(settings.shortest, settings.longest), words)
        self._ids: list[str] = []
        self._weights: QueryWeights | None = None
        self._postings: Postings | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._weights = self._postings = None
        self._ids, found = self._lexicon.occurrences(passages)
        tfidf = TfIdf(found)
        self._weights = tfidf.queries
        self._postings = Postings(found.starts, found.places, tfidf.weights, len(self._ids))

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a cosine above 0, best first."""
        if self._weights is None or self._postings is None:
            return {query_id: {} for query_id in queries}
        ranked: dict[str, dict[str, float]] = {}
        for query_id, terms_of_query in zip(queries, cut(self._lexicon.tokens, queries), strict=True):
            terms, weights = self._weights.of(terms_of_query)
            if not terms:
                ranked[query_id] = {}
                continue
            places, scores = self._postings.best_weighed(terms, weights, k)
            best = zip(places.tolist(), scores.tolist(), strict=True)
            ranked[query_id] = {self._ids[place]: score for place, score in best}
        return ranked


def grams(shortest: int, longest: int) -> Tokenizer:
    """Return the function that cuts a text into the n-grams of its words, each with a space before and after it.

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

    return Tokenizer(lambda text: text.lower().split(), of_word)
