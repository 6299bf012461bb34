"""Student's t distribution."""

from __future__ import annotations

from sys import float_info


def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of a t at least as far from 0 with ``freedom`` (1 or more) degrees of freedom; never 0."""
    from scipy.special import stdtr

    return max(2 * float(stdtr(freedom, -abs(t))), float_info.min)


def upper_quantile(tail: float, freedom: float) -> float:
    """Return the t that is exceeded with probability ``tail``, in (0, 0.5], with ``freedom`` degrees of freedom."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, tail))
