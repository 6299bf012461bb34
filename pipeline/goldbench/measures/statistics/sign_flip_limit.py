"""What the sign-flip test asks of few queries, in the terms of Student's t."""

from __future__ import annotations

from functools import lru_cache
from math import floor, sqrt
from statistics import NormalDist

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.student import upper_quantile

_NORMAL = NormalDist()
_MOST_SCORES = 64
"""Number of normal scores that stand for larger samples, too; more of them change nothing that is printed."""
_STEP = 1.01
"""Factor by which t grows in the search for the first value that is significant."""
_HALVINGS = 14
_NEWTON_STEPS = 60
_MOST_EXACT = 50
"""Above this number of queries the level is not rounded to one of ``2 ** queries`` signs: the difference is nil."""


def drawn_level(level: float, permutations: int) -> float:
    """Return the level at which ``permutations`` random signs test in effect.

    A p-value of ``(1 + reached) / (1 + permutations)`` is at most ``level`` for at most B signs that reach as far, and
    a sample finds that few in half of its draws if its exact p-value is ``(B + 2 / 3) / permutations``: the median of
    the gamma distribution. Draws too few to find anything at this level leave it as it is.

    Args:
        level: Nominal level, in (0, 1).
        permutations: Number of random signs, at least 1.

    Source: Phipson and Smyth, Permutation p-values should never be zero (2010), for the p-value; Berg and Pedersen, The
        Chen-Rubin conjecture in a continuous setting (Methods and Applications of Analysis 13, 2006), for the median.
    """
    most = _most_reaching(level, permutations)
    return (most + 2 / 3) / permutations if most >= 0 else level


def chance_to_find(exact: float, level: float, permutations: int) -> float:
    """Return about the probability that random signs find a sample significant.

    Args:
        exact: The sample's p-value over all signs, above 0. Equal signs on all queries have the least one,
            ``2 ** (1 - queries)``.
        level: As in `drawn_level`.
        permutations: As in `drawn_level`.
    """
    most = _most_reaching(level, permutations)
    if most < 0:
        return float(exact <= level)
    expected = permutations * exact
    spread = sqrt(expected * max(0.0, 1 - exact))
    return _NORMAL.cdf((most + 0.5 - expected) / spread) if spread else float(expected <= most)


def _most_reaching(level: float, permutations: int) -> int:
    """Return how many random signs may reach as far as a sample that is significant; -1 if none is."""
    return floor(level * (permutations + 1)) - 1


@lru_cache(maxsize=1024)
def critical_t(queries: int, level: float) -> float | None:
    """Return the least Student's t that is significant by the two-sided sign-flip test; None if none can be.

    The p-value of a sign-flip test depends on all differences, not on t alone. It is computed here for the sample that
    is most like normal differences, the normal scores, by the saddlepoint approximation. With very many queries the
    value is that of Student's t; with few it is larger, the more so the fewer signs are left below the level.

    Args:
        queries: Number of differences, at least 2.
        level: Level of the test, in (0, 1).

    Source: Robinson, Saddlepoint approximations for permutation tests and confidence intervals (JRSS B 44(1), 1982),
        with the tail of Lugannani and Rice (Advances in Applied Probability 12(2), 1980); Blom, Statistical estimates
        and transformed beta-variables (1958), for the normal scores.
    """
    level = _attained(queries, level)
    if not level:
        return None
    scores = _normal_scores(min(queries, _MOST_SCORES))
    root = sqrt(queries - 1)
    end = -float(scores[0]) * root
    high = upper_quantile(level / 2, queries - 1)
    while high < end and _p_value(scores + high / root, queries) > level:
        high *= _STEP
    if high >= end:
        return end
    low = high / _STEP
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _p_value(scores + middle / root, queries) > level else (low, middle)
    return high


def _attained(queries: int, level: float) -> float:
    """Return the p-value up to which a sample is significant, 0 if none is.

    There are ``2 ** (queries - 1)`` p-values; the middle of the last step counts, as the approximation is continuous.
    """
    if queries > _MOST_EXACT:
        return level
    values = 2.0 ** (queries - 1)
    return max(0.0, floor(level * values) - 0.5) / values


def _normal_scores(count: int) -> Floats:
    """Return the expected order of ``count`` normal values, scaled to a variance (over ``count``) of 1."""
    from scipy.special import ndtri

    scores: Floats = ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25))
    return np.asarray(scores / np.sqrt(np.mean(scores**2)))


def _p_value(differences: Floats, queries: int) -> float:
    """Return the two-sided p of the sign-flip test of ``queries`` differences that are spread like ``differences``."""
    weight = queries / len(differences)
    total = float(differences.sum())
    point = total / float((differences**2).sum())
    for _ in range(_NEWTON_STEPS):
        slopes = np.tanh(point * differences)
        miss = float((differences * slopes).sum()) - total
        curvature = float((differences**2 * (1 - slopes**2)).sum())
        if curvature <= 0 or abs(miss) < 1e-10 * total:
            break
        point = min(2 * point, point - miss / curvature)
    cumulant = float((np.logaddexp(point * differences, -point * differences) - np.log(2)).sum())
    root = sqrt(2 * weight * (point * total - cumulant))
    rate = point * sqrt(weight * curvature)
    return 2 * (_NORMAL.cdf(-root) + _NORMAL.pdf(root) * (1 / rate - 1 / root)) if rate else 0.0
