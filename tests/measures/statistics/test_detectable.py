"""The detectable difference against SciPy, and the number of queries against it."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from goldbench.measures.statistics.detectable import detectable_difference, detectable_hits, hit_share, queries_needed
from goldbench.measures.statistics.significance import detectable
from goldbench.records.scorecard import Method


@pytest.mark.parametrize("queries", [8, 25, 147, 5000])
@pytest.mark.parametrize("pairs", [1, 3, 595])
def test_the_power_at_the_difference_is_that_of_the_noncentral_t(queries: int, pairs: int) -> None:
    shown = detectable_difference(0.3, queries, pairs=pairs)
    if shown == inf:
        assert 2 ** (1 - queries) > 0.05 / pairs
        return
    critical = stats.t.isf(0.05 / pairs / 2, queries - 1)
    assert stats.nct.sf(critical, queries - 1, shown / 0.3 * queries**0.5) == pytest.approx(0.8, abs=1e-4)


@given(st.floats(0.001, 1), st.floats(0.001, 1), st.integers(1, 600))
def test_the_number_of_queries_is_the_first_that_shows_the_difference(
    deviation: float, difference: float, pairs: int
) -> None:
    queries = queries_needed(deviation, difference, pairs=pairs)
    assert detectable_difference(deviation, queries, pairs=pairs) <= difference
    assert queries == 2 or detectable_difference(deviation, queries - 1, pairs=pairs) > difference


@pytest.mark.parametrize(
    ("deviation", "queries", "more"), [(-0.1, 10, {}), (0.1, 1, {}), (0.1, 10, {"pairs": 0}), (0.1, 10, {"alpha": 0.9})]
)
def test_values_out_of_range_are_refused(deviation: float, queries: int, more: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="2 queries"):
        detectable_difference(deviation, queries, **more)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not above 0"):
        queries_needed(0.1, 0.0)


@pytest.mark.parametrize(("queries", "pairs"), [(10, 1), (15, 6), (20, 28), (50, 1), (100, 28), (300, 6), (1100, 1)])
@pytest.mark.parametrize("deviation", [0.3, 0.6])
def test_the_sign_test_of_scipy_finds_it_in_four_of_five_samples(queries: int, pairs: int, deviation: float) -> None:
    shown = detectable_hits(deviation, queries, pairs=pairs)
    share = hit_share(deviation, shown)
    chances = [(share + shown) / 2, (share - shown) / 2, 1 - share]
    draws = np.random.default_rng(queries).multinomial(queries, np.clip(chances, 0, 1), 4_000)
    found = [
        count * (stats.binomtest(int(wins), int(wins + losses)).pvalue <= 0.05 / pairs)
        for (wins, losses, _), count in zip(*np.unique(draws, axis=0, return_counts=True), strict=True)
        if wins + losses
    ]
    assert sum(found) / len(draws) == pytest.approx(0.8, abs=0.03)


def test_compare_takes_differences_of_hits_for_what_they_are() -> None:
    hits = np.array([1.0, 0.0, -1.0, 1.0] * 10)
    method = Method(missing="zero", scores="float64")
    for differences, figure in ((hits, detectable_hits), (hits * 0.9, detectable_difference)):
        deviation = float(differences.std(ddof=1))
        assert detectable(differences, method, pairs=6) == pytest.approx(figure(deviation, 40, pairs=6))
