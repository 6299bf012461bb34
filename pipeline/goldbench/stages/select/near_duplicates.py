"""Clusters of near-duplicate chunks, found in little memory per chunk.

Two chunks are near-duplicates if the Jaccard similarity of their shingles is at least ``NEAR_DUPLICATE``; clusters are
the connected components of that relation over candidate pairs. Candidates come from MinHash signatures in bands; each
is decided on the chunks' own shingles. 72 bytes are kept per chunk, and a chunk's text is read again when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from goldbench.text.similarity import Shingles, jaccard, shingles

NEAR_DUPLICATE = 0.80
"""Jaccard similarity from which two chunks are near-duplicates; every text that names it reads it here."""
PERMUTATIONS = 64
"""Hash functions in a signature; the lowest 8 bits of each minimum are kept."""
BAND = 4
"""Rows in a band: a pair of similarity .80 shares none of the 16 bands once in 5,000 times, at .90 once in 10**7."""
AGREEMENT = 38
"""Rows of two signatures that must agree before the texts are read: a pair of .80 has fewer once in 20,000 times."""
NEIGHBOURS = 8
"""Chunks that a chunk is compared with in one band: those before it in the order of signatures.

This bounds the work on boilerplate: each of 100,000 pages that share most of their words costs at most 128 comparisons,
not 100,000. Chunks that are alike stand beside each other and cost one comparison each."""

_KEPT = 4096
"""Texts whose shingles are kept in memory; beyond them, texts are read again."""
_REMEMBERED = 8192
"""Passages whose shingles are remembered while their likeness is asked for."""

Positions: TypeAlias = npt.NDArray[np.int32]
_BLOCK = 1 << 14
"""Pairs whose signatures are compared at once."""


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
_FACTORS = _RAW[:PERMUTATIONS] | np.uint32(1)
_SHIFTS = _RAW[PERMUTATIONS:]
"""``factor * hash + shift`` modulo 2**32 is a permutation of the hashes, since the factor is odd."""
_AT_ONCE = 1 << 14
"""Hashes that are permuted at once."""


def write_sketch(text: str, into: Sketches, position: int) -> None:
    """Write the sketch of a text: a digest of its shingles, and their least hash under each permutation.

    Source: Broder, On the resemblance and containment of documents (1997).

    Args:
        text: The text.
        into: The sketches of all chunks.
        position: Row of the text in them, from 0.
    """
    rows = shingles(text)
    if not len(rows):
        return
    into.digests[position] = xxh3_64_intdigest(rows.tobytes()) or 1
    hashes = rows.astype(np.uint32)
    least = np.full(PERMUTATIONS, np.iinfo(np.uint32).max, np.uint32)
    for start in range(0, len(hashes), _AT_ONCE):  # a row of a table may be of any size
        least = np.minimum(least, (_FACTORS * hashes[start : start + _AT_ONCE] + _SHIFTS).min(axis=1))
    into.signatures[position] = least.astype(np.uint8)


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
    read = lru_cache(maxsize=_KEPT)(lambda row: shingles(text_at(int(distinct[row]))))
    parent = list(range(len(distinct)))
    signatures = sketches.signatures[distinct]
    for band in range(0, PERMUTATIONS, BAND):
        tell(f"near-duplicates: {band / PERMUTATIONS:.0%} compared")
        for first, second in _candidates(signatures, band):
            first_root = _root(parent, first)
            second_root = _root(parent, second)
            if first_root != second_root and have_alike_shingles(read(first), read(second)):
                parent[max(first_root, second_root)] = min(first_root, second_root)
    roots = np.array([_root(parent, row) for row in range(len(parent))], np.intp)
    labels[order] = distinct[roots][rows]
    return labels


def _candidates(signatures: npt.NDArray[np.uint8], band: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows that share a band and agree enough, those next to each other first.

    Rows are put in the order of their signatures from the band on, around the end, so that rows which agree beyond the
    band stand beside each other.
    """
    keys = signatures.view(np.uint32)[:, band // BAND]
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.flatnonzero(counts[places] > 1)
    turned = np.roll(signatures[order], -band, axis=1).view(f"V{PERMUTATIONS}")[:, 0]
    order = order[np.argsort(turned, kind="stable")]
    for step in range(1, NEIGHBOURS + 1):
        for start in range(0, len(order) - step, _BLOCK):
            second = order[start + step : start + step + _BLOCK]
            first = order[start : start + len(second)]
            agreement = np.count_nonzero(signatures[first] == signatures[second], axis=1)
            alike = (keys[first] == keys[second]) & (agreement >= AGREEMENT)
            yield from zip(first[alike].tolist(), second[alike].tolist(), strict=True)


def _root(parent: list[int], row: int) -> int:
    """Return the row that stands for the component of a row, and shorten the way to it."""
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row


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


def _shared(first: Shingles, second: Shingles) -> int:
    """Return the number of items in two sorted sets."""
    if len(first) < len(second):
        first, second = second, first
    return int(np.count_nonzero(first.take(first.searchsorted(second), mode="clip") == second))


def are_alike(first: str, second: str) -> bool:
    """Return whether two texts are near-duplicates."""
    return have_alike_shingles(shingles(first), shingles(second))


def have_alike_shingles(first: Shingles, second: Shingles) -> bool:
    """Return whether two texts with these shingles are near-duplicates."""
    fewer, more = sorted((len(first), len(second)))
    if fewer < NEAR_DUPLICATE * more:  # even if all were shared
        return False
    return jaccard(_shared(first, second), len(first), len(second)) >= NEAR_DUPLICATE


class PassageLikeness:
    """Compares passages, and remembers the shingles of those that were compared last.

    Args:
        texts: The texts of the passages by id.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._shingles = lru_cache(maxsize=_REMEMBERED)(lambda doc_id: shingles(texts[doc_id]))

    def are_alike(self, first: str, second: str) -> bool:
        """Return whether two passages are near-duplicates; a passage whose text is not known is like no other."""
        if first not in self._texts or second not in self._texts:
            return False
        return have_alike_shingles(self._shingles(first), self._shingles(second))
