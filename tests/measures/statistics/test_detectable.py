"""The detectable difference against scipy's noncentral t, and the number of queries against it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from goldbench.measures.statistics.detectable import (
    adjusted_difference,
    critical_t,
    detectable_difference,
    drawn_level,
    queries_needed,
)


@pytest.mark.parametrize("queries", [8, 25, 147, 5000])
@pytest.mark.parametrize("pairs", [1, 3, 595])
def test_the_power_at_the_difference_is_that_of_the_noncentral_t(queries: int, pairs: int) -> None:
    shown = detectable_difference(0.3, queries, pairs=pairs)
    if shown == inf:
        assert 2 ** (1 - queries) > 0.05 / pairs
        return
    critical = critical_t(queries, drawn_level(0.05 / pairs, 10_000))
    assert critical is not None
    assert stats.nct.sf(critical, queries - 1, shown / 0.3 * queries**0.5) == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("queries", "pairs"), [(10, 1), (10, 6), (15, 28), (20, 6), (30, 28)])
def test_scipys_permutation_test_finds_the_difference_in_four_of_five_samples(queries: int, pairs: int) -> None:
    draws, samples = 2_000, 800
    shown = detectable_difference(1.0, queries, pairs=pairs, permutations=draws)
    draw = np.random.default_rng(queries * pairs)
    differences = shown + draw.standard_normal((samples, queries))
    found = stats.permutation_test(
        (differences,),
        lambda sample, axis: np.abs(sample.mean(axis=axis)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=draws,
        vectorized=True,
        axis=1,
        batch=100,
        random_state=draw,
    )
    assert (found.pvalue <= 0.05 / pairs).mean() == pytest.approx(0.8, abs=0.045)


@given(st.floats(0.001, 1), st.floats(0.001, 1), st.integers(1, 600))
def test_the_number_of_queries_is_the_first_that_shows_the_difference(
    deviation: float, difference: float, pairs: int
) -> None:
    queries = queries_needed(deviation, difference, pairs=pairs)
    assert detectable_difference(deviation, queries, pairs=pairs) <= difference
    assert queries == 2 or detectable_difference(deviation, queries - 1, pairs=pairs) > difference


def test_a_difference_is_adjusted_as_if_it_were_computed_for_all_pairs() -> None:
    alone = detectable_difference(0.2, 60)
    adjusted = adjusted_difference(alone, 60, pairs=28, alpha=0.05)
    assert adjusted == pytest.approx(detectable_difference(0.2, 60, pairs=28))
    assert adjusted_difference(alone, 8, pairs=28, alpha=0.05) is None
    assert adjusted_difference(None, 60, pairs=28, alpha=0.05) is None


@pytest.mark.parametrize(
    ("deviation", "queries", "more"),
    [(-0.1, 10, {}), (0.1, 1, {}), (0.1, 10, {"pairs": 0}), (0.1, 10, {"alpha": 0.9}), (0.1, 10, {"power": 1.0})],
)
def test_values_out_of_range_are_refused(deviation: float, queries: int, more: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="2 queries"):
        detectable_difference(deviation, queries, **more)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not above 0"):
        queries_needed(0.1, 0.0)
