"""What the selection knows of each chunk, one row per chunk; the rows of chunks that did not change can be kept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goldbench.stages.select.near_duplicates import PERMUTATIONS, Sketches

UNKNOWN = 255
"""The fault of a chunk that was not looked at yet."""
_ROW = np.dtype(
    [("fault", "u1"), ("draw", "<u8"), ("source", "<u8"), ("digest", "<u8"), ("signature", "u1", (PERMUTATIONS,))]
)


@dataclass(frozen=True, slots=True)
class Traits:
    """One row per chunk.

    ``faults`` hold the number of the rule that rejects it, from 1, 0 for none; ``draws`` the bits that place it in the
    drawing order; ``sources`` a hash of its document's id; ``sketches`` say what it is nearly equal to.
    """

    faults: npt.NDArray[np.uint8]
    draws: npt.NDArray[np.uint64]
    sources: npt.NDArray[np.uint64]
    sketches: Sketches

    @classmethod
    def unknown(cls, count: int) -> Traits:
        """Return rows for chunks that were not looked at yet."""
        draws, sources = np.zeros(count, np.uint64), np.zeros(count, np.uint64)
        return cls(np.full(count, UNKNOWN, np.uint8), draws, sources, Sketches.empty(count))

    @classmethod
    def unpacked(cls, data: bytes, count: int) -> Traits | None:
        """Return the rows of `packed`, None if they belong to another number of chunks.

        Args:
            data: The bytes.
            count: How many chunks there are.
        """
        if len(data) != count * _ROW.itemsize:
            return None
        rows = np.frombuffer(data, _ROW)
        sketches = Sketches(rows["digest"].astype(np.uint64), np.ascontiguousarray(rows["signature"]))
        return cls(rows["fault"].copy(), rows["draw"].astype(np.uint64), rows["source"].astype(np.uint64), sketches)

    def put(self, positions: npt.NDArray[np.int32], rows: Traits) -> None:
        """Replace the rows at some positions.

        Args:
            positions: The positions.
            rows: As many rows.
        """
        self.faults[positions], self.draws[positions], self.sources[positions] = rows.faults, rows.draws, rows.sources
        self.sketches.digests[positions] = rows.sketches.digests
        self.sketches.signatures[positions] = rows.sketches.signatures

    def packed(self) -> bytes:
        """Return the rows as bytes, equal on every machine."""
        rows = np.zeros(len(self.faults), _ROW)
        rows["fault"], rows["draw"], rows["source"] = self.faults, self.draws, self.sources
        rows["digest"], rows["signature"] = self.sketches.digests, self.sketches.signatures
        return rows.tobytes()

    def holds_rules(self, count: int) -> bool:
        """Return whether every fault has the number of a rule, of which there are ``count``, or is not known yet."""
        return bool(np.all((self.faults <= count) | (self.faults == UNKNOWN)))

    def at(self, positions: npt.NDArray[np.int32]) -> Traits:
        """Return the rows at these positions, an unknown one for each that is negative."""
        found = Traits.unknown(len(positions))
        known = np.flatnonzero(positions >= 0).astype(np.int32)
        rows = positions[known]
        digests, signatures = self.sketches.digests[rows], self.sketches.signatures[rows]
        found.put(known, Traits(self.faults[rows], self.draws[rows], self.sources[rows], Sketches(digests, signatures)))
        return found
