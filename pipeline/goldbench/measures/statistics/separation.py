"""How well the score of the first result tells queries with an answer from those without one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

_STEPS = 60
"""Halvings of the interval in which an end lies; 60 settle a float."""


@dataclass(frozen=True, slots=True)
class Separation:
    """The area under the ROC curve with its interval, and the number of queries on both sides.

    ``auroc`` is the chance that a query with an answer scores higher than one without, ties counting half: 1 tells all
    of them apart, 0.5 none.
    """

    auroc: float
    low: float
    high: float
    answerable: int
    unanswerable: int


def separation(answerable: Sequence[float], unanswerable: Sequence[float], *, confidence: float = 0.95) -> Separation:
    """Return how well scores separate two groups of queries.

    Args:
        answerable: The best score of each query with an answer; minus infinity for a query without results.
        unanswerable: The same of each query without an answer. Both groups hold at least 1.
        confidence: In (0, 1).

    Source: the area is Mann and Whitney's statistic; the interval is method 5 of Newcombe, Confidence intervals for an
        effect size measure based on the Mann-Whitney statistic, part 2 (Statistics in Medicine, 2006), which holds for
        few queries and for areas of 0 and 1.
    """
    ordered = sorted(unanswerable)
    wins = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in answerable)
    area = wins / 2 / (len(answerable) * len(unanswerable))
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def fits(theta: float) -> bool:
        return abs(area - theta) <= z * _error(theta, len(answerable), len(unanswerable))

    low, high = _edge(area, 0.0, fits), _edge(area, 1.0, fits)
    return Separation(area, low, high, len(answerable), len(unanswerable))


def _error(theta: float, first: int, second: int) -> float:
    """Return the standard error of an area of ``theta``."""
    if theta <= 0 or theta >= 1:
        return 0.0
    spread = (first + second) / 2 - 1
    inside = 1 + spread * ((1 - theta) / (2 - theta) + theta / (1 + theta))
    return sqrt(theta * (1 - theta) * inside / (first * second))


def _edge(area: float, end: float, fits: Callable[[float], bool]) -> float:
    """Return the value between the area and an end of the scale up to which the area fits."""
    inside, outside = area, end
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if fits(middle) else (inside, middle)
    return inside
