"""The Pareto front: what nothing else beats in both price and quality."""

from __future__ import annotations

from collections.abc import Sequence


def pareto_front(prices: Sequence[float], qualities: Sequence[float]) -> list[int]:
    """Return the positions of the points on the front, the cheapest first.

    A point is on the front if no other one is at least as cheap and at least as good, and better in one of the two.

    Args:
        prices: What each point costs, such as milliseconds; less is better.
        qualities: How good each point is; more is better.
    """
    order = sorted(range(len(prices)), key=lambda at: (prices[at], -qualities[at]))
    front: list[int] = []
    for at in order:
        if not front or qualities[at] > qualities[front[-1]] or _is_equal(at, front[-1], prices, qualities):
            front.append(at)
    return front


def _is_equal(one: int, other: int, prices: Sequence[float], qualities: Sequence[float]) -> bool:
    return prices[one] == prices[other] and qualities[one] == qualities[other]
