"""In which order chunks are drawn: every document once before any twice, by hashes that know only seed and id."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt


def draw_hash(seed: int, chunk_id: str) -> int:
    """Return the 64-bit number that places a chunk in the drawing; it depends on nothing else."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{chunk_id}".encode(), digest_size=8).digest(), "big")


def source_hash(doc_id: str) -> int:
    """Return a 64-bit number for a document."""
    return int.from_bytes(hashlib.blake2b(doc_id.encode(), digest_size=8).digest(), "big")


def drawing_order(
    draws: npt.NDArray[np.uint64], sources: npt.NDArray[np.uint64], positions: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return the positions in the order in which they are drawn.

    Within its document a chunk is ranked by its hash; all are then sorted by rank, and by hash within a rank. So the
    first n give every document one chunk before any gets two, two before any gets three: the budget fills the documents
    like water, to a common level that only those stay below which have no more chunks. No way of drawing n chunks has
    a smaller largest share, so no document exceeds 5 % (or any share) if the others have the chunks to prevent it, and
    each has one while the budget lasts. A document that is added takes places of its own and moves the others back,
    but never changes the order among them.

    Args:
        draws: ``draw_hash`` of every chunk.
        sources: ``source_hash`` of every chunk's document.
        positions: The chunks that may be drawn.
    """
    by_source = positions[np.lexsort((draws[positions], sources[positions]))]
    source = sources[by_source]
    begins = np.flatnonzero(np.diff(source, prepend=source[:1] ^ np.uint64(1)))
    rank = np.arange(len(source)) - np.repeat(begins, np.diff(begins, append=len(source)))
    return by_source[np.lexsort((draws[by_source], rank))]


def firsts(
    draws: npt.NDArray[np.uint64], labels: npt.NDArray[np.int32], positions: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return of each cluster the one position that is drawn first, whatever order the chunks stand in."""
    ordered = positions[np.lexsort((draws[positions], labels[positions]))]
    label = labels[ordered]
    return ordered[np.concatenate(([True], label[1:] != label[:-1]))] if len(ordered) else ordered
