"""Bootstrap intervals against Student's on data where both hold, and what they must do at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goldbench.measures.statistics import resamples
from goldbench.measures.statistics.intervals import bootstrap_intervals
from tests.measures.statistics.test_randomization import PAIR, made


@pytest.mark.parametrize("queries", [10, 50, 1000])
def test_on_normal_scores_the_interval_is_students(queries: int) -> None:
    scores = np.random.default_rng(4).normal(0.5, 0.1, (queries, 2, 1))
    found = bootstrap_intervals(scores, PAIR, resamples=20_000, seed=0)
    low, high = stats.t.interval(0.95, queries - 1, scores[:, 0, 0].mean(), stats.sem(scores[:, 0, 0]))
    width = high - low
    assert found.mean_low[0, 0] == pytest.approx(low, abs=0.06 * width)
    assert found.mean_high[0, 0] == pytest.approx(high, abs=0.06 * width)


def test_the_interval_of_a_difference_is_that_of_the_differences_mean() -> None:
    scores = made(80)
    differences = scores[:, :1] - scores[:, 1:]
    paired = bootstrap_intervals(scores, PAIR, resamples=1000, seed=2)
    alone = bootstrap_intervals(np.concatenate([differences, differences], axis=1), PAIR, resamples=1000, seed=2)
    np.testing.assert_allclose(paired.difference_low, alone.mean_low[:1], atol=1e-12)
    np.testing.assert_allclose(paired.difference_high, alone.mean_high[:1], atol=1e-12)


def test_an_interval_holds_the_observed_mean_and_stays_among_the_scores() -> None:
    scores = made(40, systems=3, measures=4)
    found = bootstrap_intervals(scores, [(0, 1), (1, 2)], resamples=500, seed=0)
    means = scores.mean(axis=0)
    assert ((found.mean_low <= means) & (means <= found.mean_high)).all()
    assert (found.mean_low >= 0).all()
    assert (found.mean_high <= 1).all()


def test_every_query_is_drawn_about_as_often_as_any_other() -> None:
    sums = np.concatenate(list(resamples.resample_sums(np.eye(101).reshape(101, 101, 1), draws=5000, seed=0)))
    assert (sums.sum(axis=1) == 101).all()
    assert stats.chisquare(sums.sum(axis=(0, 2))).pvalue > 1e-3
