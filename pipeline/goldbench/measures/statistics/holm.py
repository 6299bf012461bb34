"""The correction of p-values for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p-values in the order given; rejecting those up to alpha bounds the family-wise error by alpha.

    Source: Holm, A simple sequentially rejective multiple test procedure (Scandinavian Journal of Statistics, 1979).
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted
