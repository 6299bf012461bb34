"""What the sign-flip test asks of few queries: scipy's distributions, and samples flipped in all ways."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goldbench.measures.statistics.detectable import chance_to_find, critical_t, drawn_level


@pytest.mark.parametrize("level", [0.05, 0.05 / 28, 0.05 / 600])
def test_of_many_queries_it_asks_what_the_t_test_asks(level: float) -> None:
    for queries in (1_000, 100_000):
        assert critical_t(queries, level) == pytest.approx(stats.t.isf(level / 2, queries - 1), rel=5e-4)


@pytest.mark.parametrize(("queries", "level"), [(8, 0.05), (10, 0.05 / 6), (12, 0.05 / 6), (13, 0.05 / 28)])
def test_of_few_queries_it_asks_as_much_as_normal_samples_need_in_the_middle(queries: int, level: float) -> None:
    """The shift that makes a sample significant is a mean of some of its values: all of them are looked at here."""
    samples = np.random.default_rng(queries).standard_normal((1_500, queries))
    chosen = np.arange(1, 2**queries)[:, None] >> np.arange(queries) & 1
    means = samples @ (chosen / chosen.sum(axis=1, keepdims=True)).T
    count = int(level * 2 ** (queries - 1))
    shifts = -np.partition(means, count - 1, axis=1)[:, count - 1]
    needed = (samples.mean(axis=1) + shifts) / samples.std(axis=1, ddof=1) * queries**0.5
    found = critical_t(queries, level)
    assert found == pytest.approx(np.median(needed), rel=0.04)
    assert found is not None
    assert found > stats.t.isf(level / 2, queries - 1)


def test_no_t_is_significant_where_equal_signs_are_not() -> None:
    assert critical_t(5, 0.05) is None
    assert critical_t(6, 0.05) is not None
    assert critical_t(10, 0.05 / 28) is None


@pytest.mark.parametrize("level", [0.05, 0.05 / 28, 0.05 / 190])
def test_a_sample_at_the_level_of_the_draws_is_found_in_half_of_them(level: float) -> None:
    chance = stats.binom.cdf(np.floor(level * 10_001) - 1, 10_000, drawn_level(level, 10_000))
    assert chance == pytest.approx(0.5, abs=0.01)


def test_too_few_draws_leave_the_level_as_it_is() -> None:
    assert drawn_level(0.05 / 600, 10_000) == 0.05 / 600
    assert drawn_level(0.05 / 600, 100_000) < 0.05 / 600


@pytest.mark.parametrize(("queries", "pairs"), [(6, 1), (7, 3), (9, 10), (12, 66)])
def test_the_chance_to_find_equal_signs_is_about_that_of_the_binomial_distribution(queries: int, pairs: int) -> None:
    reached = np.floor(0.05 / pairs * 10_001) - 1
    chance = stats.binom.cdf(reached, 10_000, 2.0 ** (1 - queries))
    assert chance_to_find(2.0 ** (1 - queries), 0.05 / pairs, 10_000) == pytest.approx(chance, abs=0.02)
    assert chance_to_find(2.0**-100_000, 0.05 / pairs, 10_000) == 1
