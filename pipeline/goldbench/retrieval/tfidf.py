"""TF-IDF: what each term of a passage weighs, so that the weights of a passage have length 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse

from goldbench.retrieval.corpus_words import counted
from goldbench.retrieval.postings import Floats, Integers, Occurrences
from goldbench.retrieval.tokens import Tokenizer


class QueryWeights:
    """What the terms of a query weigh; see `TfIdf`.

    Args:
        vocabulary: The number of each term.
        rarity: Inverse document frequency of each term, by its number.
        damped: As in `TfIdf`.
    """

    def __init__(self, vocabulary: dict[str, int], rarity: Floats, *, damped: bool = True) -> None:
        self.vocabulary, self.rarity, self._damped = vocabulary, rarity, damped

    def of(self, terms: Sequence[str]) -> tuple[list[int], Floats]:
        """Return the numbers of a query's terms that a passage has, and their weights, of length 1; both may be empty.

        Args:
            terms: The terms, with repetitions.
        """
        found = Counter(self.vocabulary[term] for term in terms if term in self.vocabulary)
        numbers = list(found)
        weights = _counted(np.array(list(found.values()), np.int32), damped=self._damped) * self.rarity[numbers]
        return numbers, weights / np.sqrt(weights @ weights) if numbers else weights


class TfIdf:
    """The weights of the terms of some passages.

    A term weighs f * (1 + ln((1 + N) / (1 + n))) before the weights of its text are brought to length 1: f is its count
    in the text, or 1 + ln(count) if counts are damped, n the passages of N that have it.

    Source: Salton and Buckley, Information Processing & Management 24(5), 1988; the formula is scikit-learn's.

    Attributes:
        queries: Weighs the terms of queries.
        starts: As in `Occurrences`.
        places: As in `Occurrences`.
        weights: The weights at the positions of ``places``.
        size: The number of passages.
    """

    def __init__(self, found: Occurrences, *, damped: bool = True) -> None:
        """Weigh the terms.

        Args:
            found: How often each term occurs in each passage.
            damped: Whether the tenth occurrence of a term says less than the first.
        """
        self.starts, self.places, self.size = found.starts, found.places, len(found.lengths)
        frequencies = np.diff(found.starts)
        rarity: Floats = 1.0 + np.log((1 + self.size) / (1 + frequencies))
        self.queries = QueryWeights(found.vocabulary, rarity, damped=damped)
        self.weights: Floats = _counted(found.counts, damped=damped) * np.repeat(rarity, frequencies)
        lengths = np.sqrt(np.bincount(found.places, self.weights**2, minlength=self.size))
        lengths[lengths == 0.0] = 1.0
        self.weights /= lengths[found.places]

    @classmethod
    def of(cls, passages: Iterable[str], tokens: Tokenizer, *, damped: bool = True) -> Self:
        """Return the weights of the terms of texts.

        Args:
            passages: The texts.
            tokens: Cuts a text into terms.
            damped: As in the constructor.
        """
        return cls(counted(tokens, passages), damped=damped)

    def rows(self, precision: type[np.floating[Any]] = np.float64) -> sparse.csr_matrix:
        """Return the weights as a matrix, a row for each passage, a column for each term.

        Args:
            precision: The type of its numbers.
        """
        weights = self.weights.astype(precision, copy=False)
        shape = (self.size, len(self.queries.vocabulary))
        return sparse.csc_matrix((weights, self.places, self.starts), shape=shape).tocsr()


def _counted(counts: Integers, *, damped: bool) -> Floats:
    return 1.0 + np.log(counts) if damped else counts.astype(np.float64)
