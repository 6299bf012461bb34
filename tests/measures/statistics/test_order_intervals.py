"""Intervals of rank correlations against simulations whose truth is known, and the ceiling against a second sample."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.statistics.rank_correlation import order_interval, tau_b_rows, two_sets


def population(draw: np.random.Generator, queries: int, systems: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores by query under two kinds of labels, over as many queries as stand for all of them."""
    hardness = draw.normal(0.5, 0.2, (queries, 1))
    quality = draw.normal(0, 0.05, systems)
    one = hardness + quality + draw.normal(0, 0.2, (queries, systems))
    return one, one + 0.1 + draw.normal(0, 0.03, systems) + draw.normal(0, 0.15, (queries, systems))


def tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(tau_b_rows(one.mean(axis=0)[None], other.mean(axis=0)[None])[0])


def test_the_interval_holds_the_value_and_its_mirror_image() -> None:
    one, other = population(np.random.default_rng(1), 25, 20)
    found = order_interval(one, other, tau_b_rows, paired=True, resamples=500, seed=0)
    assert found is not None
    low, high = found
    assert low < tau(one, other) < high
    assert tau(one, other) - low == pytest.approx(high - tau(one, other), abs=1e-9) or high == 1


def test_two_drawn_sets_are_as_alike_as_two_samples_of_the_population() -> None:
    draw = np.random.default_rng(5)
    scores, _ = population(draw, 4_000, 12)
    seen, true = [], []
    for number in range(40):
        samples = [scores[draw.integers(0, len(scores), 50)] for _ in range(2)]
        true.append(tau(*samples))
        seen.append(float(np.mean(tau_b_rows(*two_sets(samples[0], (50, 50), draws=50, seed=number)))))
    assert np.mean(seen) == pytest.approx(np.mean(true), abs=0.06)
