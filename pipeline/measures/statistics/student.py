"""Student's t distribution in plain Python: importing scipy.stats takes longer than most comparisons."""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p
from sys import float_info

_CONVERGED = 1e-16
_STEPS = 100_000


def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of a t at least as far from 0 with ``freedom`` (1 or more) degrees of freedom; never 0.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.5.27 and 26.7.1:
        p = I_x(freedom / 2, 1 / 2) with x = freedom / (freedom + t**2).
    """
    if t * t == inf:
        return float_info.min
    share = freedom / (freedom + t * t)
    return max(_regularized_beta(share, t * t / (freedom + t * t), freedom / 2, 0.5), float_info.min)


def upper_quantile(tail: float, freedom: float) -> float:
    """Return the t that is exceeded with probability ``tail``, in (0, 0.5], with ``freedom`` degrees of freedom."""
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > 2 * tail:
        low, high = high, 2 * high
    while True:
        middle = (low + high) / 2
        if middle in {low, high}:
            return middle
        if two_sided_p(middle, freedom) > 2 * tail:
            low = middle
        else:
            high = middle


def _regularized_beta(x: float, complement: float, a: float, b: float) -> float:
    """Return I_x(a, b); ``complement`` is 1 - x, passed because a difference would lose digits."""
    if x == 0 or complement == 0:
        return float(complement == 0)
    if x > (a + 1) / (a + b + 2):
        return 1 - _regularized_beta(complement, x, b, a)
    log_x = log1p(-complement) if complement < 0.5 else log(x)
    log_complement = log1p(-x) if x < 0.5 else log(complement)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log_x + b * log_complement) / a
    return front * _continued_fraction(x, a, b)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function by the modified Lentz method.

    Source: Press et al., Numerical Recipes (3rd ed., 2007), section 6.4.
    """
    tiny = float_info.min
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, _STEPS):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + step * d, tiny)
            c = _away_from_zero(1 + step / c, tiny)
            value *= c * d
        if abs(c * d - 1) <= _CONVERGED:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
