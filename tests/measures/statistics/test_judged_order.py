"""The order by corrected means: its chance, and how much more work of either kind it takes."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.statistics.detectable import errors_apart
from goldbench.measures.statistics.fitness import missing_of, moments_of, order_chance, ranking_of
from goldbench.measures.statistics.joint_calibration import Joint, joint_estimate


def joint(inner: float, outer: float, gap: float = 0.05) -> Joint:
    """Return a joint estimate of two systems whose difference has these variances."""
    normal = np.random.default_rng(0).normal(size=(2, 200_000))
    normal = (normal - normal.mean(axis=1, keepdims=True)) / normal.std(axis=1, ddof=1, keepdims=True)
    normal[1] -= normal[0] * np.cov(normal)[0, 1]
    inside = np.sqrt(inner) * normal[0]
    whole = inside + np.sqrt(outer) * normal[1]
    zeros = np.zeros_like(whole)
    means = np.array([gap, 0.0])
    return Joint(means, np.column_stack([whole, zeros]) + means, np.column_stack([inside, zeros]) + means, means, 1.0)


def test_the_work_asked_for_brings_the_variance_to_what_the_gap_needs() -> None:
    allowed = (0.05 / errors_apart()) ** 2
    found = ranking_of(joint(0.0004, 0.0001), complete=20, queries=100)
    assert found.judged_more == missing_of(20 * 0.0004 / (allowed - 0.0001), 20)
    assert found.queries_more is None
    assert (found.complete, found.delta, found.together) == (20, pytest.approx(0.05), False)
    other = ranking_of(joint(0.0001, 0.0004), complete=20, queries=100)
    assert (other.judged_more, other.queries_more) == (None, missing_of(100 * 0.0004 / (allowed - 0.0001), 100))


def test_where_neither_kind_of_work_is_enough_both_are_asked_for() -> None:
    allowed = (0.05 / errors_apart()) ** 2
    found = ranking_of(joint(0.0004, 0.0004), complete=20, queries=100)
    assert found.together
    times = 0.0008 / allowed
    assert (found.judged_more, found.queries_more) == (missing_of(20 * times, 20), missing_of(100 * times, 100))


def test_with_all_queries_judged_by_people_the_chance_is_that_of_their_scores() -> None:
    random = np.random.default_rng(3)
    human = random.normal(0, 0.2, 80) + random.normal(0, 0.15, (3, 80)) + np.array([[0.0], [0.04], [0.1]])
    judge = human + random.normal(0.2, 0.02, human.shape)
    found = ranking_of(joint_estimate(human, judge, np.empty((3, 0))), complete=80, queries=80)
    assert found.chance == pytest.approx(order_chance(moments_of(human.tolist())), abs=0.1)
