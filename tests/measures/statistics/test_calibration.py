"""Expected gains of a model's grades, and the weights of drawn pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from goldbench.measures.statistics.calibration import Rated, expected_gains
from goldbench.measures.statistics.floats import inverse_weights

PAIRS = st.lists(
    st.builds(
        Rated,
        judge=st.integers(0, 3),
        human=st.integers(0, 3).map(float),
        inclusion=st.sampled_from([0.05, 0.2, 0.5, 1.0]),
        stratum=st.sampled_from(["source", "pool"]),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=40)
@given(PAIRS)
def test_the_pooled_curve_is_the_isotonic_regression_of_scikit_learn(rated: list[Rated]) -> None:
    equal = [Rated(pair.judge, pair.human) for pair in rated]
    model = IsotonicRegression().fit([pair.judge for pair in equal], [pair.human for pair in equal])
    curve = expected_gains(equal).pooled
    assert [curve[grade] for grade in sorted(curve)] == pytest.approx(list(model.predict(sorted(curve))))


def test_a_pair_counts_as_many_as_it_stands_for() -> None:
    rated = [Rated(2, 3.0, inclusion=0.5)] * 4 + [Rated(2, 0.0, inclusion=0.1)] * 4
    assert expected_gains(rated).pooled[2] == pytest.approx((4 * 2 * 3 + 4 * 10 * 0) / (4 * 2 + 4 * 10))


def test_the_mean_gain_of_a_stratified_sample_is_that_of_its_population() -> None:
    rng = np.random.default_rng(5)
    judge = rng.integers(0, 4, 20_000)
    human = np.minimum(rng.integers(0, 4, 20_000), judge)
    drawn = rng.random(20_000) < np.array([0.02, 0.1, 0.3, 0.5])[judge]
    chance = np.array([0.02, 0.1, 0.3, 0.5])[judge[drawn]]
    weights = inverse_weights(chance.tolist())
    assert np.average(human[drawn], weights=weights) == pytest.approx(human.mean(), abs=0.05)
    assert human[drawn].mean() > human.mean() + 0.3


def test_a_small_stratum_leans_on_the_pooled_curve_and_a_large_one_on_itself() -> None:
    many = [Rated(3, 3.0, stratum="source")] * 400 + [Rated(3, 1.0, stratum="pool")] * 400
    few = [*many, Rated(3, 0.0, stratum="rare")]
    curve = expected_gains(few)
    assert curve.gain(3, "source") == pytest.approx(3, abs=0.05)
    assert curve.gain(3, "pool") == pytest.approx(1, abs=0.05)
    assert curve.gain(3, "rare") == pytest.approx(10 * curve.pooled[3] / 11)
    assert curve.gain(3, "never seen") == curve.pooled[3]


@pytest.mark.parametrize("inclusion", [0.0, -0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_refused(inclusion: float) -> None:
    with pytest.raises(ValueError, match="inclusion probability"):
        expected_gains([Rated(0, 0.0, inclusion=inclusion)])
