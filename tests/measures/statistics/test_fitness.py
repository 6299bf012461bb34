"""What a gold set is good for: the rules, level by level."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from scipy.stats import ttest_rel

from goldbench.measures.statistics.detectable import detectable_difference, queries_needed
from goldbench.measures.statistics.fitness import (
    FEWEST,
    WORTHWHILE,
    Basis,
    Fitness,
    Level,
    Ranking,
    Reason,
    fitness,
    moments_of,
    queries_more,
)
from goldbench.measures.statistics.significance import power

PEOPLE = Basis("human", "people")


def scores(*means: float, queries: int = 100, noise: float = 0.1, seed: int = 0) -> list[list[float]]:
    random = np.random.default_rng(seed)
    shared = random.normal(0, 0.2, queries)
    return [(mean + shared + random.normal(0, noise, queries)).tolist() for mean in means]


def outcome(found: Fitness) -> tuple[Level, Reason | None]:
    return found.level, found.reason


APART, CLOSE = scores(0.2, 0.4, 0.6), scores(0.40, 0.405, 0.6)


def test_people_with_systems_far_apart_rank() -> None:
    found = fitness(APART, PEOPLE)
    assert outcome(found) == (Level.RANKS, None)
    assert found.chance is not None
    assert found.chance > 0.99
    assert (found.separated, found.pairs, found.more) == (3, 3, 0)


def test_close_systems_are_told_apart_as_far_as_they_go() -> None:
    found = fitness(CLOSE, PEOPLE)
    assert (*outcome(found), found.separated, found.pairs) == (Level.SEPARATES, Reason.CHANCE, 2, 3)
    assert outcome(fitness(scores(0.4, 0.4), PEOPLE)) == (Level.REGRESSIONS, Reason.CHANCE)


@pytest.mark.parametrize(
    ("basis", "expected"),
    [
        (Basis("smoke", "source"), (Level.SMOKE, Reason.SIMULATED)),
        (Basis("smoke", "people"), (Level.SMOKE, Reason.SIMULATED)),
        (Basis("model", "source"), (Level.REGRESSIONS, Reason.SOURCE)),
        (Basis("human", "model"), (Level.REGRESSIONS, Reason.MODEL)),
        (Basis("model", "people"), (Level.RANKS, None)),
        (Basis("users", "people"), (Level.RANKS, None)),
        (Basis(), (Level.RANKS, None)),
    ],
)
def test_who_wrote_and_judged_limits_the_level(basis: Basis, expected: tuple[Level, Reason | None]) -> None:
    assert outcome(fitness(APART, basis)) == expected


def test_a_model_s_labels_rank_once_people_have_judged_enough_and_the_order_is_likely() -> None:
    basis = Basis("human", "model")
    enough = Ranking(0.97, FEWEST)
    assert outcome(fitness(APART, basis, ranking=enough)) == (Level.RANKS, None)
    assert outcome(fitness(APART, basis, ranking=Ranking(0.97, FEWEST - 1))) == (Level.REGRESSIONS, Reason.MODEL)
    assert outcome(fitness(APART, basis, ranking=Ranking(0.94, 50))) == (Level.REGRESSIONS, Reason.CHANCE)
    assert outcome(fitness(APART, Basis("smoke", "model"), ranking=enough)) == (Level.SMOKE, Reason.SIMULATED)


def test_unjudged_results_count_only_where_judgments_list_what_is_not_relevant() -> None:
    pooled = Basis("human", "people", lists_others=True)
    assert fitness(APART, PEOPLE, unjudged=[0.9, 0.2, 0.5]).level is Level.RANKS
    assert outcome(fitness(APART, pooled, unjudged=[0.11, 0.11, 0.11])) == (Level.REGRESSIONS, Reason.UNJUDGED)
    assert outcome(fitness(APART, pooled, unjudged=[0.0, 0.06, 0.0])) == (Level.REGRESSIONS, Reason.UNJUDGED)
    assert fitness(APART, pooled, unjudged=[0.01, 0.05, 0.0]).level is Level.RANKS


def test_few_queries_and_coarse_ones_serve_for_smoke_tests() -> None:
    assert outcome(fitness(scores(0.1, 0.9, queries=FEWEST - 1), PEOPLE)) == (Level.SMOKE, Reason.FEW_QUERIES)
    assert outcome(fitness(scores(0.4, 0.5, queries=12, noise=0.5), PEOPLE)) == (Level.SMOKE, Reason.COARSE)
    assert outcome(fitness(scores(0.1, 0.9, queries=12, noise=0.5), PEOPLE)) == (Level.RANKS, None)
    assert outcome(fitness([[0.3]], PEOPLE)) == (Level.SMOKE, Reason.FEW_QUERIES)
    assert outcome(fitness([[0.3], [0.9]], PEOPLE)) == (Level.SMOKE, Reason.FEW_QUERIES)
    assert outcome(fitness([[], []], PEOPLE)) == (Level.UNUSABLE, Reason.NOTHING_JUDGED)


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
    holm = [min(1.0, max(p[k] * (6 - k) for k in range(place + 1))) for place in range(6)]
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
