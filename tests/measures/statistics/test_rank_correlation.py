"""Rank correlation against scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from goldbench.measures.statistics.rank_correlation import split_halves, tau_b_rows

SCORES = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n).map(lambda x: np.array(x, float))] * 2)
)


@settings(max_examples=40)
@given(SCORES)
def test_tau_b_is_that_of_scipy(scores: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = scores
    assume(np.ptp(first) > 0 and np.ptp(second) > 0)
    assert tau_b_rows(first[None], second[None])[0] == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)


def test_tau_of_level_systems_is_undefined() -> None:
    assert np.isnan(tau_b_rows(np.zeros((1, 4)), np.arange(4.0)[None])[0])


def test_halves_share_no_query_and_hold_so_many() -> None:
    scores = np.eye(10)  # the mean of system i is 1 / size where query i was drawn, else 0
    one, other = split_halves(scores, size=4, splits=50, seed=3)
    assert np.allclose(one.sum(axis=1), 1)
    assert np.allclose((one > 0).sum(axis=1), 4)
    assert not ((one > 0) & (other > 0)).any()
