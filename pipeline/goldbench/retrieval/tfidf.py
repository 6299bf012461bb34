"""TF-IDF: what each term of a text weighs, so that the weights of a text have length 1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from goldbench.retrieval.postings import Floats, Integers, Occurrences


class TfIdf:
    """The weights of the terms of some passages.

    A term weighs (1 + ln f) * (1 + ln((1 + N) / (1 + n))) before the weights of its text are brought to length 1: f is
    its count in the text, n the passages of N that have it.

    Source: Salton and Buckley, Information Processing & Management 24(5), 1988; the formula is scikit-learn's.

    Args:
        counts: How often each term occurs in each passage.
    """

    def __init__(self, counts: Occurrences) -> None:
        self._vocabulary = counts.vocabulary
        frequencies = np.diff(counts.starts)
        self._rarity: Floats = 1.0 + np.log((1 + len(counts.lengths)) / (1 + frequencies))

    def passages(self, counts: Occurrences, precision: type[np.floating[Any]] = np.float64) -> sparse.csc_matrix:
        """Return the weights of the passages, a row for each of them, a column for each term.

        Args:
            counts: How often each term occurs in each passage.
            precision: The type of the weights.
        """
        weights = _damped(counts.counts)
        weights *= np.repeat(self._rarity, np.diff(counts.starts))
        lengths = np.sqrt(np.bincount(counts.places, weights**2, minlength=len(counts.lengths)))
        weights /= lengths[counts.places]
        return counts.matrix(weights.astype(precision, copy=False))

    def queries(
        self, texts: Iterable[Sequence[str]], precision: type[np.floating[Any]] = np.float64
    ) -> sparse.csr_matrix:
        """Return the weights of queries, a row for each, 0 for one without a term that a passage has.

        Args:
            texts: The terms of each query, with repetitions.
            precision: The type of the weights.
        """
        ends = [0]
        numbers = list[int]()
        weights = [np.empty(0)]
        for terms in texts:
            counts = Counter(self._vocabulary[term] for term in terms if term in self._vocabulary)
            row = _damped(np.array(list(counts.values()), np.int32)) * self._rarity[list(counts)]
            numbers += counts
            weights.append(row / np.sqrt(row @ row) if counts else row)
            ends.append(len(numbers))
        shape = (len(ends) - 1, len(self._vocabulary))
        return sparse.csr_matrix((np.concatenate(weights).astype(precision, copy=False), numbers, ends), shape=shape)


def _damped(counts: Integers) -> npt.NDArray[np.float64]:
    """Return what counts weigh: the tenth occurrence of a term says less than the first."""
    weights: Floats = 1.0 + np.log(counts)
    return weights
