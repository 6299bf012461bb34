"""How far apart two histograms are."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import log2
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def jensen_shannon(one: Mapping[T, float], other: Mapping[T, float]) -> float | None:
    """Return the Jensen-Shannon divergence in bits, 0 (alike) to 1 (nothing in common); None where one is empty.

    Args:
        one: count by value, not negative.
        other: the same of the other histogram.

    Source: Lin, Divergence measures based on the Shannon entropy (IEEE Transactions on Information Theory, 1991).
    """
    first, second = sum(one.values()), sum(other.values())
    if not first or not second:
        return None
    total = 0.0
    for value in sorted(one.keys() | other.keys(), key=repr):
        p, q = one.get(value, 0) / first, other.get(value, 0) / second
        middle = (p + q) / 2
        total += sum(share / 2 * log2(share / middle) for share in (p, q) if share)
    return min(max(total, 0.0), 1.0)
