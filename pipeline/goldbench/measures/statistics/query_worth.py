"""How many real queries would rank systems as well as a set of other queries does.

Few real queries are both the yardstick and what the set is compared with. So the true means of the systems are drawn
from what the real queries and the set say of them. For each draw, the set's tau and the tau that N real queries would
reach are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from goldbench.measures.statistics.floats import Floats, of_finite_numbers
from goldbench.measures.statistics.joint_calibration import TINY, deviation_freedom
from goldbench.measures.statistics.resamples import NormalDraws, root_of

LEAST_REAL = 20
"""Fewest real queries; below it the normal approximation of their means is unreliable."""
LEAST_SYSTEMS = 4
"""Fewest systems: 3 systems have only four values of tau."""
MOST = 1_000
"""Largest number of queries that is told; beyond it the set is worth more than that."""
_DRAWS = 1_000
_SCALES = 25
"""Points of the half-Cauchy distribution of the set's own errors."""
_SIZES = 30
"""Points of the curve of tau by the number of queries, spaced by equal factors."""
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class QueryWorth:
    """How many randomly drawn real queries would rank the systems as well, with a 95 % interval.

    ``queries`` is infinite if that is more than ``MOST``, 0 if even one real query does better; ``low`` and ``high``
    likewise. ``tau`` is the expected Kendall's tau of the set with the true order of the systems.
    """

    queries: float
    low: float
    high: float
    tau: float


def query_worth(real: Floats, others: Floats, *, seed: int = 0) -> QueryWorth:
    """Return how many real queries would rank systems as well as other queries do.

    The true differences of systems follow the set's with an unknown slope, plus errors of the set with an unknown
    spread (half-Cauchy, its median the spread of the real means); the real queries tell both. N real queries order a
    pair rightly with the probability of a normal distribution. The figure is the N at which their expected tau with the
    true order equals the set's; the interval is taken over draws of the true means.

    Args:
        real: Values of real queries, shape (R, K): ``LEAST_REAL`` queries, ``LEAST_SYSTEMS`` systems or more, finite.
        others: Values of the set's other queries on the same systems, shape (n, K), 1 query or more, finite.
        seed: Of the draws, not negative.

    Raises:
        ValueError: Too few queries or systems, shapes that do not fit, or a value that is not finite.

    Source: for the true means Fay and Herriot, Estimates of income for small places (1979); for queries as a sample of
        topics Voorhees and Buckley, The effect of topic set size on retrieval experiment error (2002).
    """
    real, others = np.asarray(real, np.float64), np.asarray(others, np.float64)
    fits = real.ndim == others.ndim == 2 and real.shape[1] == others.shape[1]
    enough = fits and real.shape[0] >= LEAST_REAL and real.shape[1] >= LEAST_SYSTEMS and len(others)
    if not enough or not np.isfinite(real).all() or not np.isfinite(others).all():
        raise ValueError(f"takes {LEAST_REAL} real queries, 1 other and {LEAST_SYSTEMS} systems or more, all finite")
    with of_finite_numbers():
        return _worth(real.T, others.mean(axis=0), seed)


def _worth(real: Floats, told: Floats, seed: int) -> QueryWorth:
    from scipy.linalg import helmert

    systems, queries = real.shape
    axes = helmert(systems)
    found = axes @ real
    covariance = _covariance(found)
    one, other = np.triu_indices(systems, 1)
    pairs = axes.T[one] - axes.T[other]
    noise = np.sqrt(np.maximum((real[one] - real[other]).var(axis=1, ddof=1), TINY))
    normal = NormalDraws(seed, _DRAWS)
    scale = np.sqrt((freedom := deviation_freedom(found)) / normal.chi_square(freedom))
    errors = scale[:, None] * normal.vectors(covariance / queries)
    true = _true(found.mean(axis=1), axes @ told, covariance / queries, errors, normal) @ pairs.T
    taus = (np.sign(told[one] - told[other]) * np.sign(true)).mean(axis=1)
    sizes = np.geomspace(1, MOST, _SIZES)
    curves = _curves(np.abs(true) / (noise * scale[:, None]), sizes)
    numbers = np.array([_crossing(tau, curve, sizes) for tau, curve in zip(taus, curves, strict=True)])
    low, high = np.quantile(numbers, [_TAIL, 1 - _TAIL], method="inverted_cdf")
    expected = float(taus.mean())
    return QueryWorth(_crossing(expected, curves.mean(axis=0), sizes), float(low), float(high), expected)


def _covariance(contrasts: Floats) -> Floats:
    """Return the covariance of contrasts over queries, drawn towards equal variances as far as its own error asks.

    Args:
        contrasts: Values by contrast and query, shape (K - 1, R).

    Source: Ledoit and Wolf, A well-conditioned estimator for large-dimensional covariance matrices (2004).
    """
    size, queries = contrasts.shape
    apart = contrasts - contrasts.mean(axis=1, keepdims=True)
    found = apart @ apart.T / (queries - 1)
    target = np.trace(found) / size * np.eye(size)
    error = float(((apart * apart).sum(axis=0) ** 2).sum()) / queries**2 - float((found * found).sum()) / queries
    unlike = float(((found - target) ** 2).sum())
    share = min(max(error / unlike, 0.0), 1.0) if unlike > TINY**2 else 1.0
    return np.asarray((1 - share) * found + share * target)


def _true(direct: Floats, told: Floats, covariance: Floats, errors: Floats, normal: NormalDraws) -> Floats:
    """Return draws of the true contrasts, shape (draws, K - 1).

    Args:
        direct: Estimates from the real queries, shape (K - 1,).
        told: The set's, same shape.
        covariance: Of the estimates, shape (K - 1, K - 1).
        errors: Drawn errors of the estimates, shape (draws, K - 1).
        normal: Where further draws come from.
    """
    size = len(direct)
    seen = max(float(direct @ direct) / size - np.trace(covariance) / size, np.trace(covariance) / size / 4, TINY)
    length = float(told @ told) / size
    by_slope = seen / length * np.outer(told, told) if length > TINY else np.zeros((size, size))
    scales = seen * np.tan((np.arange(_SCALES) + 0.5) / _SCALES * np.pi / 2) ** 2
    priors = by_slope + scales[:, None, None] * np.eye(size)
    together = priors + covariance
    solved = np.linalg.solve(together, np.broadcast_to(direct[:, None], (len(priors), size, 1)))[..., 0]
    evidence = -(np.linalg.slogdet(together)[1] + solved @ direct) / 2
    weights = np.exp(evidence - evidence.max())
    picked = np.searchsorted(np.cumsum(weights)[:-1] / weights.sum(), normal.uniform())
    free = normal.vectors(np.eye(size))
    gains = np.linalg.solve(together, priors).transpose(0, 2, 1)
    drawn = np.empty_like(errors)
    for case in np.unique(picked):
        at = np.flatnonzero(picked == case)
        own = free[at] @ root_of(priors[case]) @ (np.eye(size) - gains[case]).T
        drawn[at] = (direct + errors[at]) @ gains[case].T + own
    return drawn


def _curves(apart: Floats, sizes: Floats) -> Floats:
    """Return the expected tau of samples with the true order, shape (draws, sizes).

    Args:
        apart: Differences of the pairs in standard deviations over queries, shape (draws, pairs).
        sizes: Numbers of queries of a sample.
    """
    from scipy.special import erf

    return np.stack([erf(apart * np.sqrt(size / 2)).mean(axis=1) for size in sizes], axis=1)


def _crossing(tau: float, curve: Floats, sizes: Floats) -> float:
    """Return the size at which the curve, which rises, reaches a tau: 0 below its start, infinite above its end."""
    if tau < curve[0]:
        return 0.0
    return inf if tau > curve[-1] else float(np.exp(np.interp(tau, curve, np.log(sizes))))
