"""Student's t against the distribution of scipy.stats."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from goldbench.measures.statistics.student import two_sided_p, upper_quantile


@given(st.floats(-60, 60), st.integers(1, 100_000))
def test_p_is_that_of_scipy(t: float, freedom: int) -> None:
    expected = 2 * stats.t.sf(abs(t), freedom)
    assert two_sided_p(t, freedom) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@given(st.floats(allow_nan=False), st.integers(1, 10_000_000))
def test_p_is_never_0_and_never_above_1(t: float, freedom: int) -> None:
    assert 0 < two_sided_p(t, freedom) <= 1


@given(st.floats(1e-4, 0.5), st.integers(1, 10_000))
def test_a_quantile_is_that_of_scipy(tail: float, freedom: int) -> None:
    assert upper_quantile(tail, freedom) == pytest.approx(stats.t.isf(tail, freedom), rel=1e-10, abs=1e-9)


def test_the_quantile_of_tables() -> None:
    assert math.isclose(upper_quantile(0.025, 9), 2.262, abs_tol=5e-4)
