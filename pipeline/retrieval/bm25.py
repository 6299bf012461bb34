"""BM25 with Lucene's formula."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from goldbench.pipeline.measures.ranks.order import in_tie_order
from goldbench.pipeline.retrieval.corpus_words import Lexicon, SharedWords
from goldbench.pipeline.retrieval.postings import Floats, Occurrences, Postings
from goldbench.pipeline.retrieval.saved_indexes import Arrays, SavedIndexes, numbered, packed
from goldbench.pipeline.retrieval.system_settings import BM25Settings
from goldbench.pipeline.retrieval.token_files import TokenFiles
from goldbench.pipeline.retrieval.tokens import Tokenizer, cut


class BM25:
    """An index of passages.

    Score of a passage d for a query: the sum over the query's terms t of
    ``ln(1 + (N - n_t + 0.5) / (n_t + 0.5)) * f / (f + k1 * (1 - b + b * |d| / avg|d|))``, with f the count of t in d.

    Source: Lucene's ``BM25Similarity`` since version 8; Kamphuis et al., ECIR 2020.
    """

    def __init__(
        self,
        settings: BM25Settings,
        *,
        tokens: Tokenizer | TokenFiles,
        words: SharedWords | None = None,
        saved: SavedIndexes | None = None,
    ) -> None:
        self._settings, self._lexicon = settings, Lexicon(tokens, words)
        self._saved = saved or SavedIndexes()
        self._ids: list[str] = []
        self._vocabulary: dict[str, int] = {}
        self._postings: Postings | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._postings = None
        self._ids = in_tie_order(passages)
        found = self._saved.kept(self._settings.model_dump_json(), passages, lambda: self._made(passages))
        self._vocabulary = numbered(found["vocabulary"])
        self._postings = Postings(found["starts"], found["places"], found["weights"], len(self._ids))

    def _made(self, passages: Mapping[str, str]) -> Arrays:
        _, found = self._lexicon.occurrences(passages)
        return {
            "vocabulary": packed(found.vocabulary),
            "starts": found.starts,
            "places": found.places,
            "weights": _weights(found, k1=self._settings.k1, b=self._settings.b),
        }

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        if self._postings is None:
            return {query_id: {} for query_id in queries}
        terms, sums = cut(self._lexicon.tokens, queries), self._postings.buffer()
        return {query_id: self._best(found, k, sums) for query_id, found in zip(queries, terms, strict=True)}

    def _best(self, terms: list[str], k: int, sums: Floats) -> dict[str, float]:
        known = [self._vocabulary[term] for term in terms if term in self._vocabulary]
        if self._postings is None or not known:
            return {}
        places, scores = self._postings.best(known, k, sums)
        return {self._ids[place]: score for place, score in zip(places.tolist(), scores.tolist(), strict=True)}


def _weights(found: Occurrences, *, k1: float, b: float) -> Floats:
    """Return what each occurrence adds to a score; worked on in place, because the arrays may hold gigabytes."""
    if not len(found.places):
        return np.empty(0)
    frequencies = np.diff(found.starts)
    rarity = np.log1p((len(found.lengths) - frequencies + 0.5) / (frequencies + 0.5))
    weights: Floats = (k1 * (1 - b + b * found.lengths / found.lengths.mean()))[found.places]
    weights += found.counts
    np.divide(found.counts, weights, out=weights)
    weights *= np.repeat(rarity, frequencies)
    return weights
