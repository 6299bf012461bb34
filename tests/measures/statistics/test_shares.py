"""Intervals of shares whose trials are alike within a query: properties, and simulations whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from goldbench.measures.statistics.shares import clustered_share, wilson


@pytest.mark.parametrize("copies", [2, 10])
def test_copies_of_a_querys_only_pair_tell_nothing_more(copies: int) -> None:
    hits = np.random.default_rng(0).integers(0, 2, 40)
    alone = clustered_share(hits.tolist(), [1] * 40)
    assert alone is not None
    found = clustered_share((hits * copies).tolist(), [copies] * 40)
    assert found is not None
    assert found == pytest.approx(alone, abs=0.01)
    assert found[0] <= alone[0]
    assert found[1] >= alone[1]


@pytest.mark.parametrize(("hits", "queries"), [(1, 5), (3, 10), (300, 1000)])
def test_one_pair_of_each_query_has_about_the_interval_of_wilson(hits: int, queries: int) -> None:
    low, high = clustered_share([1] * hits + [0] * (queries - hits), [1] * queries) or (0.0, 0.0)
    ours, theirs = high - low, np.diff([*stats.binomtest(hits, queries).proportion_ci(method="wilson")])[0]
    assert theirs <= ours + 1e-12
    assert ours == pytest.approx(theirs, rel=1.5 / queries)


@pytest.mark.parametrize(("queries", "share"), [(5, 0.5), (8, 0.5), (25, 0.2), (80, 0.05)])
def test_it_covers_the_share_of_queries_that_differ_where_wilson_over_pairs_does_not(
    queries: int, share: float
) -> None:
    draw = np.random.default_rng(1)
    covered = blind = 0
    for _ in range(600):
        sizes = np.maximum(1, np.rint(30 * draw.lognormal(-0.5, 1, queries))).astype(int)
        hits = draw.binomial(sizes, draw.beta(share * 9, (1 - share) * 9, queries))  # correlation 0.1
        found = clustered_share(hits.tolist(), sizes.tolist())
        assert found is not None
        covered += found[0] <= share <= found[1]
        low, high = wilson(int(hits.sum()), int(sizes.sum()))
        blind += low <= share <= high
    assert 0.93 <= covered / 600 <= 0.985
    assert blind / 600 < 0.8
