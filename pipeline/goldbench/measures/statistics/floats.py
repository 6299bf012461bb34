"""Floating-point numbers: arrays, products without false alarms, what weights are worth, Student's t distribution."""

from __future__ import annotations

from collections.abc import Sequence
from sys import float_info

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def of_finite_numbers() -> np.errstate:
    """Return a context in which a product of matrices of finite numbers raises no warning.

    Vectorised kernels of OpenBLAS compute on padding that they then drop, and on some processors the content of the
    padding raises a floating-point flag for a product that is right. Only for numbers known to be finite and far from
    the limits of their type.
    """
    return np.errstate(divide="ignore", over="ignore", invalid="ignore")


def effective_size(weights: Sequence[float] | Floats) -> float:
    """Return the number of equally weighted items that are worth as much: ``(sum w)**2 / sum(w**2)``; 0 of none.

    Source: Kish, Survey sampling (1965), section 11.7.
    """
    values = np.asarray(weights, dtype=np.float64)
    largest = values.max(initial=0.0)
    if not largest:
        return 0.0
    shares = values / largest  # squares of very large weights overflow
    return float(shares.sum() ** 2 / (shares**2).sum())


def inverse_weights(inclusion: Sequence[float]) -> Floats:
    """Return the number of pairs that each drawn pair stands for, ``1 / inclusion``, scaled so that the mean is 1.

    Raises:
        ValueError: A probability is not in (0, 1].

    Source: Horvitz and Thompson, A generalization of sampling without replacement from a finite universe (Journal of
        the American Statistical Association, 1952); scaled as by Hájek (1971).
    """
    drawn = np.asarray(inclusion, dtype=np.float64)
    if not ((drawn > 0) & (drawn <= 1)).all():
        raise ValueError("an inclusion probability is not above 0 and at most 1")
    weights = 1.0 / drawn
    return np.asarray(weights * (len(weights) / weights.sum())) if len(weights) else weights


def two_sided_p(t: float, freedom: float) -> float:
    """Return the probability of a t at least as far from 0 with ``freedom`` (1 or more) degrees of freedom; never 0."""
    from scipy.special import stdtr

    return max(2 * float(stdtr(freedom, -abs(t))), float_info.min)


def upper_quantile(tail: float, freedom: float) -> float:
    """Return the t that is exceeded with probability ``tail``, in (0, 0.5], with ``freedom`` degrees of freedom."""
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, tail))
