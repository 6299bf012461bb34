"""Shares of a count, with an interval that stays between 0 and 1."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist


def wilson(successes: float, trials: float, *, confidence: float = 0.95) -> tuple[float, float]:
    """Return the Wilson score interval of a share, without continuity correction.

    Args:
        successes: 0 to ``trials``.
        trials: above 0; taken to be independent.
        confidence: in (0, 1).

    Source: Wilson, Probable inference, the law of succession, and statistical inference (JASA, 1927).
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    width = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - reach) / width
    high = 1.0 if successes == trials else (centre + reach) / width
    return low, high
