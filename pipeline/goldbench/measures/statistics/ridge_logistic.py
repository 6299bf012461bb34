"""Logistic regression drawn towards coefficients that are expected beforehand, for few observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.floats import Floats

STEPS, SMALL = 50, 1e-9
"""Most Newton steps, and the length of a step at which the fit has converged."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The coefficients expected before any observation, and how far each may well be from it (above 0); shape (k,)."""

    mean: Floats
    spread: Floats


def ridge_logistic(x: Floats, y: Floats, weights: Floats, expected: Expected) -> Floats:
    """Return the coefficients with the highest penalised likelihood, shape (k,); those expected if nothing is observed.

    The penalty is ``sum(((b - mean) / spread)**2) / 2``: a coefficient about which the observations say little stays
    where it was expected.

    Args:
        x: Features of the observations, shape (n, k).
        y: Outcomes from 0 to 1, shape (n,); shares are allowed.
        weights: Weight of each observation, at least 0, shape (n,).
        expected: The coefficients expected beforehand.

    Source: le Cessie and van Houwelingen, Ridge estimators in logistic regression (Applied Statistics 41, 1992);
        Papke and Wooldridge (Journal of Applied Econometrics 11, 1996) for outcomes that are shares.
    """
    precision = 1.0 / expected.spread**2
    found = expected.mean.copy()
    for _ in range(STEPS):
        chance = probabilities(x, found)
        slope = x.T @ (weights * (y - chance)) - precision * (found - expected.mean)
        curve = (x.T * (weights * chance * (1.0 - chance))) @ x + np.diag(precision)
        step: Floats = np.asarray(np.linalg.solve(curve, slope), dtype=np.float64)
        step *= _share_of_step(x, y, weights, expected, found, step)
        found = found + step
        if float(np.abs(step).max(initial=0.0)) < SMALL:
            break
    return found


def probabilities(x: Floats, coefficients: Floats) -> Floats:
    """Return the expected outcome of each observation, from 0 to 1, shape (n,)."""
    return np.asarray(0.5 * (1.0 + np.tanh(x @ coefficients / 2.0)))


def _share_of_step(x: Floats, y: Floats, weights: Floats, expected: Expected, start: Floats, step: Floats) -> float:
    """Return 1, or the largest of 1/2, 1/4 … that does not lower the penalised likelihood."""
    before = _likelihood(x, y, weights, expected, start)
    share = 1.0
    while share > SMALL and _likelihood(x, y, weights, expected, start + share * step) < before - SMALL:
        share /= 2.0
    return share


def _likelihood(x: Floats, y: Floats, weights: Floats, expected: Expected, at: Floats) -> float:
    line = x @ at
    fit = weights @ (y * line - np.logaddexp(0.0, line))
    return float(fit - 0.5 * (((at - expected.mean) / expected.spread) ** 2).sum())
