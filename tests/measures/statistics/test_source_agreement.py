"""Agreement of two sources on a ranking: against scipy, against simulations of known truth, on degenerate scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import ranking_agreement

SPREAD, NOISE, SHARED = 0.05, 0.2, 0.25


def drawn(means: Floats, queries: int, random: np.random.Generator) -> Floats:
    """Return scores whose noise is partly a query's own, partly shared by the systems."""
    shared = SHARED * random.normal(size=(queries, 1))
    return np.asarray(means + shared + NOISE * random.normal(size=(queries, len(means))))


def test_tau_is_scipys_and_the_draws_spread_around_it() -> None:
    random = np.random.default_rng(1)
    for systems in (2, 3, 8, 16):
        first, *draws = (random.random((30, systems)).round(1) for _ in range(4))
        found = ranking_agreement(first, draws, seed=0)
        assert found is not None
        taus = [kendalltau(first.mean(axis=0).round(9), one.mean(axis=0).round(9)).statistic for one in draws]
        second = np.concatenate(draws).mean(axis=0)
        assert found.tau == pytest.approx(kendalltau(first.mean(axis=0).round(9), second.round(9)).statistic)
        assert (found.lowest, found.highest) == pytest.approx((min(taus), max(taus)))
        assert -1 <= found.low <= found.tau <= found.high <= 1


def test_the_same_seed_gives_the_same_interval_and_more_queries_a_narrower_one() -> None:
    random = np.random.default_rng(2)
    means = SPREAD * random.normal(size=8)
    few, many = (ranking_agreement(drawn(means, n, random), [drawn(means, n, random)], seed=3) for n in (20, 2_000))
    assert few is not None
    assert many is not None
    assert many.high - many.low < few.high - few.low
    scores = drawn(means, 20, random)
    assert ranking_agreement(scores, [scores], seed=3) == ranking_agreement(scores, [scores], seed=3)


def test_labels_of_the_same_queries_are_resampled_together() -> None:
    random = np.random.default_rng(4)
    scores = drawn(SPREAD * random.normal(size=8), 40, random)
    together, apart = (ranking_agreement(scores, [scores], seed=0, paired=paired) for paired in (True, False))
    assert together is not None
    assert apart is not None
    assert together.tau == apart.tau == 1
    assert together.low > apart.low  # resampled together, equal labels never disagree


@pytest.mark.parametrize(
    ("first", "draws"),
    [
        (np.full((10, 4), 0.5), [np.random.default_rng(0).random((10, 4))]),
        (np.random.default_rng(0).random((10, 4)), [np.zeros((10, 4))]),
        (np.zeros((10, 1)), [np.zeros((10, 1))]),
    ],
)
def test_sources_that_cannot_tell_systems_apart_have_no_agreement(first: Floats, draws: list[Floats]) -> None:
    assert ranking_agreement(first, draws, seed=0) is None


@pytest.mark.parametrize(
    ("first", "draws", "paired"),
    [((5, 3), [(5, 4)], False), ((1, 3), [(5, 3)], False), ((5, 3), [], False), ((5, 3), [(4, 3)], True)],
)
def test_what_cannot_be_compared_is_refused(first: tuple[int, int], draws: list[tuple[int, int]], paired: bool) -> None:
    with pytest.raises(ValueError, match="source"):
        ranking_agreement(np.ones(first), [np.ones(one) for one in draws], seed=0, paired=paired)


@pytest.mark.slow
@pytest.mark.parametrize("likeness", [0.0, 0.7, 0.99])
def test_the_interval_covers_the_tau_of_sets_of_these_sizes(likeness: float) -> None:
    random = np.random.default_rng(5)
    hits, cases = 0, 0
    for _ in range(10):
        base, other = SPREAD * random.normal(size=(2, 8))
        second = likeness * base + np.sqrt(1 - likeness**2) * other
        sets = [(drawn(base, 60, random), drawn(second, 60, random)) for _ in range(400)]
        truth = np.mean([kendalltau(a.mean(axis=0), b.mean(axis=0)).statistic for a, b in sets])
        for a, b in sets[:40]:
            found = ranking_agreement(a, [b], seed=cases)
            assert found is not None
            hits += found.low <= truth <= found.high
            cases += 1
    assert 0.92 <= hits / cases <= 0.99
