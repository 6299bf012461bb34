"""Prediction-powered means: against closed forms, scipy and numpy, and in simulations that know the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from goldbench.measures.statistics.ppi import estimate

VALUES = st.floats(0, 1, width=32)


def samples(least: int = 3) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    return st.lists(st.tuples(VALUES, VALUES), min_size=least, max_size=40).map(
        lambda pairs: ([h for h, _ in pairs], [g for _, g in pairs])
    )


@settings(max_examples=40)
@given(samples(), st.lists(VALUES, min_size=2, max_size=40))
def test_without_trust_in_the_model_it_is_the_classical_interval(
    both: tuple[list[float], list[float]], others: list[float]
) -> None:
    human, judge = both
    found = estimate(human, judge, others, weight=0)
    spread = stats.sem(human)
    reach = stats.t.ppf(0.975, len(human) - 1) * spread
    assert found.mean == pytest.approx(np.mean(human))
    assert (found.low, found.high) == pytest.approx((found.mean - reach, found.mean + reach), abs=1e-9)


@settings(max_examples=40)
@given(st.lists(VALUES, min_size=3, max_size=30), st.lists(VALUES, min_size=2, max_size=60))
def test_a_model_that_is_right_is_believed_to_the_end(human: list[float], others: list[float]) -> None:
    found = estimate(human, human, others, weight=1)
    assert found.mean == pytest.approx(np.mean(others), abs=1e-9)
    assert found.high - found.mean == pytest.approx(stats.t.ppf(0.975, len(human) - 1) * stats.sem(others), abs=1e-9)


def test_the_fitted_weight_is_that_of_least_variance() -> None:
    rng = np.random.default_rng(2)
    judge = rng.random(200)
    human, rest = 0.5 * judge + 0.3 * rng.random(200), rng.random(600)
    widths = {w: estimate(human, judge, rest, weight=w) for w in np.linspace(0, 1, 101)}
    best = min(widths, key=lambda w: widths[w].high - widths[w].low)
    assert estimate(human, judge, rest).weight == pytest.approx(best, abs=0.03)


def test_it_is_the_regression_estimator() -> None:
    rng = np.random.default_rng(3)
    judge = rng.random(25)
    human, rest = 0.6 * judge + 0.2 * rng.random(25), rng.random(75)
    spread = np.concatenate([judge, rest]).var(ddof=1)
    slope = np.cov(human, judge)[0, 1] / spread
    found = estimate(human, judge, rest)
    everyone = np.concatenate([judge, rest])
    assert found.mean == pytest.approx(human.mean() + slope * (everyone.mean() - judge.mean()))


@pytest.mark.parametrize(
    ("human", "judge", "others", "weight"),
    [
        ([0.1, 0.2], [0.1, 0.2], [0.3, 0.4], None),
        ([0.1, 0.2, 0.3], [0.1, 0.2], [0.3, 0.4], None),
        ([0.1, 0.2, float("nan")], [0.1, 0.2, 0.3], [0.3, 0.4], None),
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [float("inf")], None),
        ([0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.3, 0.4], 1.5),
    ],
)
def test_what_cannot_be_estimated_is_refused(
    human: list[float], judge: list[float], others: list[float], weight: float | None
) -> None:
    with pytest.raises(ValueError, match=r"takes at least|is not within"):
        estimate(human, judge, others, weight=weight)


def covered(complete: int, others: int, likeness: float, draws: int, seed: int) -> float:
    """Return how often the interval holds the mean of all queries, for normal values."""
    rng = np.random.default_rng(seed)
    everyone = 0
    for _ in range(draws):
        human = 0.5 + 0.2 * rng.normal(size=complete + others)
        own = rng.normal(size=complete + others)
        judge = 0.7 + likeness * (human - 0.5) + 0.2 * (1 - likeness**2) ** 0.5 * own
        found = estimate(human[:complete].tolist(), judge[:complete].tolist(), judge[complete:].tolist())
        everyone += found.low <= 0.5 <= found.high
    return everyone / draws


def test_intervals_hold_the_truth_in_93_to_97_of_100_of_500_simulations() -> None:
    assert 0.93 <= covered(20, 80, 0.4, draws=500, seed=17) <= 0.97
