"""Clusters of chunks that say nearly the same, in memory that hardly depends on how many chunks there are.

Two chunks are near-duplicates where the Jaccard similarity of their shingles is at least ``THRESHOLD``; clusters are
the connected components of that relation over candidate pairs. Candidates come from MinHash signatures (datasketch) in
bands; each is decided on the chunks' own shingles. Per chunk 72 bytes are kept: its texts are read again where needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from datasketch import MinHash
from xxhash import xxh3_64_intdigest

from pipeline.text.shingles import Shingles, jaccard, shingles

THRESHOLD = 0.80
"""Jaccard similarity from which two chunks are near-duplicates."""
PERMUTATIONS = 64
"""Hash functions in a signature; of each minimum the lowest 8 bits are kept."""
BAND = 4
"""Rows in a band: a pair with similarity .80 shares none of the 16 bands once in 5,000 times, at .90 in 10**7."""
AGREEMENT = 38
"""Rows of two signatures that must agree before the texts are read: a pair with .80 has fewer once in 20,000 times."""
PIVOTS = 64
"""In a band shared by more chunks than this, each is compared with the first so many of them, so that a form letter
sent 100,000 times costs 100,000 comparisons a band and not 5 billion. Those it equals need no comparison at all."""

Positions = npt.NDArray[np.int64]
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Sketches:
    """One row per chunk: a digest of its set of shingles (0 for none) and its signature."""

    digests: npt.NDArray[np.uint64]
    signatures: npt.NDArray[np.uint8]

    @classmethod
    def empty(cls, count: int) -> Sketches:
        """Return room for so many chunks."""
        return cls(np.zeros(count, np.uint64), np.zeros((count, PERMUTATIONS), np.uint8))


class Sketcher:
    """Computes the sketches of one text after another; holds the permutations."""

    def __init__(self) -> None:
        self._minhash = MinHash(num_perm=PERMUTATIONS, seed=1, hashfunc=int, scheme="affine32")

    def write(self, text: str, into: Sketches, position: int) -> None:
        """Put the sketch of a text into its row."""
        found = shingles(text)
        if not len(found):
            return
        into.digests[position] = xxh3_64_intdigest(found.tobytes()) or 1
        self._minhash.clear()
        self._minhash.update_batch((found & np.uint64(0xFFFFFFFF)).tolist())
        into.signatures[position] = self._minhash.hashvalues.astype(np.uint8)


def cluster(sketches: Sketches, *, text_at: Callable[[int], str]) -> npt.NDArray[np.int32]:
    """Return for each chunk the number of its cluster; chunks without a shingle stand alone.

    Args:
        sketches: One row per chunk.
        text_at: Reads the text of the chunk at a position again.
    """
    count = len(sketches.digests)
    labels = np.arange(count, dtype=np.int32)
    filled = np.flatnonzero(sketches.digests)
    if not len(filled):
        return labels
    _, first, inverse = np.unique(sketches.digests[filled], return_index=True, return_inverse=True)
    distinct = filled[first]  # in the order of their digests, so that nothing depends on the order of the chunks
    roots = _components(sketches.signatures[distinct], _similar(distinct, text_at))
    labels[filled] = distinct[roots][inverse]
    return labels


def _similar(distinct: Positions, text_at: Callable[[int], str]) -> Callable[[int, int], bool]:
    """Return the exact test of a candidate pair, on texts that are read again."""

    @lru_cache(maxsize=256)
    def of(index: int) -> Shingles:
        return shingles(text_at(int(distinct[index])))

    @lru_cache(maxsize=1 << 16)
    def similar(one: int, other: int) -> bool:
        return jaccard(of(one), of(other)) >= THRESHOLD

    return similar


def _components(signatures: npt.NDArray[np.uint8], similar: Callable[[int, int], bool]) -> Positions:
    """Return for each row the least row of its connected component over similar candidate pairs."""
    parent = np.arange(len(signatures))
    keys = signatures.view(np.uint32)
    for band in range(keys.shape[1]):
        for pivots, members in _rounds(keys[:, band]):
            roots = _compressed(parent)
            apart = roots[pivots] != roots[members]
            for one, other in _agreeing(signatures, pivots[apart], members[apart]):
                a, b = _root(parent, one), _root(parent, other)
                if a != b and similar(min(one, other), max(one, other)):
                    parent[max(a, b)] = min(a, b)
    return _compressed(parent)


def _rounds(keys: npt.NDArray[np.uint32]) -> Iterator[tuple[Positions, Positions]]:
    """Yield pairs of rows with the same key: the n-th of each group against all later ones, at the n-th time."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sizes = np.diff(np.concatenate((begins, [len(keys)])))
    start = np.repeat(begins, sizes)
    places = np.flatnonzero(np.repeat(sizes > 1, sizes))
    for nth in range(PIVOTS):
        places = places[places - start[places] > nth]
        if not len(places):
            return
        yield order[start[places] + nth], order[places]


def _agreeing(signatures: npt.NDArray[np.uint8], one: Positions, other: Positions) -> Iterator[tuple[int, int]]:
    """Yield the pairs whose signatures agree in enough rows, block by block."""
    for begin in range(0, len(one), _BLOCK):
        a, b = one[begin : begin + _BLOCK], other[begin : begin + _BLOCK]
        enough = np.count_nonzero(signatures[a] == signatures[b], axis=1) >= AGREEMENT
        yield from zip(a[enough].tolist(), b[enough].tolist(), strict=True)


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
