"""Clusters of near-duplicate chunks, found in little memory per chunk.

Two chunks are near-duplicates if the Jaccard similarity of their shingles is at least ``NEAR_DUPLICATE``; clusters are
the connected components of that relation over candidate pairs. Candidates come from MinHash signatures in bands; each
is decided on the chunks' own shingles. 72 bytes are kept per chunk, and a chunk's text is read again when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from goldbench.text.similarity import Shingles, distinct, jaccard, shingles, shingles_of

NEAR_DUPLICATE = 0.80
"""Jaccard similarity from which two chunks are near-duplicates; every text that names it reads it here."""
PERMUTATIONS = 64
"""Hash functions in a signature; the lowest 8 bits of each minimum are kept."""
BAND = 4
"""Rows in a band: a pair of similarity .80 shares none of the 16 bands once in 5,000 times, at .90 once in 10**7."""
AGREEMENT = 38
"""Rows of two signatures that must agree before the texts are read: a pair of .80 has fewer once in 20,000 times."""
NEIGHBOURS = 64
"""Most candidates per chunk in one band: the chunks whose signatures agree with it longest."""
UNLIKE = 8
"""Candidates in one band, the likeliest first, that may prove unlike before a chunk is compared no more in that band.

Together with ``NEIGHBOURS`` this bounds the work on boilerplate: each of 100,000 pages that share most of their words
costs at most about 100 comparisons, not 100,000. Chunks that are alike cost one comparison each."""

_KEPT = 1 << 23
"""Most shingles kept in memory (64 MB) of the texts that were compared; beyond them, texts are read again."""

Positions: TypeAlias = npt.NDArray[np.int32]
Places: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
_BLOCK = 1 << 11
_WORDS = 16


@dataclass(frozen=True, slots=True)
class Sketches:
    """One row per chunk: a digest of its set of shingles (0 for none) and its signature."""

    digests: npt.NDArray[np.uint64]
    signatures: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, count: int) -> Sketches:
        """Return room for ``count`` chunks."""
        return cls(np.zeros(count, np.uint64), np.zeros((count, PERMUTATIONS), np.uint8))


_RAW = np.random.PCG64(1).random_raw(2 * PERMUTATIONS).astype(np.uint32)[:, None]
_FACTORS, _SHIFTS = _RAW[:PERMUTATIONS] | np.uint32(1), _RAW[PERMUTATIONS:]
"""``factor * hash + shift`` modulo 2**32 is a permutation of the hashes, since the factor is odd."""
_AT_ONCE = 1 << 14


def write_sketch(text: str, into: Sketches, position: int) -> None:
    """Write the sketch of one text; see `write_sketches`.

    Args:
        text: The text.
        into: The sketches of all chunks.
        position: Row of the text in them, from 0.
    """
    write_sketches([text], into, [position])


def write_sketches(texts: Sequence[str], into: Sketches, positions: Sequence[int]) -> None:
    """Write the sketches of texts: a digest of the shingles of each, and their least hash under each permutation.

    Source: Broder, On the resemblance and containment of documents (1997).

    Args:
        texts: The texts.
        into: The sketches of all chunks.
        positions: The row of each text in them, from 0.
    """
    places, found, size = list[int](), list[Shingles](), 0
    for position, rows in zip(positions, shingles_of(texts), strict=True):
        if not len(rows):
            continue
        into.digests[position] = xxh3_64_intdigest(distinct(rows).tobytes()) or 1
        if len(found) and size + len(rows) > _AT_ONCE:
            into.signatures[places] = _signatures(found)
            places, found, size = [], [], 0
        places.append(position)
        found.append(rows)
        size += len(rows)
    if found:
        into.signatures[places] = _signatures(found)


def _signatures(texts: Sequence[Shingles]) -> npt.NDArray[np.uint8]:
    """Return the lowest bits of the least hash of each text under each permutation."""
    hashes = np.concatenate(texts).astype(np.uint32)
    begins = np.cumsum([0, *map(len, texts[:-1])])
    least = np.empty((PERMUTATIONS, len(texts)), np.uint32)
    if len(texts) == 1:
        for start in range(0, len(hashes), _AT_ONCE):
            of_block = (_FACTORS * hashes[start : start + _AT_ONCE] + _SHIFTS).min(axis=1)
            least[:, 0] = np.minimum(least[:, 0], of_block) if start else of_block
    else:
        for row, (factor, shift) in enumerate(zip(_FACTORS[:, 0], _SHIFTS[:, 0], strict=True)):
            least[row] = np.minimum.reduceat(factor * hashes + shift, begins)
    return least.T.astype(np.uint8)


def cluster(
    sketches: Sketches, *, text_at: Callable[[int], str], tell: Callable[[str], None] = lambda _: None
) -> Positions:
    """Return the number of each chunk's cluster, the position of a member; a chunk without a shingle is alone.

    Args:
        sketches: One row per chunk.
        text_at: Returns the text of the chunk at a position.
        tell: Takes a line on how far the comparison is.
    """
    labels = np.arange(len(sketches.digests), dtype=np.int32)
    order = np.argsort(sketches.digests, kind="stable").astype(np.int32)
    order = order[np.count_nonzero(sketches.digests == 0) :]
    digests = sketches.digests[order]
    is_first = np.concatenate(([True], digests[1:] != digests[:-1]))[: len(order)]
    distinct = order[is_first]  # in the order of their digests, so that nothing depends on the order of the chunks
    rows = np.cumsum(is_first, dtype=np.int32) - 1
    search = _Search(sketches.signatures[distinct], _Likeness(distinct, text_at), tell)
    labels[order] = distinct[search.components()][rows]
    return labels


class Clusters:
    """The members of each cluster of near-duplicates.

    Args:
        labels: The number of each chunk's cluster, as `cluster` returns them.
    """

    def __init__(self, labels: Positions) -> None:
        self.labels = labels
        shared = np.flatnonzero(np.bincount(labels, minlength=len(labels))[labels] > 1).astype(np.int32)
        self._positions = shared[np.argsort(labels[shared], kind="stable")]
        self._labels = labels[self._positions]

    def of(self, position: int) -> tuple[int, ...]:
        """Return the positions of a chunk's near-duplicates, its own included, ascending."""
        first, last = np.searchsorted(self._labels, self.labels[position] + np.array([0, 1], np.int32))
        return tuple(self._positions[first:last].tolist()) or (position,)


class _Likeness:
    """The exact test of candidate pairs of rows, on shingles that are kept or read again.

    Most pairs are ruled out by 1,024 bits per text: a bit that only one text sets stands for a shingle that the other
    lacks. So no pair is ruled out whose similarity could be ``NEAR_DUPLICATE``.
    """

    def __init__(self, distinct: Positions, text_at: Callable[[int], str]) -> None:
        self._distinct, self._text_at = distinct, text_at
        self._place = np.full(len(distinct), -1, np.int32)
        self._sizes = np.zeros(len(distinct), np.int32)
        self._bits = np.zeros((0, _WORDS), np.uint64)
        self._count = 0
        self._kept: dict[int, Shingles] = {}
        self._room = _KEPT
        self._read_again = lru_cache(maxsize=256)(self._read)
        self.similar = lru_cache(maxsize=1 << 15)(self._similar)

    def possible(self, one: Positions, other: Positions) -> Flags:
        """Return which pairs of rows may be similar."""
        both = np.concatenate((one, other))
        for row in np.unique(both[self._place[both] < 0]).tolist():
            self._add(row)
        first, second = self._bits[self._place[one]], self._bits[self._place[other]]
        of_first, of_second = self._sizes[one], self._sizes[other]
        shared = np.minimum(of_first - _ones(first & ~second), of_second - _ones(second & ~first))
        shared -= (of_first == of_second) & (shared == of_first)  # the texts differ in a shingle
        found: Flags = shared >= NEAR_DUPLICATE * (of_first + of_second - shared) - 1e-6
        return found

    def _similar(self, one: int, other: int) -> bool:
        return have_alike_shingles(self._of(one), self._of(other))

    def _of(self, row: int) -> Shingles:
        found = self._kept.get(row)
        return self._read_again(row) if found is None else found

    def _read(self, row: int) -> Shingles:
        return shingles(self._text_at(int(self._distinct[row])))

    def _add(self, row: int) -> None:
        """Read a text and keep its bits, and its shingles while there is room."""
        found = self._read(row)
        if self._count == len(self._bits):
            self._bits = np.concatenate((self._bits, np.zeros((max(256, self._count), _WORDS), np.uint64)))
        numbers = (found & np.uint64(64 * _WORDS - 1)).astype(np.intp)
        flags = np.zeros(64 * _WORDS, np.bool_)
        flags[numbers] = True
        self._bits[self._count] = np.packbits(flags).view(np.uint64)
        self._place[row], self._sizes[row] = self._count, len(found)
        self._count += 1
        if len(found) <= self._room:
            self._kept[row] = found
            self._room -= len(found)


def _ones(bits: npt.NDArray[np.uint64]) -> Positions:
    """Return the number of ones in each row."""
    counts = np.bitwise_count(bits)
    total: Positions = counts[:, 0].astype(np.int32)
    for column in range(1, counts.shape[1]):  # a third of the time of a sum along rows
        total += counts[:, column]
    return total


def _shared(one: Shingles, other: Shingles) -> int:
    """Return the number of items in two sorted sets."""
    if len(one) < len(other):
        one, other = other, one
    return int(np.count_nonzero(one.take(one.searchsorted(other), mode="clip") == other))


def are_alike(one: str, other: str) -> bool:
    """Return whether two texts are near-duplicates."""
    return have_alike_shingles(shingles(one), shingles(other))


def have_alike_shingles(one: Shingles, other: Shingles) -> bool:
    """Return whether two texts with these shingles are near-duplicates."""
    fewer, more = sorted((len(one), len(other)))
    if fewer < NEAR_DUPLICATE * more:  # even if all were shared
        return False
    return jaccard(_shared(one, other), len(one), len(other)) >= NEAR_DUPLICATE


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for near-duplicates among distinct rows."""

    signatures: npt.NDArray[np.uint8]
    likeness: _Likeness
    tell: Callable[[str], None]

    def components(self) -> Positions:
        """Return for each row the least row of its connected component over similar candidate pairs."""
        parent = np.arange(len(self.signatures), dtype=np.int32)
        for band in range(0, PERMUTATIONS, BAND):
            self._join(parent, band)
        return _compressed(parent)

    def _join(self, parent: Positions, band: int) -> None:
        """Join the components of rows that share this band and are similar."""
        member, unlike = -1, 0
        for one, other in self._candidates(band, _compressed(parent)):
            member, unlike = (member, unlike) if other == member else (other, 0)
            if unlike == UNLIKE:
                continue
            a, b = _root(parent, one), _root(parent, other)
            if a == b:
                continue
            if self.likeness.similar(min(one, other), max(one, other)):
                parent[max(a, b)] = min(a, b)
            else:
                unlike += 1

    def _candidates(self, band: int, roots: Positions) -> Iterator[tuple[int, int]]:
        """Yield pairs of rows that share this band, agree enough and are in two components.

        Each row comes with neighbours before it in its group, the ones that agree with it most first.
        """
        order, start = self._groups(band)
        for begin in range(0, len(order), _BLOCK):
            share = (band + BAND * begin / len(order)) / PERMUTATIONS
            self.tell(f"near-duplicates: {share:.0%} compared")
            first, last = max(0, begin - NEIGHBOURS), min(begin + _BLOCK, len(order))
            rows, reach = order[first:last], np.arange(begin, last) - start[begin:last]
            one, other, agreement = self._agreeing(rows, np.minimum(reach, NEIGHBOURS), roots[rows])
            possible = np.flatnonzero(self.likeness.possible(rows[one], rows[other]))
            likeliest = possible[np.lexsort((one[possible], -agreement[possible], other[possible]))]
            yield from zip(rows[one[likeliest]].tolist(), rows[other[likeliest]].tolist(), strict=True)

    def _agreeing(self, rows: Positions, reach: Places, roots: Positions) -> tuple[npt.NDArray[np.integer[Any]], ...]:
        """Return the pairs of places whose signatures agree enough, and in how many rows of the signature each agrees.

        Args:
            rows: The rows of a block, and before them those that they may be compared with.
            reach: With how many places before it each place of the block is compared.
            roots: The component of each row.
        """
        signatures = self.signatures[rows].view(f"V{PERMUTATIONS}")[:, 0]  # whole rows are taken faster than bytes
        before = len(rows) - len(reach)
        found: list[tuple[npt.NDArray[np.integer[Any]], ...]] = []
        for step in range(1, int(reach.max()) + 1):
            other = np.flatnonzero(reach >= step) + before
            other = other[roots[other] != roots[other - step]]
            same = signatures[other].view(np.uint8) == signatures[other - step].view(np.uint8)
            agreement = _ones(same.view(np.uint64).reshape(-1, PERMUTATIONS // 8))
            enough = agreement >= AGREEMENT
            found.append((other[enough] - step, other[enough], agreement[enough]))
        return tuple(map(np.concatenate, zip(*found, strict=True)))

    def _groups(self, band: int) -> tuple[Positions, Places]:
        """Return the rows that share a band with others, group by group, and for each where its group begins.

        Within a group the rows are sorted by the signature from the band on, around its end, so that rows which agree
        beyond the band stand near each other.
        """
        keys = self.signatures.view(np.uint32)[:, band // BAND]
        order = np.argsort(keys, kind="stable").astype(np.int32)
        ordered = keys[order]
        as_before = np.concatenate(([False], ordered[1:] == ordered[:-1]))[: len(order)]
        as_after = np.concatenate((as_before[1:], [False]))[: len(order)]
        order = order[as_before | as_after]
        turned = np.roll(self.signatures[order], -band, axis=1).view(f"V{PERMUTATIONS}")[:, 0]
        order = order[np.argsort(turned, kind="stable")]
        ordered = keys[order]
        begins = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] ^ np.uint32(1)))
        return order, np.repeat(begins, np.diff(begins, append=len(order)))


def _compressed(parent: Positions) -> Positions:
    roots = parent
    while True:
        above = roots[roots]
        if np.array_equal(above, roots):
            return roots
        roots = above


def _root(parent: Positions, row: int) -> int:
    while (above := int(parent[row])) != row:
        parent[row] = parent[above]
        row = above
    return row
