"""Agreement against scikit-learn, scipy and the package krippendorff."""

from __future__ import annotations

import math

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from goldbench.measures.statistics import agreement as kappa
from goldbench.measures.statistics.agreement import estimates, pair_figures, raters_alpha
from goldbench.measures.statistics.shares import wilson

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def table_of(pairs: list[tuple[int, int]], size: int = 4) -> np.ndarray:
    table = np.zeros((size, size))
    for one, other in pairs:
        table[one, other] += 1
    return table


@settings(max_examples=30)
@given(PAIRS)
@pytest.mark.parametrize(
    ("ours", "weights"),
    [(kappa.cohen_kappa, None), (kappa.linear_kappa, "linear"), (kappa.quadratic_kappa, "quadratic")],
)
def test_kappa_is_that_of_scikit_learn(ours, weights, pairs: list[tuple[int, int]]) -> None:
    assume(len({grade for pair in pairs for grade in pair}) > 1)
    one, other = zip(*pairs, strict=True)
    theirs = cohen_kappa_score(one, other, weights=weights, labels=[0, 1, 2, 3])
    assert ours(table_of(pairs)) == pytest.approx(theirs, abs=1e-12)


@settings(max_examples=30)
@given(PAIRS, st.integers(1, 3))
def test_binary_kappa_is_that_of_the_grades_cut_in_two(pairs: list[tuple[int, int]], level: int) -> None:
    one, other = ([grade >= level for grade in side] for side in zip(*pairs, strict=True))
    assume(len({*one, *other}) > 1)
    ours = kappa.cohen_kappa(kappa.binary(table_of(pairs), level))
    assert ours == pytest.approx(cohen_kappa_score(one, other), abs=1e-12)


@settings(max_examples=30)
@given(PAIRS)
def test_alpha_of_two_is_that_of_the_package(pairs: list[tuple[int, int]]) -> None:
    assume(len({grade for pair in pairs for grade in pair}) > 1)
    ours = kappa.ordinal_alpha(kappa.coincidences(table_of(pairs)))
    theirs = krippendorff.alpha(np.array(pairs, float).T, level_of_measurement="ordinal")
    assert ours == pytest.approx(theirs, abs=1e-9)


RATED = st.lists(st.lists(st.none() | st.integers(0, 3), min_size=4, max_size=4), min_size=2, max_size=20)


@settings(max_examples=30)
@given(RATED)
def test_alpha_of_many_with_gaps_is_that_of_the_package(rows: list[list[int | None]]) -> None:
    shared = [row for row in rows if sum(grade is not None for grade in row) > 1]
    assume(len({grade for row in shared for grade in row if grade is not None}) > 1)
    counts = np.array([[sum(grade == value for grade in row) for value in range(4)] for row in rows], float)
    table = np.array([[math.nan if grade is None else grade for grade in row] for row in rows]).T
    theirs = krippendorff.alpha(table, level_of_measurement="ordinal", value_domain=[0, 1, 2, 3])
    found = raters_alpha(counts, [row % 3 for row in range(len(rows))], 3, resamples=100, seed=0)
    assert found.value == pytest.approx(theirs, abs=1e-9)
    again = kappa.ordinal_alpha(kappa.unit_coincidences(counts).sum(axis=0))
    assert again == pytest.approx(theirs, abs=1e-9)


@settings(max_examples=30)
@given(st.integers(1, 200), st.data())
def test_the_interval_of_a_share_is_that_of_scipy(trials: int, data) -> None:
    successes = data.draw(st.integers(0, trials))
    theirs = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert wilson(successes, trials) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_one_and_the_same_grade_leaves_kappa_absent_with_its_reason() -> None:
    tables = np.array([table_of([(2, 2), (2, 2)])])
    found = pair_figures(tables, tables, level=2, resamples=100, seed=0)
    assert found.exact.value == 1
    assert found.kappa.value is None
    assert "one and the same grade" in (found.kappa.reason or "")
    assert found.kappa_binary.reason == "no grade is below 2, in either"
    assert found.alpha.value is None


def test_the_bootstrap_draws_queries_and_not_pairs() -> None:
    same = np.array([table_of([(0, 0), (3, 3), (1, 2)])] * 30)
    constant = estimates(same, {"kappa": kappa.cohen_kappa}, resamples=200, seed=0)["kappa"]
    assert constant.low == pytest.approx(constant.value)
    assert constant.high == pytest.approx(constant.value)
    mixed = np.array([table_of([(0, 0)] * 5), table_of([(0, 3)] * 5), table_of([(3, 3)] * 5)] * 5)
    spread = estimates(mixed, {"exact": kappa.exact}, resamples=200, seed=0)["exact"]
    assert spread.low is not None
    assert spread.high is not None
    assert spread.low < 0.55 < 0.8 < spread.high


def test_the_interval_is_that_of_resampling_queries_one_by_one() -> None:
    draw = np.random.default_rng(5)
    sizes = draw.integers(3, 9, 60)
    tables = np.array([table_of([tuple(draw.integers(0, 4, 2)) for _ in range(size)]) for size in sizes])
    ours = estimates(tables, {"kappa": kappa.cohen_kappa}, resamples=4000, seed=0)["kappa"]
    plain = [kappa.cohen_kappa(tables[draw.integers(0, 60, 60)].sum(axis=0)) for _ in range(2000)]
    assert (ours.low, ours.high) == pytest.approx(np.percentile(plain, [2.5, 97.5]), abs=0.02)


def test_a_grade_is_worth_the_share_of_its_pairs_that_are_relevant() -> None:
    tables = np.array([table_of([(3, 3), (1, 3), (2, 3), (0, 1)])])
    found = pair_figures(tables, tables, level=2, resamples=100, seed=0).relevant_by_grade[3]
    assert (found.pairs, found.relevant) == (3, 2)
    assert found.share.value == pytest.approx(2 / 3)
    assert (found.share.low, found.share.high) == (None, None), "one query says nothing of others"


def _sampled(draw: np.random.Generator) -> tuple[list[tuple[int, int, int]], float]:
    """Return pairs of 40 queries, drawn unequally often: query, people's grade, and whether rare; and the true share.

    The judge grades all of them 3. A tenth of the rare ones and nine tenths of the others are relevant.
    """
    rare = draw.random((40, 30)) < 0.5
    relevant = draw.random(rare.shape) < np.where(rare, 0.1, 0.9)
    drawn = draw.random(rare.shape) < np.where(rare, _RARE, _OFTEN)
    pairs = [(query, 3 * int(relevant[query, at]), int(rare[query, at])) for query, at in np.argwhere(drawn)]
    return pairs, float(relevant.mean())


_RARE, _OFTEN = 0.1, 0.4


def test_the_weighted_worth_of_a_grade_is_without_bias_where_pairs_are_drawn_unequally() -> None:
    draw = np.random.default_rng(3)
    errors, plain, held = [], [], 0
    for _ in range(200):
        pairs, truth = _sampled(draw)
        tables, counts, squares = np.zeros((3, 40, 4, 4))
        for query, grade, rare in pairs:
            weight = 1 / (_RARE if rare else _OFTEN)
            for table, value in ((tables, weight), (counts, 1.0), (squares, weight**2)):
                table[query, grade, 3] += value
        asked = counts.sum(axis=(1, 2)) > 0
        tables, counts, squares = tables[asked], counts[asked], squares[asked]
        found = pair_figures(tables, counts, level=2, resamples=100, seed=0, squares=squares).relevant_by_grade[3]
        assert found.share.value is not None
        assert found.share.low is not None
        assert found.share.high is not None
        errors.append(found.share.value - truth)
        plain.append(found.relevant / found.pairs - truth)
        held += found.share.low <= 0.5 <= found.share.high
    assert abs(np.mean(errors)) < 3 * np.std(errors) / np.sqrt(200) + 0.003
    assert np.mean(plain) > 0.1, "counted alike, the share is far too high"
    assert held >= 0.9 * 200, "the interval knows that few rare pairs stand for many"


def test_equal_weights_of_any_size_give_the_figures_of_no_weights() -> None:
    counts = np.random.default_rng(1).integers(0, 5, (15, 4, 4)).astype(float)
    plain = pair_figures(counts, counts, level=2, resamples=100, seed=0)
    found = pair_figures(0.7 * counts, counts, level=2, resamples=100, seed=0, squares=0.49 * counts)
    assert found.effective_pairs == pytest.approx(plain.pairs)
    for one, other in zip(found.relevant_by_grade, plain.relevant_by_grade, strict=True):
        assert (one.share.value, one.share.low, one.share.high) == pytest.approx(
            (other.share.value, other.share.low, other.share.high)
        )
