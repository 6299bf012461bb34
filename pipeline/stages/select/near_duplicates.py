"""Clusters of near-duplicate chunks, found in little memory per chunk.

Two chunks are near-duplicates if the Jaccard similarity of their shingles is at least ``NEAR_DUPLICATE``; clusters are
the connected components of that relation over candidate pairs. Candidates come from MinHash signatures in bands; each
is decided on the chunks' own shingles. 72 bytes are kept per chunk, and a chunk's text is read again when needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from goldbench.pipeline.text.similarity import Shingles, jaccard, shingles

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

Positions: TypeAlias = npt.NDArray[np.int32]
_BLOCK = 1 << 10


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
    """Write the sketch of a text: a digest of its shingles, and their least hash under each permutation.

    Source: Broder, On the resemblance and containment of documents (1997).

    Args:
        text: The text.
        into: The sketches of all chunks.
        position: Row of the text in them, from 0.
    """
    found = shingles(text)
    if not len(found):
        return
    into.digests[position] = xxh3_64_intdigest(found.tobytes()) or 1
    hashes = found.astype(np.uint32)
    blocks = (hashes[start : start + _AT_ONCE] for start in range(0, len(hashes), _AT_ONCE))
    least = np.min([(_FACTORS * block + _SHIFTS).min(axis=1) for block in blocks], axis=0)
    into.signatures[position] = least.astype(np.uint8)


def cluster(sketches: Sketches, *, text_at: Callable[[int], str]) -> Positions:
    """Return the number of each chunk's cluster, the position of a member; a chunk without a shingle is alone.

    Args:
        sketches: One row per chunk.
        text_at: Returns the text of the chunk at a position.
    """
    labels = np.arange(len(sketches.digests), dtype=np.int32)
    order = np.argsort(sketches.digests, kind="stable").astype(np.int32)
    order = order[np.count_nonzero(sketches.digests == 0) :]
    digests = sketches.digests[order]
    is_first = np.concatenate(([True], digests[1:] != digests[:-1]))[: len(order)]
    distinct = order[is_first]  # in the order of their digests, so that nothing depends on the order of the chunks
    roots = _components(sketches.signatures, distinct, _similar(distinct, text_at))
    labels[order] = distinct[roots][np.cumsum(is_first, dtype=np.int32) - 1]
    return labels


def _similar(distinct: Positions, text_at: Callable[[int], str]) -> Callable[[int, int], bool]:
    """Return the exact test of a candidate pair, which reads both texts again."""

    @lru_cache(maxsize=256)
    def of(index: int) -> Shingles:
        return shingles(text_at(int(distinct[index])))

    @lru_cache(maxsize=1 << 15)
    def similar(one: int, other: int) -> bool:
        first, second = of(one), of(other)
        shared = len(np.intersect1d(first, second, assume_unique=True))
        return jaccard(shared, len(first), len(second)) >= NEAR_DUPLICATE

    return similar


def are_alike(one: str, other: str) -> bool:
    """Return whether two texts are near-duplicates."""
    first, second = shingles(one), shingles(other)
    shared = len(np.intersect1d(first, second, assume_unique=True))
    return jaccard(shared, len(first), len(second)) >= NEAR_DUPLICATE


def _components(
    signatures: npt.NDArray[np.uint8], distinct: Positions, similar: Callable[[int, int], bool]
) -> Positions:
    """Return for each of the distinct rows the least row of its connected component over similar candidate pairs."""
    parent = np.arange(len(distinct), dtype=np.int32)
    for band in range(0, PERMUTATIONS, BAND):
        roots = _compressed(parent)
        member, unlike = -1, 0
        for one, other in _candidates(signatures, distinct, band, roots):
            member, unlike = (member, unlike) if other == member else (other, 0)
            a, b = _root(parent, one), _root(parent, other)
            if a == b or unlike == UNLIKE:
                continue
            if similar(min(one, other), max(one, other)):
                parent[max(a, b)] = min(a, b)
            else:
                unlike += 1
    return _compressed(parent)


def _candidates(
    signatures: npt.NDArray[np.uint8], distinct: Positions, band: int, roots: Positions
) -> Iterator[tuple[int, int]]:
    """Yield pairs of rows that share this band, agree enough and are not yet in one cluster.

    Each row comes with neighbours before it in its group, the ones that agree with it most first.
    """
    order, start = _groups(signatures, distinct, band)
    for begin in range(0, len(order), _BLOCK):
        places = np.arange(begin, min(begin + _BLOCK, len(order)))
        counts = np.minimum(places - start[places], NEIGHBOURS)
        member = np.repeat(places, counts)
        neighbour = member - 1 - (np.arange(len(member)) - np.repeat(np.cumsum(counts) - counts, counts))
        apart = roots[order[neighbour]] != roots[order[member]]
        neighbour, member = neighbour[apart], member[apart]
        same = signatures[distinct[order[neighbour]]] == signatures[distinct[order[member]]]
        agreement = np.count_nonzero(same, axis=1)
        likeliest = np.lexsort((neighbour, -agreement, member))
        likeliest = likeliest[agreement[likeliest] >= AGREEMENT]
        yield from zip(order[neighbour[likeliest]].tolist(), order[member[likeliest]].tolist(), strict=True)


def _groups(
    signatures: npt.NDArray[np.uint8], distinct: Positions, band: int
) -> tuple[Positions, npt.NDArray[np.int64]]:
    """Return the rows that share a band with others, group by group, and for each where its group begins.

    Within a group the rows are sorted by the signature from the band on, around its end, so that rows which agree
    beyond the band stand near each other.
    """
    keys = signatures.view(np.uint32)[distinct, band // BAND]
    order = np.argsort(keys, kind="stable").astype(np.int32)
    keys = keys[order]
    as_before = np.concatenate(([False], keys[1:] == keys[:-1]))
    as_after = np.concatenate((as_before[1:], [False]))
    order = order[as_before | as_after] if len(order) else order
    turned = np.roll(signatures[distinct[order]], -band, axis=1).view(">u8")
    order = order[np.lexsort((order, *turned.T[::-1]))]
    keys = signatures.view(np.uint32)[distinct[order], band // BAND]
    begins = np.flatnonzero(np.diff(keys, prepend=keys[:1] ^ np.uint32(1)))
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
