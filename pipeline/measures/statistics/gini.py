"""How unevenly something is shared out."""

from __future__ import annotations

from collections.abc import Sequence


def gini(counts: Sequence[float]) -> float | None:
    """Return Gini's coefficient, 0 where all have the same, near 1 where one has all; None where there is nothing.

    Args:
        counts: not negative, one for each who could have some.

    Source: Gini, Variabilità e mutabilità (1912), as half the relative mean absolute difference.
    """
    ordered = sorted(counts)
    total = sum(ordered)
    if not total:
        return None
    weighted = sum(rank * count for rank, count in enumerate(ordered, start=1))
    return 2 * weighted / (len(ordered) * total) - (len(ordered) + 1) / len(ordered)
