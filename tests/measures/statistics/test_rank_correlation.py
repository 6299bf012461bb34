"""Rank correlations against scipy, against the words of their definitions, and against all orders of tied systems."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import (
    kendall_tau_b,
    order_interval,
    ranking_agreement,
    split_halves,
    tau_ap,
    tau_b_rows,
    two_sets,
)

SCORES = st.integers(2, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n).map(lambda x: np.array(x, float))] * 2)
)


@settings(max_examples=40)
@given(SCORES)
def test_tau_b_is_that_of_scipy(scores: tuple[np.ndarray, np.ndarray]) -> None:
    first, second = scores
    assume(np.ptp(first) > 0 and np.ptp(second) > 0)
    assert kendall_tau_b(first, second) == pytest.approx(kendalltau(first, second).statistic, abs=1e-12)


def test_tau_of_level_systems_is_undefined() -> None:
    assert np.isnan(kendall_tau_b(np.zeros(4), np.arange(4.0)))
    assert np.isnan(tau_ap(np.arange(4.0), np.zeros(4)))
    assert np.isnan(tau_ap(np.zeros(4), np.arange(4.0)))


def by_the_words(reference: np.ndarray, order: tuple[int, ...]) -> float:
    """2 / (N - 1) times the sum over places i > 1 of C(i) / (i - 1), less 1; ties in the truth count half."""
    total = 0.0
    for place in range(1, len(order)):
        above = [np.sign(reference[system] - reference[order[place]]) for system in order[:place]]
        total += sum((1 + sign) / 2 for sign in above) / place
    return 2 * total / (len(order) - 1) - 1


@settings(max_examples=40)
@given(st.permutations(range(6)), st.permutations(range(6)))
def test_tau_ap_without_ties_is_the_definition(one: list[int], other: list[int]) -> None:
    reference, judged = np.array(one, float), np.array(other, float)
    order = tuple(np.argsort(-judged))
    assert tau_ap(reference, judged) == pytest.approx(by_the_words(reference, order), abs=1e-12)


@settings(max_examples=40)
@given(SCORES)
def test_tau_ap_with_ties_is_the_mean_over_all_orders_of_the_tied(scores: tuple[np.ndarray, np.ndarray]) -> None:
    reference, judged = scores[0][:5], scores[1][:5]
    assume(np.ptp(reference) > 0 and np.ptp(judged) > 0)
    orders = [
        order
        for order in itertools.permutations(range(len(judged)))
        if all(judged[a] >= judged[b] for a, b in itertools.pairwise(order))
    ]
    expected = np.mean([by_the_words(reference, order) for order in orders])
    assert tau_ap(reference, judged) == pytest.approx(expected, abs=1e-12)


def test_halves_share_no_query_and_hold_so_many() -> None:
    scores = np.eye(10)  # the mean of system i is 1 / size where query i was drawn, else 0
    one, other = split_halves(scores, size=4, splits=50, seed=3)
    assert np.allclose(one.sum(axis=1), 1)
    assert np.allclose((one > 0).sum(axis=1), 4)
    assert not ((one > 0) & (other > 0)).any()


def population(draw: np.random.Generator, queries: int, systems: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores by query under two kinds of labels, over as many queries as stand for all of them."""
    hardness = draw.normal(0.5, 0.2, (queries, 1))
    quality = draw.normal(0, 0.05, systems)
    one = hardness + quality + draw.normal(0, 0.2, (queries, systems))
    return one, one + 0.1 + draw.normal(0, 0.03, systems) + draw.normal(0, 0.15, (queries, systems))


def tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(tau_b_rows(one.mean(axis=0)[None], other.mean(axis=0)[None])[0])


def test_the_interval_holds_the_value_and_its_mirror_image() -> None:
    one, other = population(np.random.default_rng(1), 25, 20)
    found = order_interval(one, other, tau_b_rows, paired=True, resamples=500, seed=0)
    assert found is not None
    low, high = found
    assert low < tau(one, other) < high
    assert tau(one, other) - low == pytest.approx(high - tau(one, other), abs=1e-9) or high == 1


def test_two_drawn_sets_are_as_alike_as_two_samples_of_the_population() -> None:
    draw = np.random.default_rng(5)
    scores, _ = population(draw, 4_000, 12)
    seen, true = [], []
    for number in range(40):
        samples = [scores[draw.integers(0, len(scores), 50)] for _ in range(2)]
        true.append(tau(*samples))
        seen.append(float(np.mean(tau_b_rows(*two_sets(samples[0], (50, 50), draws=50, seed=number)))))
    assert np.mean(seen) == pytest.approx(np.mean(true), abs=0.06)


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


@pytest.mark.parametrize(("first", "draws"), [((5, 3), [(5, 4)]), ((1, 3), [(5, 3)]), ((5, 3), [])])
def test_what_cannot_be_compared_is_refused(first: tuple[int, int], draws: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="source"):
        ranking_agreement(np.ones(first), [np.ones(one) for one in draws], seed=0)


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
