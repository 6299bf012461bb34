"""The postings of an index: for each term the passages that hold it and what it adds to their scores, in arrays."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from goldbench.measures.ranks.order import highest, in_tie_order, reached
from goldbench.retrieval.token_files import TokenFiles
from goldbench.retrieval.tokens import Tokenizer

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
_FEW_A_TERM = 8_000
_FEW_A_RESULT = 1_000
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
        vocabulary, rows = _numbered(texts)
        lengths = np.diff(rows.indptr).astype(np.int64)
        by_term = rows.tocsc()
        by_term.sum_duplicates()
        return cls._by_term(vocabulary, by_term, lengths)

    @classmethod
    def in_texts(cls, texts: Iterable[str], tokens: Tokenizer) -> Self:
        """Return the occurrences of the terms of a tokenizer, which cuts each word of a corpus once."""
        words = cls.of(map(tokens.words, texts))
        if tokens.terms_of is None:
            return words
        vocabulary, terms = _numbered(map(tokens.terms_of, words.vocabulary))
        counts = (words.matrix().tocsr() @ terms).tocsc()  # by ascending place: every conversion keeps rows in order
        lengths = np.bincount(counts.indices, counts.data, minlength=len(words.lengths)).astype(np.int64)
        return cls._by_term(vocabulary, counts, lengths)

    @classmethod
    def in_corpus(cls, passages: Mapping[str, str], tokens: Tokenizer | TokenFiles) -> Self:
        """Return the occurrences of terms in passages, which are numbered in tie order.

        Raises:
            RetrieverFailed: The files of tokens lack a text.
        """
        ids = in_tie_order(passages)
        if isinstance(tokens, TokenFiles):
            return cls.of(tokens.of({doc_id: passages[doc_id] for doc_id in ids}))
        return cls.in_texts((passages[doc_id] for doc_id in ids), tokens)

    @classmethod
    def _by_term(cls, vocabulary: dict[str, int], counts: sparse.csc_matrix, lengths: npt.NDArray[np.int64]) -> Self:
        return cls(
            vocabulary=vocabulary,
            starts=counts.indptr.astype(np.int64),
            places=counts.indices.astype(np.int32, copy=False),
            counts=counts.data,
            lengths=lengths,
        )

    def matrix(self, values: npt.NDArray[Any] | None = None) -> sparse.csc_matrix:
        """Return the counts, or other values at their positions: a row for each passage, a column for each term."""
        shape = (len(self.lengths), len(self.vocabulary))
        return sparse.csc_matrix((self.counts if values is None else values, self.places, self.starts), shape=shape)


def _numbered(texts: Iterable[Sequence[str]]) -> tuple[dict[str, int], sparse.csr_matrix]:
    """Return the number of each term, and a matrix with a row for each text and a 1 for each of its terms."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    terms = array("i")
    ends = array("q", [0])
    for text in texts:
        terms.extend(map(numbers.__getitem__, text))
        ends.append(len(terms))
    ones = np.ones(len(terms), np.int32)
    shape = (len(ends) - 1, len(numbers))
    columns = np.frombuffer(terms, np.int32)
    rows = np.frombuffer(ends, np.int64)
    return dict(numbers), sparse.csr_matrix((ones, columns, rows), shape=shape)


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
        done, least, candidates, scores = self._added(ordered, left, k, sums)
        while done < len(ordered) and len(candidates) > _FEW:
            scores += self._looked_up(ordered[done], candidates)
            done += 1
            hopeful = np.flatnonzero(scores >= least - left[done])
            candidates = candidates.take(hopeful)
            scores = scores.take(hopeful)
        exact = np.zeros(len(candidates))
        for term in terms:  # in the order of the query, whose sum does not depend on what was left out
            exact += self._looked_up(term, candidates)
        order = highest(exact, k)
        return candidates[order], exact[order]

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
        candidates = _once(every.take(np.flatnonzero(scores >= least - left[done])).astype(np.int32))
        scores = sums.take(candidates)
        sums[every] = 0.0
        return done, least, candidates, scores

    def _held(self, term: int) -> int:
        """Return how many passages hold a term."""
        return self._starts[term + 1] - self._starts[term]

    def _add(self, term: int, sums: Floats) -> Integers:
        """Add a term to the sums of the passages that hold it; return these passages."""
        part = slice(self._starts[term], self._starts[term + 1])
        np.add.at(sums, self._places[part], self._weights[part])
        return self._places[part]

    def _looked_up(self, term: int, candidates: Integers) -> Floats:
        """Return what a term adds to each of these passages."""
        part = slice(self._starts[term], self._starts[term + 1])
        places = self._places[part]
        at = places.searchsorted(candidates)
        weights: Floats = self._weights[part].take(at, mode="clip")
        weights *= places.take(at, mode="clip") == candidates
        return weights


def best_places(sums: npt.NDArray[Any], k: int) -> tuple[npt.NDArray[np.intp], Floats]:
    """Return the places and values of the ``k`` highest sums above 0, equal ones by ascending place.

    Args:
        sums: The sums, none below 0.
        k: The most places, 1 or more.
    """
    candidates = np.flatnonzero(sums >= max(_LEAST, reached(sums, k) if k < len(sums) else 0.0))
    scores = sums[candidates]
    order = highest(scores, k)
    return candidates[order], scores[order]


def _once(places: Integers) -> Integers:
    """Return each of the places once, in ascending order."""
    places.sort()
    fresh = np.ones(len(places), np.bool_)
    np.not_equal(places[1:], places[:-1], out=fresh[1:])
    return places[fresh]
