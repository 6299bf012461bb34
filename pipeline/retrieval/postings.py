"""The postings of an index: for each term the passages that hold it and what it adds to their scores, in arrays."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from goldbench.pipeline.measures.ranks.order import highest

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_SLACK = 1e-9
"""Relative difference that sums of the same numbers in another order stay far below."""
_EMPTY = 16
"""Passages for each posting of a query from which an array with a place for each passage costs more than it saves."""
_LEAST = 5e-324
"""The smallest number above 0."""
_SHORT = 64
"""Postings of a term that are quicker to add than to find out whether they can be left out."""
_FEW_A_TERM, _FEW_A_RESULT = 16_000, 16
"""Postings of a query, per term, and per term and result, that are quicker to add than to leave out."""


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
        repeated, first_of_term = by_term.indices, by_term.indptr[:-1][np.diff(by_term.indptr) > 0]
        begins = np.empty(len(repeated), np.bool_)
        np.not_equal(repeated[1:], repeated[:-1], out=begins[1:])
        begins[first_of_term] = True
        kept = np.flatnonzero(begins)
        return cls(
            vocabulary=dict(numbers),
            starts=np.searchsorted(kept, by_term.indptr).astype(np.int64),
            places=repeated[kept].astype(np.int32, copy=False),
            counts=np.diff(kept, append=len(repeated)).astype(np.int32),
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
        self._starts, self._places, self._weights, self._size = starts.tolist(), places, weights, size
        self._most = np.maximum.reduceat(weights, starts[:-1]).tolist() if len(weights) else []

    def buffer(self) -> Floats:
        """Return the zeros that `best` works on, for many queries one after another."""
        return np.zeros(self._size)

    def best(self, terms: Sequence[int], k: int, sums: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
        """Return the places and scores of the best passages that hold a term, equal scores by ascending place.

        Terms are added in the order of what they can add at most. As soon as those that are left cannot lift a new
        passage among the best, they are looked up for the passages that still can be among them.

        Args:
            terms: The numbers of the terms; one that is repeated counts again.
            k: The most passages.
            sums: The zeros of `buffer`, which are zeros again at the end.

        Source: the bounds are those of MaxScore; Turtle and Flood, Information Processing & Management 31(6), 1995.
        """
        every = sum(self._starts[term + 1] - self._starts[term] for term in terms)
        if self._size < _EMPTY * every and every <= len(terms) * max(_FEW_A_TERM, _FEW_A_RESULT * k):
            return self._best_of_all(terms, k)
        counted = sorted(Counter(terms).items(), key=lambda term: -self._most[term[0]])
        left = [0.0]
        for term, count in reversed(counted):
            left.append(left[-1] + count * self._most[term])
        left.reverse()
        done, found, scores = self._added(counted, left, k, sums)
        least = 0.0
        while True:
            if len(found) > k:
                least = max(least, _at_rank(scores, k))
                kept = scores + left[done] >= least * (1 - _SLACK)
                found, scores = found[kept], scores[kept]
            if done == len(counted):
                break
            term, count = counted[done]
            scores = scores + count * self._looked_up(term, found)
            done += 1
        exact = np.zeros(len(found))
        for term in terms:  # in the order of the query, whose sum does not depend on what was left out
            exact += self._looked_up(term, found)
        # Places ascend within neither list, and equal scores stand in the order of the places.
        order = highest(exact, k, found)
        return found[order], exact[order]

    def _best_of_all(self, terms: Sequence[int], k: int) -> tuple[npt.NDArray[np.intp], Floats]:
        parts = [slice(self._starts[term], self._starts[term + 1]) for term in terms]
        places = np.concatenate([self._places[part] for part in parts])
        sums: npt.NDArray[Any] = np.bincount(places, np.concatenate([self._weights[part] for part in parts]))
        enough = [part for part in parts if part.stop - part.start >= k]
        if not enough:
            return best_places(sums, k)
        rarest = min(enough, key=lambda part: part.stop - part.start)  # k of its passages are at least as good as these
        return best_places(sums, k, least=_at_rank(sums[self._places[rarest]], k))

    def _added(
        self, counted: Sequence[tuple[int, int]], left: Sequence[float], k: int, sums: Floats
    ) -> tuple[int, npt.NDArray[np.intp], Floats]:
        """Add terms until no passage without one of them can be among the best.

        Returns:
            How many terms were added, the passages that hold one of them, and their sums.
        """
        parts: list[Integers] = []
        size, done = 0, 0
        for done, (term, count) in enumerate(counted):
            start, end = self._starts[term], self._starts[term + 1]
            if size >= k and end - start > max(_SHORT, size // 2):
                found = np.concatenate(parts)
                if left[done] < _at_rank(sums[found], k) * (1 - _SLACK):
                    break
            places, weights = self._places[start:end], self._weights[start:end]
            before = sums[places]
            sums[places] = before + weights if count == 1 else before + count * weights
            parts.append(places[before == 0.0] if size else places)
            size += len(parts[-1])
        else:
            done = len(counted)
        found = np.concatenate(parts)
        scores = sums[found]
        sums[found] = 0.0
        return done, found.astype(np.intp), scores

    def _looked_up(self, term: int, found: npt.NDArray[np.intp]) -> Floats:
        """Return what a term adds to each of these passages."""
        start, end = self._starts[term], self._starts[term + 1]
        places = self._places[start:end]
        at = np.searchsorted(places, found.astype(np.int32, copy=False))
        at[at == len(places)] = 0
        return np.where(places[at] == found, self._weights[start:end][at], 0.0)


def best_places(sums: npt.NDArray[Any], k: int, *, least: float = _LEAST) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the places and values of the ``k`` highest sums above 0, equal ones by ascending place.

    Args:
        sums: The sums.
        k: The most places, 1 or more.
        least: Sums below it are left out; above 0, and reached by at least ``k`` sums unless it is the default.
    """
    found = np.flatnonzero(sums >= least)
    scores = sums[found]
    order = highest(scores, k)
    return found[order], scores[order]


def _at_rank(scores: Floats, k: int) -> float:
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
