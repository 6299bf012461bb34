"""TF-IDF cosine over character n-grams, through scikit-learn: needs no words and tolerates spelling errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from goldbench.pipeline.measures.ranks.order import highest, in_tie_order
from goldbench.pipeline.retrieval.system_settings import NgramSettings

_QUERIES = 64
"""Queries compared with every passage at a time."""


class Ngrams:
    """An index of the character n-grams of passages, within words; a score is the cosine of two TF-IDF vectors."""

    def __init__(self, settings: NgramSettings) -> None:
        self._settings = settings
        self._ids: list[str] = []
        self._cut: Any = None
        self._rows: Any = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._ids = in_tie_order(passages)
        sizes = (self._settings.shortest, self._settings.longest)
        self._cut = TfidfVectorizer(analyzer="char_wb", ngram_range=sizes, sublinear_tf=True, dtype=np.float32)
        try:
            self._rows = self._cut.fit_transform(passages[doc_id] for doc_id in self._ids).T.tocsr()
        except ValueError:  # no passage holds an n-gram
            self._rows = None

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a cosine above 0, best first."""
        found: dict[str, dict[str, float]] = {}
        query_ids = list(queries)
        for start in range(0, len(query_ids), _QUERIES):
            some = query_ids[start : start + _QUERIES]
            found.update(self._searched(some, [queries[query_id] for query_id in some], k))
        return found

    def _searched(self, query_ids: list[str], texts: list[str], k: int) -> dict[str, dict[str, float]]:
        if self._rows is None:
            return {query_id: {} for query_id in query_ids}
        cosines = (self._cut.transform(texts) @ self._rows).tocsr()
        return {query_id: self._best(cosines[row], k) for row, query_id in enumerate(query_ids)}

    def _best(self, cosines: Any, k: int) -> dict[str, float]:  # noqa: ANN401  a row of scipy's
        scores, places = np.asarray(cosines.data, dtype=np.float64), cosines.indices
        return {self._ids[places[at]]: float(scores[at]) for at in highest(scores, k, places) if scores[at] > 0}
