"""The mean of a measure under people's judgments, from few queries that people judged and many that a model judged.

Prediction-powered inference: the people's queries correct the model's error, the model's queries cover the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from goldbench.measures.statistics.floats import Floats, upper_quantile

FEW = 20
"""Below this number of completely judged queries the normal approximation of an interval is unreliable."""

LEAST = 3
"""Smallest number of completely judged queries: two determine a line exactly, without an error to estimate."""

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean under people's judgments, corrected by a model's.

    ``low`` to ``high`` is the interval of the mean over all queries like these. ``weight`` is the trust in
    the model: 0 leaves it out, 1 takes its differences between queries as they are.
    """

    mean: float
    low: float
    high: float
    weight: float


def estimate(
    human: Sequence[float], judge: Sequence[float], others: Sequence[float], *, weight: float | None = None
) -> CorrectedMean:
    """Return the mean under people's judgments, with Student's 95 % intervals.

    For a difference of two systems, pass the differences of their values.

    ``mean(human - w * judge) + w * mean(others)`` with ``w = cov(human, judge) / (var(judge) * (1 + m / N))``, held
    within 0 and 1; its variance is ``var(human - w * judge) / m + w**2 * var(others) / N``, for ``m`` queries with
    both and ``N`` without people's judgments.

    A weight fitted to few queries has an error, and simulations showed intervals that covered less than stated. So the
    residuals are then divided by ``m - 2``, as in a regression of one variable (``m - 1`` if the weight is given or at
    a bound), and t has the same degrees of freedom: Welch's count is too high, since weight and residuals err together.
    The variance also gains the error of the slope when the drawn queries differ from all of them:
    ``residual variance * (mean(judge) - mean of all)**2 / sum of squares of judge``.

    Args:
        human: Values of the completely judged queries under people's judgments, at least 3, finite.
        judge: Values of the same queries under the model's judgments.
        others: Values of the other queries under the model's judgments.
        weight: Trust in the model, 0 to 1; None fits it.

    Raises:
        ValueError: Fewer than 3 queries, unequal lengths, or a value that is not finite.

    Source: Angelopoulos, Duchi and Zrnic, PPI++: efficient prediction-powered inference (2023), section 6.
    """
    h, g, rest = (np.asarray(values, dtype=np.float64) for values in (human, judge, others))
    if len(h) < LEAST or len(h) != len(g) or not all(np.isfinite(values).all() for values in (h, g, rest)):
        raise ValueError(f"takes at least {LEAST} queries with a value under both labels each, all finite")
    if weight is not None and not 0 <= weight <= 1:
        raise ValueError(f"weight {weight} is not within 0 and 1")
    trust, fitted = (weight, False) if weight is not None else _fitted(h, g, rest)
    if len(rest) < 2:
        trust = 0.0
        fitted = False
    freedom = len(h) - (2 if fitted else 1)
    queries = len(h) + len(rest)
    unseen = len(rest) / (len(h) + len(rest))
    mean = float((h - trust * g).mean())
    everyone = _squared(h - trust * g) / freedom / len(h)
    slope = error = 0.0
    if trust:
        mean += trust * float(rest.mean())
        everyone += trust**2 * float(rest.var(ddof=1)) / len(rest)
        slope = trust * queries / len(rest)
    residual = _squared(h - slope * g) / freedom
    if fitted:
        error = residual * (unseen * float(rest.mean() - g.mean())) ** 2 / _squared(g)
    everyone += error
    reach = upper_quantile((1 - _CONFIDENCE) / 2, freedom)
    return CorrectedMean(
        mean=mean, low=mean - reach * sqrt(everyone), high=mean + reach * sqrt(everyone), weight=float(trust)
    )


def _fitted(human: Floats, judge: Floats, others: Floats) -> tuple[float, bool]:
    """Return the weight of least variance within 0 and 1, and whether it lies between them."""
    spread = float(np.concatenate([judge, others]).var(ddof=1))
    if len(others) < 2 or spread <= np.finfo(np.float64).eps:
        return 0.0, False
    together = float(np.cov(human, judge, ddof=1)[0, 1])
    best = together / (spread * (1 + len(human) / len(others)))
    return min(max(best, 0.0), 1.0), 0 < best < 1


def _squared(values: Floats) -> float:
    """Return the sum of squared distances from the mean."""
    return float(((values - values.mean()) ** 2).sum())
