"""The detectable difference of hits: samples of wins and losses against scipy's sign test, and its borders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goldbench.measures.statistics.detectable import detectable_difference, detectable_hits, hit_shares
from goldbench.measures.statistics.significance import Paired
from goldbench.records.scorecard import Method

MANY = 100_000_000
"""Random signs as good as all signs, which is what the sign test takes."""


@pytest.mark.parametrize(("queries", "pairs"), [(10, 1), (15, 6), (20, 28), (50, 1), (100, 28), (300, 6), (400, 1)])
@pytest.mark.parametrize("deviation", [0.3, 0.6])
def test_the_sign_test_of_scipy_finds_it_in_four_of_five_samples(queries: int, pairs: int, deviation: float) -> None:
    shown = detectable_hits(deviation, queries, pairs=pairs, permutations=MANY)
    won, lost = hit_shares(deviation, shown)
    assert won - lost == pytest.approx(shown)
    draws = np.random.default_rng(queries).multinomial(queries, [won, lost, 1 - won - lost], 4_000)
    found = [
        count * (stats.binomtest(int(wins), int(wins + losses)).pvalue <= 0.05 / pairs)
        for (wins, losses, _), count in zip(*np.unique(draws, axis=0, return_counts=True), strict=True)
        if wins + losses
    ]
    assert sum(found) / len(draws) == pytest.approx(0.8, abs=0.03)


def test_hits_show_less_than_scores_of_the_same_spread() -> None:
    for queries in (10, 30, 100, 1_000):
        assert detectable_hits(0.4, queries) > detectable_difference(0.4, queries)


def test_compare_takes_differences_of_hits_for_what_they_are() -> None:
    hits = np.array([1.0, 0.0, -1.0, 1.0] * 10)
    method = Method(missing="zero", scores="float64")
    for differences, figure in ((hits, detectable_hits), (hits * 0.9, detectable_difference)):
        found = Paired.of(differences)
        assert found.detectable(method, pairs=6) == pytest.approx(figure(found.deviation, 40, pairs=6))
