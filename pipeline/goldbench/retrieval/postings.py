"""The postings of an index: for each term the passages that hold it and what it adds to their scores, in arrays."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from goldbench.measures.ranks.order import highest, reached

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_SLACK = 1e-9
"""Relative difference that sums of the same numbers in another order stay far below."""
_PASSAGES_PER_POSTING = 16
"""Passages for each posting of a query from which an array with a place for each passage costs more than it saves."""
_LEAST = 5e-324
"""The smallest number above 0."""
_LONG = 20_000
"""Postings of a term from which it may be quicker to leave them out than to add them."""
_FEW = 100
"""Passages that are quicker to score exactly than to compare with the best once more."""
_FEW_A_TERM, _FEW_A_RESULT = 8_000, 1_000
"""All postings of a query are added if it has at most this many per term; the second number: per term and result."""


@dataclass(frozen=True, slots=True)
class Occurrences:
    """How often each term occurs in each passage.

    ``places`` holds the passages of term 0 in ascending order, then those of term 1, and so on; the passages of term t
    stand from ``starts[t]`` to ``starts[t + 1]``, and their counts at the same positions of ``counts``.
    """

    vocabulary: dict[str, int]
    starts: npt.NDArray[np.int64]
    places: Integers
    counts: Integers
    lengths: npt.NDArray[np.int64]
    """The number of terms of each passage, with repetitions."""

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]]) -> Self:
        """Return the occurrences of terms in passages, whose terms are given in any order, with repetitions."""
        from scipy import sparse

        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        terms, ends = array("i"), array("q", [0])
        for text in texts:
            terms.extend(map(numbers.__getitem__, text))
            ends.append(len(terms))
        rows, every = np.frombuffer(ends, np.int64), np.frombuffer(terms, np.int32)
        shape = (len(ends) - 1, len(numbers))
        by_term = sparse.csr_matrix((np.ones(len(every), np.bool_), every, rows), shape=shape).tocsc()
        del terms, every  # hundreds of megabytes of a large corpus
        repeated, first_of_term = by_term.indices, by_term.indptr[:-1][np.diff(by_term.indptr) > 0]
        begins = np.empty(len(repeated), np.bool_)
        np.not_equal(repeated[1:], repeated[:-1], out=begins[1:])
        begins[first_of_term] = True
        kept = np.flatnonzero(begins)
        counts = np.empty(len(kept), np.int32)
        np.subtract(kept[1:], kept[:-1], out=counts[:-1], casting="unsafe")  # `np.diff` makes two arrays of 64 bits
        counts[-1:] = len(repeated) - kept[-1:]
        return cls(
            vocabulary=dict(numbers),
            starts=np.searchsorted(kept, by_term.indptr).astype(np.int64),
            places=repeated[kept].astype(np.int32, copy=False),
            counts=counts,
            lengths=np.diff(rows),
        )

    def split(self, terms_of: Callable[[str], Sequence[str]]) -> Self:
        """Return the occurrences of what words are made of: stems, nothing for a word that is left out.

        Args:
            terms_of: The terms of a word, with repetitions.
        """
        from scipy import sparse

        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        terms, ends = array("i"), array("q", [0])
        for word in self.vocabulary:
            terms.extend(map(numbers.__getitem__, terms_of(word)))
            ends.append(len(terms))
        each = (np.ones(len(terms), np.int32), np.frombuffer(terms, np.int32), np.frombuffer(ends, np.int64))
        made_of = sparse.csr_matrix(each, shape=(len(self.vocabulary), len(numbers)))
        shape = (len(self.lengths), len(self.vocabulary))
        words = sparse.csc_matrix((self.counts, self.places, self.starts), shape=shape)
        found = (words.tocsr() @ made_of).tocsc()  # by ascending place, because every conversion keeps rows in order
        return type(self)(
            vocabulary=dict(numbers),
            starts=found.indptr.astype(np.int64),
            places=found.indices.astype(np.int32, copy=False),
            counts=found.data.astype(np.int32, copy=False),
            lengths=np.bincount(found.indices, found.data, minlength=len(self.lengths)).astype(np.int64),
        )


class Postings:
    """What each term adds to the score of each passage that holds it, and the best passages by the sum.

    Args:
        starts: As in `Occurrences`.
        places: As in `Occurrences`.
        weights: What is added, above 0, at the positions of ``places``.
        size: The number of passages.
    """

    def __init__(self, starts: npt.NDArray[np.int64], places: Integers, weights: Floats, size: int) -> None:
        self._starts: list[int] = starts.tolist()
        self._size = size
        self._places, self._weights = np.asarray(places), np.asarray(weights)  # slices of a memmap would be slow
        self._most: list[float] = np.maximum.reduceat(weights, starts[:-1]).tolist() if len(weights) else []

    def buffer(self) -> Floats:
        """Return the zeros that `best` works on, for many queries one after another."""
        return np.zeros(self._size)

    def best(self, terms: Sequence[int], k: int, sums: Floats) -> tuple[npt.NDArray[np.integer[Any]], Floats]:
        """Return the places and scores of the best passages that hold a term, equal scores by ascending place.

        Terms are added in the order of what they can add at most. As soon as those that are left cannot lift a new
        passage among the best, they are looked up for the passages that still can be among them.

        Args:
            terms: The numbers of the terms; one that is repeated counts again.
            k: The most passages, 1 or more.
            sums: The zeros of `buffer`, which are zeros again at the end.

        Source: the bounds are those of MaxScore; Turtle and Flood, Information Processing & Management 31(6), 1995.
        """
        every = sum(map(self._held, terms))
        if self._size < _PASSAGES_PER_POSTING * every and every <= len(terms) * max(_FEW_A_TERM, _FEW_A_RESULT * k):
            return self._best_of_all(terms, k, sums)
        ordered = sorted(terms, key=self._most.__getitem__, reverse=True)
        left = list(accumulate(map(self._most.__getitem__, reversed(ordered)), initial=0.0))[::-1]
        done, least, found, scores = self._added(ordered, left, k, sums)
        while done < len(ordered) and len(found) > _FEW:
            scores += self._looked_up(ordered[done], found)
            done += 1
            kept = np.flatnonzero(scores >= least - left[done])
            found, scores = found.take(kept), scores.take(kept)
        exact = np.zeros(len(found))
        for term in terms:  # in the order of the query, whose sum does not depend on what was left out
            exact += self._looked_up(term, found)
        order = highest(exact, k)
        return found[order], exact[order]

    def _best_of_all(self, terms: Sequence[int], k: int, sums: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
        for term in terms:
            self._add(term, sums)
        best = best_places(sums, k)
        sums.fill(0.0)
        return best

    def _added(
        self, ordered: Sequence[int], left: Sequence[float], k: int, sums: Floats
    ) -> tuple[int, float, Integers, Floats]:
        """Add terms until no passage without one of them can be among the best.

        Returns:
            How many terms were added; a score that the best passages reach; the passages that hold one of the terms
            and may be among the best, in ascending order; and their sums.
        """
        parts: list[Integers] = []
        size = 0
        while True:
            done = len(parts)
            over = done == len(ordered)
            if over or (size > k * done and self._held(ordered[done]) > max(_LONG, size // 2)):
                every = np.concatenate(parts, dtype=np.intp)  # a passage occurs as often as it has terms
                scores = sums.take(every)
                least = reached(scores, k * done) * (1 - _SLACK) if size > k * done else 0.0
                if over or left[done] < least:
                    break
            parts.append(self._add(ordered[done], sums))
            size += len(parts[-1])
        found = _once(every.take(np.flatnonzero(scores >= least - left[done])).astype(np.int32))
        scores = sums.take(found)
        sums[every] = 0.0
        return done, least, found, scores

    def _held(self, term: int) -> int:
        """Return how many passages hold a term."""
        return self._starts[term + 1] - self._starts[term]

    def _add(self, term: int, sums: Floats) -> Integers:
        """Add a term to the sums of the passages that hold it; return these passages."""
        part = slice(self._starts[term], self._starts[term + 1])
        np.add.at(sums, self._places[part], self._weights[part])
        return self._places[part]

    def _looked_up(self, term: int, found: Integers) -> Floats:
        """Return what a term adds to each of these passages."""
        part = slice(self._starts[term], self._starts[term + 1])
        places = self._places[part]
        at = places.searchsorted(found)
        weights: Floats = self._weights[part].take(at, mode="clip")
        weights *= places.take(at, mode="clip") == found
        return weights


def best_places(sums: npt.NDArray[Any], k: int) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the places and values of the ``k`` highest sums above 0, equal ones by ascending place.

    Args:
        sums: The sums, none below 0.
        k: The most places, 1 or more.
    """
    found = np.flatnonzero(sums >= max(_LEAST, reached(sums, k) if k < len(sums) else 0.0))
    scores = sums[found]
    order = highest(scores, k)
    return found[order], scores[order]


def _once(places: Integers) -> Integers:
    """Return each of the places once, in ascending order."""
    places.sort()
    fresh = np.ones(len(places), np.bool_)
    np.not_equal(places[1:], places[:-1], out=fresh[1:])
    return places[fresh]
