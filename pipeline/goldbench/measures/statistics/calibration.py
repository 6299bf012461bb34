"""The worth of a model's grade: the gain that people give, on average, to pairs of that grade.

Fitted on a random sample of pairs that people judged blindly, each weighted by the pairs it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.floats import Floats, effective_size, inverse_weights

STRENGTH = 10.0
"""Number of pairs from which on a stratum's own mean counts more than the pooled gain."""


@dataclass(frozen=True, slots=True)
class Rated:
    """One pair of the sample: the model's grade, the people's gain, the probability of its draw, its stratum."""

    judge: int
    human: float
    inclusion: float = 1.0
    stratum: str = ""


@dataclass(frozen=True, slots=True)
class Curve:
    """Expected gains by the model's grade: over all pairs, and by stratum.

    A grade that no pair of the sample has is absent. ``effective`` is the number of pairs drawn with equal
    probabilities that would determine a mean as precisely.
    """

    pooled: Mapping[int, float]
    strata: Mapping[str, Mapping[int, float]]
    pairs: int
    effective: float

    def gain(self, grade: int, stratum: str = "") -> float | None:
        """Return the expected gain of a pair, or None if the sample has no pair of its grade."""
        return self.strata.get(stratum, self.pooled).get(grade, self.pooled.get(grade))


def expected_gains(rated: Sequence[Rated]) -> Curve:
    """Return the gain to expect of each grade: means that never fall as the grade rises.

    The pooled curve is the weighted isotonic regression of people's gains on the model's grades. In a stratum the mean
    of each grade is drawn towards the pooled gain, ``(n * mean + STRENGTH * pooled) / (n + STRENGTH)`` with ``n`` the
    effective number of its pairs, and made isotonic in turn.

    Raises:
        ValueError: A probability is not in (0, 1].

    Source: Barlow et al., Statistical inference under order restrictions (1972), section 1.2, for the regression;
        Efron and Morris, Data analysis using Stein's estimator (JASA, 1975), for the idea of the shrinkage.
    """
    weights = inverse_weights([pair.inclusion for pair in rated])
    pooled = _isotonic(_cells(rated, weights))
    names = sorted({pair.stratum for pair in rated})
    strata = {}
    for name in names if len(names) > 1 else []:
        own = [position for position, pair in enumerate(rated) if pair.stratum == name]
        cells = _cells([rated[place] for place in own], weights[own])
        drawn = {
            grade: ((n * mean + STRENGTH * pooled[grade]) / (n + STRENGTH), n + STRENGTH)
            for grade, (mean, n) in cells.items()
        }
        missing = {grade: (gain, STRENGTH) for grade, gain in pooled.items() if grade not in drawn}
        strata[name] = _isotonic(drawn | missing)
    return Curve(pooled, strata, len(rated), effective_size(weights))


def _cells(rated: Sequence[Rated], weights: Floats) -> dict[int, tuple[float, float]]:
    """Return the weighted mean of people's gains at each grade, and its effective number of pairs."""
    cells = {}
    for grade in sorted({pair.judge for pair in rated}):
        own = [position for position, pair in enumerate(rated) if pair.judge == grade]
        mean = float(np.average([rated[place].human for place in own], weights=weights[own]))
        cells[grade] = mean, effective_size(weights[own])
    return cells


def _isotonic(cells: Mapping[int, tuple[float, float]]) -> dict[int, float]:
    """Return the non-decreasing means nearest to the given ones, by grade."""
    from scipy.optimize import isotonic_regression

    if not cells:
        return {}
    grades = sorted(cells)
    means, counts = zip(*(cells[grade] for grade in grades), strict=True)
    fitted = isotonic_regression(means, weights=counts, increasing=True).x
    return {grade: float(gain) for grade, gain in zip(grades, fitted, strict=True)}
