"""BM25 with Lucene's formula, through ``bm25s``."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping

import bm25s
import numpy as np
from bm25s.tokenization import Tokenized

from goldbench.pipeline.measures.ranks.order import highest, in_tie_order
from goldbench.pipeline.retrieval.system_settings import BM25Settings
from goldbench.pipeline.retrieval.token_files import TokenFiles
from goldbench.pipeline.retrieval.tokens import Tokenizer, cut


class BM25:
    """An index of passages.

    Score of a passage d for a query: the sum over the query's terms t of
    ``ln(1 + (N - n_t + 0.5) / (n_t + 0.5)) * f / (f + k1 * (1 - b + b * |d| / avg|d|))``, with f the count of t in d.

    Source: Lucene's ``BM25Similarity`` since version 8; Kamphuis et al., ECIR 2020.
    """

    def __init__(self, settings: BM25Settings, *, tokens: Tokenizer | TokenFiles) -> None:
        self._settings, self._tokens = settings, tokens
        self._ids: list[str] = []
        self._vocabulary: dict[str, int] = {}
        self._index: bm25s.BM25 | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._index = None
        self._ids = in_tie_order(passages)
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        texts = cut(self._tokens, {doc_id: passages[doc_id] for doc_id in self._ids})
        rows = [
            array("i", map(numbers.__getitem__, terms)) for terms in texts
        ]  # a quarter of the memory that lists take
        self._vocabulary = dict(numbers)
        if self._vocabulary:
            self._index = bm25s.BM25(k1=self._settings.k1, b=self._settings.b, method="lucene", dtype="float64")
            corpus = Tokenized(ids=rows, vocab=self._vocabulary)
            self._index.index(corpus, create_empty_token=False, show_progress=False)

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        terms = cut(self._tokens, queries)
        return {query_id: dict(self._best(found, k)) for query_id, found in zip(queries, terms, strict=True)}

    def _best(self, terms: list[str], k: int) -> Iterator[tuple[str, float]]:
        known = [self._vocabulary[term] for term in terms if term in self._vocabulary]
        if self._index is None or not known:
            return
        scores = self._index.get_scores_from_ids(known)
        found = np.flatnonzero(scores > 0)
        for place in found[highest(scores[found], k)]:
            yield self._ids[place], float(scores[place])
