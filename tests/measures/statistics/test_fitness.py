"""What a gold set is good for: the rules, level by level."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.stats import ttest_rel

from goldbench.measures.statistics.detectable import detectable_difference, errors_apart, queries_needed
from goldbench.measures.statistics.fitness import (
    FEWEST,
    WORTHWHILE,
    Basis,
    Fitness,
    FitnessLevel,
    Moments,
    Reason,
    fitness,
    missing_of,
    moments_of,
    order_chance,
    queries_more,
    ranking_of,
)
from goldbench.measures.statistics.joint_calibration import Joint, joint_estimate
from goldbench.measures.statistics.significance import power
from goldbench.records.calibrated import CorrectedRanking

PEOPLE = Basis("human", "people")


def scores(*means: float, queries: int = 100, noise: float = 0.1, seed: int = 0) -> list[list[float]]:
    random = np.random.default_rng(seed)
    shared = random.normal(0, 0.2, queries)
    return [(mean + shared + random.normal(0, noise, queries)).tolist() for mean in means]


def outcome(found: Fitness) -> tuple[FitnessLevel, Reason | None]:
    return found.level, found.reason


APART, CLOSE = scores(0.2, 0.4, 0.6), scores(0.40, 0.405, 0.6)


def test_people_with_systems_far_apart_rank() -> None:
    found = fitness(APART, PEOPLE)
    assert outcome(found) == (FitnessLevel.RANKS, None)
    assert found.chance is not None
    assert found.chance > 0.99
    assert (found.separated, found.pairs, found.more) == (3, 3, 0)


def test_close_systems_are_told_apart_as_far_as_they_go() -> None:
    found = fitness(CLOSE, PEOPLE)
    assert (*outcome(found), found.separated, found.pairs) == (FitnessLevel.SEPARATES, Reason.CHANCE, 2, 3)
    assert outcome(fitness(scores(0.4, 0.4), PEOPLE)) == (FitnessLevel.REGRESSIONS, Reason.CHANCE)


@pytest.mark.parametrize(
    ("basis", "expected"),
    [
        (Basis("smoke", "source"), (FitnessLevel.SMOKE, Reason.SIMULATED)),
        (Basis("smoke", "people"), (FitnessLevel.SMOKE, Reason.SIMULATED)),
        (Basis("model", "source"), (FitnessLevel.REGRESSIONS, Reason.SOURCE)),
        (Basis("human", "model"), (FitnessLevel.REGRESSIONS, Reason.MODEL)),
        (Basis("model", "people"), (FitnessLevel.RANKS, None)),
        (Basis("users", "people"), (FitnessLevel.RANKS, None)),
        (Basis(), (FitnessLevel.RANKS, None)),
    ],
)
def test_who_wrote_and_judged_limits_the_level(basis: Basis, expected: tuple[FitnessLevel, Reason | None]) -> None:
    assert outcome(fitness(APART, basis)) == expected


def test_a_model_s_labels_rank_once_people_have_judged_enough_and_the_order_is_likely() -> None:
    basis = Basis("human", "model")
    enough = CorrectedRanking(chance=0.97, complete=FEWEST, delta=WORTHWHILE)
    assert outcome(fitness(APART, basis, ranking=enough)) == (FitnessLevel.RANKS, None)
    assert outcome(
        fitness(APART, basis, ranking=CorrectedRanking(chance=0.97, complete=FEWEST - 1, delta=WORTHWHILE))
    ) == (FitnessLevel.REGRESSIONS, Reason.MODEL)
    assert outcome(fitness(APART, basis, ranking=CorrectedRanking(chance=0.94, complete=50, delta=WORTHWHILE))) == (
        FitnessLevel.REGRESSIONS,
        Reason.CHANCE,
    )
    assert outcome(fitness(APART, Basis("smoke", "model"), ranking=enough)) == (FitnessLevel.SMOKE, Reason.SIMULATED)


def test_unjudged_results_count_only_where_judgments_list_what_is_not_relevant() -> None:
    pooled = Basis("human", "people", lists_others=True)
    assert fitness(APART, PEOPLE, unjudged=[0.9, 0.2, 0.5]).level is FitnessLevel.RANKS
    assert outcome(fitness(APART, pooled, unjudged=[0.11, 0.11, 0.11])) == (FitnessLevel.REGRESSIONS, Reason.UNJUDGED)
    assert outcome(fitness(APART, pooled, unjudged=[0.0, 0.06, 0.0])) == (FitnessLevel.REGRESSIONS, Reason.UNJUDGED)
    assert fitness(APART, pooled, unjudged=[0.01, 0.05, 0.0]).level is FitnessLevel.RANKS


def test_few_queries_and_coarse_ones_serve_for_smoke_tests() -> None:
    assert outcome(fitness(scores(0.1, 0.9, queries=FEWEST - 1), PEOPLE)) == (FitnessLevel.SMOKE, Reason.FEW_QUERIES)
    assert outcome(fitness(scores(0.4, 0.5, queries=12, noise=0.5), PEOPLE)) == (FitnessLevel.SMOKE, Reason.COARSE)
    assert outcome(fitness(scores(0.1, 0.9, queries=12, noise=0.5), PEOPLE)) == (FitnessLevel.RANKS, None)
    assert outcome(fitness([[0.3]], PEOPLE)) == (FitnessLevel.SMOKE, Reason.FEW_QUERIES)
    assert outcome(fitness([[0.3], [0.9]], PEOPLE)) == (FitnessLevel.SMOKE, Reason.FEW_QUERIES)
    assert outcome(fitness([[], []], PEOPLE)) == (FitnessLevel.UNUSABLE, Reason.NOTHING_JUDGED)


def test_one_system_has_its_mean_with_student_s_interval() -> None:
    from scipy import stats

    [column] = scores(0.5, queries=30)
    found = fitness([column], PEOPLE)
    low, high = stats.t.interval(0.95, 29, np.mean(column), stats.sem(column))
    assert found.mean == pytest.approx(np.mean(column))
    assert (found.mean - found.reach, found.mean + found.reach) == pytest.approx((low, high))
    assert found.detectable == pytest.approx(detectable_difference(float(np.std(column, ddof=1)), 30))


def test_what_several_systems_show_is_what_compare_says() -> None:
    columns = scores(0.40, 0.45, 0.47, queries=60)
    found = power(np.array(columns).T)
    assert fitness(columns, PEOPLE).detectable == pytest.approx(found.detectable)
    assert fitness(scores(0.1, 0.9, queries=5), PEOPLE).detectable is None  # even equal signs are no evidence


def test_pairs_are_separated_as_by_scipy_s_t_test_after_holm() -> None:
    columns = scores(0.40, 0.42, 0.45, 0.47, queries=60)
    p = sorted(ttest_rel(columns[a], columns[b]).pvalue for a in range(4) for b in range(a))
    holm = [min(1.0, max(p[k] * (6 - k) for k in range(number + 1))) for number in range(6)]
    assert fitness(columns, PEOPLE).separated == sum(value <= 0.05 for value in holm)


def test_the_queries_asked_for_are_those_that_detect_the_narrowest_gap_after_holm() -> None:
    columns = scores(0.30, 0.36, 0.50, queries=40, seed=5)
    moments = moments_of(columns)
    more, delta = queries_more(moments, 40)
    gap = abs(moments.means[0] - moments.means[1])
    needed = queries_needed(float(np.std(np.subtract(*columns[:2]), ddof=1)), gap, pairs=3)
    assert delta == pytest.approx(gap)
    assert needed - 40 <= more <= ceil((needed - 40) / 10) * 10 + 10
    assert more > 0
    assert gap > WORTHWHILE


def chance_of_two(t: float, freedom: float) -> float:
    """Return by integration the probability that the better of two systems is better; `t` is the observed ratio."""

    def density(lost: float) -> float:
        return float(np.sqrt(lost) * np.exp(-t * t * lost / 2))

    whole = integrate.quad(density, 0, 1)[0]
    return float(
        integrate.quad(lambda lost: density(lost) * stats.t.cdf(np.sqrt(1 - lost) * t, freedom), 0, 1)[0] / whole
    )


@pytest.mark.parametrize("t", [0.3, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("freedom", [5, 50])
def test_two_systems_have_the_chance_of_the_integral(t: float, freedom: int) -> None:
    error = 0.04
    found = order_chance(Moments(np.array([t * error, 0.0]), np.eye(2) * error**2 / 2, freedom))
    assert found == pytest.approx(chance_of_two(t, freedom), abs=0.045)  # 3 standard errors of 1,000 draws


def test_the_covariance_is_that_of_numpy_with_one_query_more() -> None:
    scores = np.random.default_rng(0).random((4, 30))
    moments = moments_of(scores.tolist())
    more = np.column_stack([scores, np.full(4, scores.mean())])
    np.testing.assert_allclose(moments.means, more.mean(axis=1))
    np.testing.assert_allclose(moments.covariance, np.cov(more) / 31)
    assert moments.spread(0, 1) == pytest.approx((more[0] - more[1]).std(ddof=1) / np.sqrt(31))


def test_one_of_ten_pairs_may_be_the_wrong_way_round() -> None:
    means = np.array([0.1, 0.2, 0.3, 0.4, 0.4000001])
    sure = Moments(means, np.eye(5) * 1e-5, 1e9)
    assert order_chance(sure) > 0.99
    assert order_chance(sure, least=1.0) < 0.6


def test_systems_that_score_alike_are_in_no_order() -> None:
    assert order_chance(moments_of([[0.5] * 20, [0.5] * 20])) == 0.0
    assert order_chance(moments_of([[0.1, 0.9] * 20, [0.1, 0.9] * 20])) == 0.0
    three = moments_of([[1.0] * 30, [0.0, 0.1] * 15, [0.0, 0.1] * 15])
    assert order_chance(three) < 0.05


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
    ranking = ranking_of(joint(0.0004, 0.0001), complete=20, queries=100)
    assert ranking.judged_more == missing_of(20 * 0.0004 / (allowed - 0.0001), 20)
    assert ranking.queries_more is None
    assert (ranking.complete, ranking.delta, ranking.together) == (20, pytest.approx(0.05), False)
    other = ranking_of(joint(0.0001, 0.0004), complete=20, queries=100)
    assert (other.judged_more, other.queries_more) == (None, missing_of(100 * 0.0004 / (allowed - 0.0001), 100))


def test_where_neither_kind_of_work_is_enough_both_are_asked_for() -> None:
    allowed = (0.05 / errors_apart()) ** 2
    ranking = ranking_of(joint(0.0004, 0.0004), complete=20, queries=100)
    assert ranking.together
    times = 0.0008 / allowed
    assert (ranking.judged_more, ranking.queries_more) == (missing_of(20 * times, 20), missing_of(100 * times, 100))


def test_with_all_queries_judged_by_people_the_chance_is_that_of_their_scores() -> None:
    random = np.random.default_rng(3)
    human = random.normal(0, 0.2, 80) + random.normal(0, 0.15, (3, 80)) + np.array([[0.0], [0.04], [0.1]])
    judge = human + random.normal(0.2, 0.02, human.shape)
    ranking = ranking_of(joint_estimate(human, judge, np.empty((3, 0))), complete=80, queries=80)
    assert ranking.chance == pytest.approx(order_chance(moments_of(human.tolist())), abs=0.1)
