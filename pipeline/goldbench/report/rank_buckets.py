"""Where the first relevant passage stands: ranks in buckets, counted by system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Bucket(NamedTuple):
    """Ranks from ``first`` to ``last``; both None for queries without a relevant passage among the results."""

    name: str
    first: int | None
    last: int | None

    def holds(self, rank: int | None) -> bool:
        """Return whether a rank, None for not found, is in the bucket."""
        if rank is None or self.first is None or self.last is None:
            return rank is None and self.first is None
        return self.first <= rank <= self.last


_ENDS = ((1, 1), (2, 3), (4, 5), (6, 10), (11, 20), (21, 50), (51, 100), (101, 1_000_000_000))
_NAMES = ("1", "2-3", "4-5", "6-10", "11-20", "21-50", "51-100", "over 100")

BUCKETS = (*(Bucket(name, *ends) for name, ends in zip(_NAMES, _ENDS, strict=True)), Bucket("not found", None, None))


def counted(ranks: Sequence[int | None]) -> list[int]:
    """Return the number of queries in each bucket.

    Args:
        ranks: The rank of the first relevant passage of each query, from 1; None if none was found.
    """
    return [sum(bucket.holds(rank) for rank in ranks) for bucket in BUCKETS]


def ranks_of(reciprocal: Sequence[float]) -> list[int | None]:
    """Return the ranks of the first relevant passage from the reciprocal ranks, 0 to 1; None for 0."""
    return [round(1 / value) if value > 0 else None for value in reciprocal]
