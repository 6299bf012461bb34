"""The best documents of many queries, gathered from scores that come block by block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ROOM = 4
"""Documents held for each one that is wanted before those that cannot be among the best are dropped."""


class BestSoFar:
    """The best documents of each query among those that were added, equal scores by ascending place.

    Args:
        queries: The number of queries.
        k: The most documents of a query, 1 or more.
    """

    def __init__(self, queries: int, k: int) -> None:
        self._size, self._k, self._held = queries, k, 0
        self._least = np.zeros((queries, 1))
        self._parts = [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))]

    def add(self, scores: Floats, first: int) -> None:
        """Add documents that stand after all that were added before.

        Args:
            scores: A row for each query, a column for each document; 0 where a document was not found.
            first: The place of the first document.
        """
        rows, columns = np.nonzero(scores > self._least)
        self._parts.append((rows, columns + first, scores[rows, columns]))
        self._held += len(rows)
        if self._held > _ROOM * self._size * self._k:
            self._drop()

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.intp], Floats]]:
        """Yield the places and scores of the documents of each query, best first."""
        rows, places, scores = self._drop()
        ends = np.searchsorted(rows, np.arange(self._size + 1))
        for start, end in itertools.pairwise(ends):
            yield places[start:end], scores[start:end]

    def _drop(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
        """Keep only the best of each query, and return them in order."""
        rows, places, scores = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.lexsort((places, -scores, rows))
        rows, places, scores = rows[order], places[order], scores[order]
        rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
        kept = rank < self._k
        last = rank == self._k - 1
        self._least[rows[last], 0] = scores[last]
        found = rows[kept], places[kept], scores[kept]
        self._parts, self._held = [found], 0
        return found
