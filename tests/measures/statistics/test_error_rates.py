"""Whether intervals cover and tests reject as often as they say.

3,000 simulated evaluations each: with 2,000 the share of a true 95 % leaves 94 to 96 % once in 25 times by chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.significance import Paired, sign_flip_p

SIMULATIONS, TOGETHER = 3000, 30
"""In 3,000 a share of .05 has a standard error of .004; all draws are seeded, so the outcome is always the same.

Drawing resamples takes most of the time, so some evaluations share theirs, each with data of its own.
"""
Draw = Callable[[np.random.Generator, int], np.ndarray]


def ndcg(draw: np.random.Generator, queries: int) -> np.ndarray:
    """Three in ten queries fail, the others spread over 0 to 1."""
    values = draw.beta(1.2, 0.9, (queries, 2))
    return np.round(np.where(draw.random(values.shape) < 0.3, 0, values), 4)


def reciprocal_rank(draw: np.random.Generator, queries: int) -> np.ndarray:
    """Many at rank 1, the others anywhere to rank 13, cut at 10."""
    ranks = np.where(draw.random((queries, 2)) < 0.45, 1, draw.integers(1, 14, (queries, 2)))
    return np.where(ranks > 10, 0, 1 / ranks)


def alike(draw: np.random.Generator, queries: int) -> np.ndarray:
    """Two systems that agree on half of the queries, as two settings of one retriever do."""
    values = ndcg(draw, queries)
    return np.where(draw.random((queries, 1)) < 0.5, values[:, :1], values)


def hit(draw: np.random.Generator, queries: int) -> np.ndarray:
    """Found or not."""
    return (draw.random((queries, 2)) < 0.75).astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scores_of", "queries"), [(ndcg, 50), (ndcg, 300), (reciprocal_rank, 50), (reciprocal_rank, 100), (alike, 100)]
)
def test_intervals_cover_and_tests_reject_as_often_as_they_say(scores_of: Draw, queries: int) -> None:
    """Both systems are drawn alike: the true difference is 0, and every rejection is an error."""
    draw = np.random.default_rng([queries, 2])
    truth = scores_of(draw, 4_000_000)[:, 0].mean()
    pairs = [(2 * one, 2 * one + 1) for one in range(TOGETHER)]
    counts = np.zeros(4)
    for number in range(SIMULATIONS // TOGETHER):
        scores = np.concatenate([scores_of(draw, queries) for _ in pairs], axis=1)[:, :, None]
        ends = bootstrap_intervals(scores, pairs, resamples=1999, seed=number)
        t = [Paired.of(scores[:, first, 0] - scores[:, second, 0]).t_test() for first, second in pairs]
        counts += (
            ((ends.mean_low[::2] <= truth) & (truth <= ends.mean_high[::2])).sum(),
            ((ends.difference_low <= 0) & (ends.difference_high >= 0)).sum(),
            (sign_flip_p(scores, pairs, permutations=999, seed=number) <= 0.05).sum(),
            sum(one is not None and one <= 0.05 for one in t),
        )
    of_mean, of_difference, by_flip, by_t = counts / SIMULATIONS
    print(f"cover mean {of_mean:.4f}, difference {of_difference:.4f}; reject flip {by_flip:.4f}, t {by_t:.4f}")
    assert 0.94 <= of_mean <= 0.96
    assert 0.94 <= of_difference <= 0.96
    assert 0.04 <= by_flip <= 0.06
    assert 0.04 <= by_t <= 0.06


@pytest.mark.slow
def test_on_scores_of_two_values_the_randomization_test_rejects_too_rarely_never_too_often() -> None:
    draw = np.random.default_rng(5)
    rejected = sum(
        sign_flip_p(hit(draw, 100)[:, :, None], [(0, 1)], permutations=999, seed=number)[0, 0] <= 0.05
        for number in range(1000)
    )
    assert 0.02 <= rejected / 1000 <= 0.05
