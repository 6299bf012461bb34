"""Scores of documents as sums over the lists of a query's terms, and the best of them.

Few postings are read one by one; where a query reaches a good part of the corpus, a row over all documents is cheaper,
and the terms that most documents hold are kept as such rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.retrieval.postings import Postings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.integer[Any]]

_GROUP = 256
"""Documents whose greatest score is looked at together."""
_FREQUENT = 4
"""A term that one of so many documents holds has a row over all of them; that takes less than thrice its list."""


class Sums:
    """What each posting adds to a score, and the room to add it up in."""

    def __init__(self, found: Postings, values: Floats) -> None:
        """Take the lists of documents, and what each of their entries adds."""
        self._starts, self._documents, self._values = found.starts, found.documents, values
        count = len(found.lengths)
        self._room = np.zeros(-(-count // _GROUP) * _GROUP)
        self._rows: dict[int, Floats] = {}
        for term in np.flatnonzero(np.diff(found.starts) * _FREQUENT >= max(count, 16 * _GROUP)):
            row = np.zeros(count)
            documents, held = self._list(int(term))
            row[documents] = held
            self._rows[int(term)] = row

    def best(self, terms: Mapping[int, int], k: int) -> tuple[Ints, Floats]:
        """Return the places and sums of the best ``k`` documents, and of those equal to the last; in no order.

        Args:
            terms: how often each term stands in the query.
            k: how many documents.
        """
        reached = sum(int(self._starts[term + 1] - self._starts[term]) for term in terms)
        places, sums = self._few(terms) if 4 * reached < len(self._room) else self._many(terms, k)
        if len(sums) > k:
            kept = sums >= np.partition(sums, -k)[-k]
            return places[kept], sums[kept]
        return places, sums

    def _few(self, terms: Mapping[int, int]) -> tuple[Ints, Floats]:
        """Return the documents that hold a term, each once, and their sums."""
        lists = [self._list(term) for term in terms]
        for (documents, values), count in zip(lists, terms.values(), strict=True):
            np.add.at(self._room, documents, values if count == 1 else count * values)
        sums = []
        for documents, _ in lists:
            sums.append(self._room[documents])
            self._room[documents] = 0.0  # a document of a later list too is found there with 0, and left out
        found = np.concatenate(sums)
        first = found > 0
        return np.concatenate([documents for documents, _ in lists])[first], found[first]

    def _many(self, terms: Mapping[int, int], k: int) -> tuple[Ints, Floats]:
        """Return documents among which the best ``k`` are, with their sums.

        The k-th greatest of the groups' maxima is a bound: k documents reach it.
        """
        room = self._room
        for term, count in terms.items():
            row = self._rows.get(term)
            if row is not None:
                room[: len(row)] += row if count == 1 else count * row
            else:
                documents, values = self._list(term)
                np.add.at(room, documents, values if count == 1 else count * values)
        tops = room.reshape(-1, _GROUP).max(axis=1)
        bound = np.partition(tops, -k)[-k] if k < len(tops) else 0.0
        places = np.flatnonzero(room >= bound) if bound > 0 else np.flatnonzero(room)
        sums = room[places]
        room.fill(0.0)
        return places, sums

    def _list(self, term: int) -> tuple[Ints, Floats]:
        where = slice(self._starts[term], self._starts[term + 1])
        return self._documents[where], self._values[where]
