"""Logistic regression drawn towards expected coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from goldbench.measures.statistics.ridge_logistic import Expected, ridge_logistic


def _observed(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(1)
    x = draw.normal(size=(rows, 4))
    return x, draw.random(rows), draw.random(rows) * 2


def test_the_fit_is_the_minimum_that_scipy_finds() -> None:
    x, y, weights = _observed(80)
    expected = Expected(np.array([1.0, -1.0, 0.0, 3.0]), np.array([0.5, 1.0, 2.0, 0.1]))

    def loss(at: np.ndarray) -> float:
        line = x @ at
        penalty = 0.5 * (((at - expected.mean) / expected.spread) ** 2).sum()
        return float(penalty - weights @ (y * line - np.logaddexp(0, line)))

    oracle = minimize(loss, np.zeros(4), tol=1e-10).x
    assert ridge_logistic(x, y, weights, expected) == pytest.approx(oracle, abs=1e-4)


def test_a_feature_that_separates_all_outcomes_stays_finite() -> None:
    x = np.array([[1.0], [1.0], [-1.0], [-1.0]]) * 50
    found = ridge_logistic(x, np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4), Expected(np.array([-4.0]), np.array([10.0])))
    assert np.isfinite(found).all()
    assert found[0] > 0
