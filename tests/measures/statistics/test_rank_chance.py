"""How likely an order of systems is right: held against scipy's integrals and against simulated truths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

from goldbench.measures.statistics.fitness import Moments, moments_of, order_chance


def chance_of_two(t: float, freedom: float) -> float:
    """Return by integration the probability that the better of two systems is better; `t` is the observed ratio."""

    def density(lost: float) -> float:
        return float(np.sqrt(lost) * np.exp(-t * t * lost / 2))

    whole = integrate.quad(density, 0, 1)[0]
    return float(
        integrate.quad(lambda lost: density(lost) * stats.t.cdf(np.sqrt(1 - lost) * t, freedom), 0, 1)[0] / whole
    )


@pytest.mark.parametrize("t", [0.3, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("freedom", [5, 50])
def test_two_systems_have_the_chance_of_the_integral(t: float, freedom: int) -> None:
    error = 0.04
    found = order_chance(Moments(np.array([t * error, 0.0]), np.eye(2) * error**2 / 2, freedom))
    assert found == pytest.approx(chance_of_two(t, freedom), abs=0.045)  # 3 standard errors of 1,000 draws


def test_the_covariance_is_that_of_numpy_with_one_query_more() -> None:
    scores = np.random.default_rng(0).random((4, 30))
    found = moments_of(scores.tolist())
    more = np.column_stack([scores, np.full(4, scores.mean())])
    np.testing.assert_allclose(found.means, more.mean(axis=1))
    np.testing.assert_allclose(found.covariance, np.cov(more) / 31)
    assert found.spread(0, 1) == pytest.approx((more[0] - more[1]).std(ddof=1) / np.sqrt(31))


def test_one_of_ten_pairs_may_be_the_wrong_way_round() -> None:
    means = np.array([0.1, 0.2, 0.3, 0.4, 0.4000001])
    sure = Moments(means, np.eye(5) * 1e-5, 1e9)
    assert order_chance(sure) > 0.99
    assert order_chance(sure, least=1.0) < 0.6


def test_systems_that_score_alike_are_in_no_order() -> None:
    assert order_chance(moments_of([[0.5] * 20, [0.5] * 20])) == 0.0
    assert order_chance(moments_of([[0.1, 0.9] * 20, [0.1, 0.9] * 20])) == 0.0
    three = moments_of([[1.0] * 30, [0.0, 0.1] * 15, [0.0, 0.1] * 15])
    assert order_chance(three) < 0.05
