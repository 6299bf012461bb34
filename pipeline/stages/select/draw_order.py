"""The order in which chunks are drawn: every document once before any twice, by hashes of the seed and the id."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def drawing_order(
    draws: npt.NDArray[np.uint64], sources: npt.NDArray[np.uint64], positions: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return the positions in the order in which they are drawn.

    Within its document a chunk is ranked by its hash; all are then sorted by rank, and by hash within a rank. So the
    first n chunks give every document one before any gets two, and two before any gets three; only documents without
    further chunks fall behind. No other way of drawing n chunks gives a smaller largest share, so no document exceeds
    5 % (or any share) if the others have enough chunks. A new document takes places of its own and moves the others
    back, but never changes their order.

    Args:
        draws: A 64-bit hash of the seed and every chunk's id.
        sources: A 64-bit hash of the id of every chunk's document.
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
    """Return the position of each cluster that is drawn first, whatever the order of the chunks.

    Args:
        draws: As in `drawing_order`.
        labels: Number of every chunk's cluster.
        positions: As in `drawing_order`.
    """
    ordered = positions[np.lexsort((draws[positions], labels[positions]))]
    label = labels[ordered]
    return ordered[np.concatenate(([True], label[1:] != label[:-1]))] if len(ordered) else ordered
