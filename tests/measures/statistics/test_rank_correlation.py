"""Rank correlations against scipy, against the words of their definitions, and against all orders of tied systems."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import order_interval, split_halves, tau_ap, tau_b_rows, two_sets

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
    assert np.isnan(tau_ap(np.arange(4.0), np.zeros(4)))
    assert np.isnan(tau_ap(np.zeros(4), np.arange(4.0)))


def by_the_words(reference: np.ndarray, order: tuple[int, ...]) -> float:
    """2 / (N - 1) times the sum over places i > 1 of C(i) / (i - 1), less 1; ties in the truth count half."""
    total = 0.0
    for number in range(1, len(order)):
        above = [np.sign(reference[system] - reference[order[number]]) for system in order[:number]]
        total += sum((1 + sign) / 2 for sign in above) / number
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
