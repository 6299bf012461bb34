"""Logistic regression drawn towards coefficients that are expected beforehand, for few observations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.floats import Floats


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
    from scipy.optimize import minimize

    def loss(at: Floats) -> float:
        line = x @ at
        penalty = (((at - expected.mean) / expected.spread) ** 2).sum() / 2
        return float(penalty - weights @ (y * line - np.logaddexp(0.0, line)))

    def slope(at: Floats) -> Floats:
        return (at - expected.mean) / expected.spread**2 - x.T @ (weights * (y - probabilities(x, at)))

    found: Floats = minimize(loss, expected.mean, jac=slope, method="BFGS").x
    return found


def probabilities(x: Floats, coefficients: Floats) -> Floats:
    """Return the expected outcome of each observation, from 0 to 1, shape (n,)."""
    return np.asarray(0.5 * (1.0 + np.tanh(x @ coefficients / 2.0)))
