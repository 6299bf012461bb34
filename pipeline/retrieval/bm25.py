"""BM25 with Lucene's formula; equal scores are ordered by document id, as trec_eval orders them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from pipeline.retrieval.postings import Postings, postings
from pipeline.retrieval.sums import Sums
from pipeline.retrieval.token_files import TokenFiles
from pipeline.retrieval.tokens import Tokenizer, cut

Floats = npt.NDArray[np.float64]


class BM25:
    """An index of passages.

    Score of a passage d for a query: the sum over the query's terms t of
    ``ln(1 + (N - n_t + 0.5) / (n_t + 0.5)) * f / (f + k1 * (1 - b + b * |d| / avg|d|))``, with f the count of t in d.

    Source: Lucene's ``BM25Similarity`` since version 8; Kamphuis et al., ECIR 2020.
    """

    def __init__(self, *, tokens: Tokenizer | TokenFiles, k1: float = 1.2, b: float = 0.75) -> None:
        """Take how texts are cut, the saturation ``k1`` (>= 0) and the weight of length ``b`` (0 to 1)."""
        self._tokens, self._k1, self._b = tokens, k1, b
        self._ids: list[str] = []
        self._vocabulary: dict[str, int] = {}
        self._sums: Sums | None = None

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the text of each passage by its id."""
        self._sums = None
        self._ids = sorted(passages, reverse=True)  # so that a lower place goes first where scores are equal
        found = postings(cut(self._tokens, {doc_id: passages[doc_id] for doc_id in self._ids}))
        self._vocabulary = found.vocabulary
        self._sums = Sums(found, scores(found, k1=self._k1, b=self._b))

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        """Return for each query at most ``k`` passages with a score above 0, best first."""
        terms = cut(self._tokens, queries)
        return {query_id: dict(self._best(found, k)) for query_id, found in zip(queries, terms, strict=True)}

    def _best(self, terms: list[str], k: int) -> Iterator[tuple[str, float]]:
        known = Counter(self._vocabulary[term] for term in terms if term in self._vocabulary)
        if not known or self._sums is None:
            return
        places, values = self._sums.best(known, k)
        for at in np.lexsort((places, -values))[:k]:
            yield self._ids[places[at]], float(values[at])


def scores(found: Postings, *, k1: float, b: float) -> Floats:
    """Return what each posting adds to a score; arrays are worked on in place, because they may hold gigabytes."""
    frequencies = np.diff(found.starts)
    rarity = np.log1p((len(found.lengths) - frequencies + 0.5) / (frequencies + 0.5))
    mean = found.lengths.mean() if len(found.lengths) else 1.0
    damping = k1 * (1 - b + b * found.lengths / (mean or 1.0))
    values = damping[found.documents]
    values += found.counts
    np.divide(found.counts, values, out=values)
    values *= np.repeat(rarity, frequencies)
    return values
