"""Bootstrap intervals against Student's on data where both hold, and what they must do at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goldbench.measures.statistics import resamples
from goldbench.measures.statistics.guardrails import matched_difference
from goldbench.measures.statistics.intervals import bootstrap_intervals, difference_limits, mean_limits
from tests.measures.statistics.test_significance import PAIR, made


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


TAIL = 0.025


def hits(count: int, queries: int) -> np.ndarray:
    """Return hits of one system, shape (queries, 1, 1)."""
    return (np.arange(queries) < count).astype(float)[:, None, None]


@pytest.mark.parametrize(("count", "queries"), [(0, 3), (1, 10), (7, 30), (30, 30), (120, 300)])
def test_the_mean_of_hits_has_the_interval_of_wilson(count: int, queries: int) -> None:
    theirs = stats.binomtest(count, queries).proportion_ci(method="wilson")
    low, high = mean_limits(hits(count, queries), TAIL)
    assert (low[0, 0], high[0, 0]) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    found = bootstrap_intervals(hits(count, queries), [], resamples=200, seed=0)
    assert (found.mean_low[0, 0], found.mean_high[0, 0]) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize(("queries", "attained"), [(3, 0.972), (5, 0.919), (10, 0.930), (30, 0.974), (100, 0.936)])
def test_how_often_a_tenth_of_hits_is_covered_follows_from_the_binomial_distribution(
    queries: int, attained: float
) -> None:
    counts = np.arange(queries + 1)
    ends = [mean_limits(hits(int(count), queries), TAIL) for count in counts]
    held = [low[0, 0] <= 0.1 <= high[0, 0] for low, high in ends]
    assert stats.binom.pmf(counts, queries, 0.1)[held].sum() == pytest.approx(attained, abs=0.001)


@pytest.mark.parametrize("queries", [8, 40])
def test_without_any_difference_a_query_is_added_on_both_sides_as_agresti_and_min_do(queries: int) -> None:
    low, high = difference_limits(np.zeros((queries, 1, 1)), TAIL)
    _, theirs, _ = matched_difference(0, 0, queries)
    wider = stats.t.ppf(1 - TAIL, queries - 1) / stats.norm.ppf(1 - TAIL) * np.sqrt(queries / (queries - 1))
    assert (low[0, 0], high[0, 0]) == pytest.approx((theirs * wider, -theirs * wider), rel=1e-9)


@pytest.mark.parametrize("queries", [10, 15, 30])
def test_intervals_of_rare_hits_hold_the_truth_where_resamples_show_no_spread(queries: int) -> None:
    draw, held = np.random.default_rng(queries), []
    for _ in range(400):
        scores = (draw.random((queries, 2, 1)) < [[0.15], [0.05]]).astype(float)
        found = bootstrap_intervals(scores, PAIR, resamples=100, seed=0)
        held.append((
            found.mean_low[0, 0] <= 0.15 <= found.mean_high[0, 0],
            found.difference_low[0, 0] <= 0.1 <= found.difference_high[0, 0],
        ))  # fmt: skip
    assert (np.mean(held, axis=0) >= 0.91).all()


def test_equal_systems_have_no_width_unless_their_scores_are_hits() -> None:
    scores = np.repeat(np.random.default_rng(1).random((30, 1, 1)), 2, axis=1)
    found = bootstrap_intervals(scores, PAIR, resamples=200, seed=0)
    assert found.difference_low[0, 0] == found.difference_high[0, 0] == 0
    found = bootstrap_intervals(np.rint(scores), PAIR, resamples=200, seed=0)
    assert found.difference_low[0, 0] < -0.05
    assert found.difference_high[0, 0] > 0.05
