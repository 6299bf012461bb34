"""Comparisons of systems: figures by hand and by scipy, Holm by hand, verdicts."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.comparison import scorecard
from goldbench.measures.statistics.detectable import detectable_difference
from goldbench.measures.statistics.significance import TIE, compare, holm, sign_flip_p, win_tie_loss
from goldbench.records.scorecard import GoldReference, Method, Verdict

PAIR = [(0, 1)]


def made(queries: int, systems: int = 2, measures: int = 1, *, seed: int = 0) -> np.ndarray:
    """Scores as nDCG gives them: between 0 and 1, often 0."""
    draw = np.random.default_rng(seed)
    values = draw.beta(1.2, 0.9, (queries, systems, measures))
    return np.round(np.where(draw.random(values.shape) < 0.3, 0, values), 4)


QUICK = Method(missing="zero", scores="float64", permutations=999, resamples=500)


def test_holm_by_hand() -> None:
    # sorted .005 .01 .03 .04: times 4, 3, 2, 1 is .02 .03 .06 .04, and the last may not be below the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_the_figures_of_a_comparison_are_those_of_scipy_and_of_hand() -> None:
    scores = made(40, systems=2)
    found = compare(scores, ["a", "b"], ["ndcg@10"], QUICK)[0][0]
    first, second = scores[:, 0, 0], scores[:, 1, 0]
    differences = first - second
    assert found.p_t == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=1e-9)
    assert found.difference == pytest.approx(differences.mean())
    assert found.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert found.wins == (differences > 0.01).sum()
    assert found.losses == (differences < -0.01).sum()
    assert found.wins + found.ties + found.losses == 40
    assert found.low < found.difference < found.high


def test_holm_runs_over_all_pairs_and_measures_shown() -> None:
    scores = made(50, systems=3, measures=2)
    found = compare(scores, ["a", "b", "c"], ["x", "y"], QUICK)[0]
    assert len(found) == 6
    assert [c.p_holm for c in found] == pytest.approx(holm([c.p for c in found]))


def test_verdicts() -> None:
    scores = made(200, systems=4)
    scores[:, 1] = scores[:, 0] + 0.2
    scores[:, 2] = scores[:, 0]
    said = {(c.first, c.second): c.verdict for c in compare(scores, ["a", "better", "same", "other"], ["m"], QUICK)[0]}
    assert said["a", "better"] is Verdict.SECOND
    assert said["better", "same"] is Verdict.FIRST
    assert said["a", "same"] is Verdict.SAME
    assert said["a", "other"] is Verdict.NOT_SEPARABLE


def test_the_detectable_difference_after_holm_is_that_of_all_comparisons() -> None:
    found = compare(made(50, systems=3, measures=2), ["a", "b", "c"], ["x", "y"], QUICK)[0][0]
    assert found.effect_size is not None
    deviation = found.difference / found.effect_size
    assert found.detectable == pytest.approx(detectable_difference(deviation, 50))
    assert found.detectable_holm == pytest.approx(detectable_difference(deviation, 50, pairs=6))


@pytest.mark.parametrize("scores", [made(1), made(5, systems=1), made(5, measures=0), np.full((5, 2, 1), np.nan)])
def test_what_cannot_be_compared_is_refused(scores: np.ndarray) -> None:
    systems = ["a", "b"][: scores.shape[1]]
    with pytest.raises(ValueError, match="at least 2 queries"):
        compare(scores, systems, ["m"] * scores.shape[2], QUICK)


@pytest.mark.parametrize(("permutations", "is_told"), [(58, True), (59, False)])
def test_too_few_permutations_for_any_claim_are_told(permutations: int, *, is_told: bool) -> None:
    results = {
        name: Result(["q1", "q2"], {"p@1": np.full(2, level), "judged@10": np.ones(2)}, Counts(2, 0, 0, 0, 0, 0))
        for name, level in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    }
    gold = GoldReference(name="gold", sha256="0" * 64, queries=2)
    method = Method(missing="zero", scores="float64", permutations=permutations, resamples=100, seed=0, alpha=0.05)
    card = scorecard(results, ["p@1"], judged="judged@10", gold=gold, method=method, goldbench="0")
    told = [warning for warning in card.warnings if "permutations" in warning]
    assert bool(told) is is_told
    assert all("none of 3 comparisons" in one and "use 59 permutations" in one for one in told)


def exact_p(differences: np.ndarray) -> float:
    """All 2^n sign vectors, the plain way."""
    observed = abs(differences.sum())
    signs = np.array(list(itertools.product((1, -1), repeat=len(differences))))
    return float((np.abs(signs @ differences) >= observed - 1e-9).mean())


@pytest.mark.parametrize("seed", range(5))
def test_p_is_near_that_of_all_sign_vectors(seed: int) -> None:
    scores = made(12, seed=seed)
    exact = exact_p(scores[:, 0, 0] - scores[:, 1, 0])
    drawn = sign_flip_p(scores, PAIR, permutations=20_000, seed=seed)[0, 0]
    assert drawn == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 20_000) ** 0.5 + 1e-4)


def test_sums_that_only_rounding_sets_apart_are_equal() -> None:
    """Nine differences of a tenth and one of minus a tenth: all are binary fractions that differ in their last bits."""
    second = np.array([0.0, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1 / 3, 0.3])
    first = np.array([0.1, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0, 1 / 3 + 0.1, 0.2])
    exact = 2 * (1 + 10) / 2**10  # all ten of one sign, or nine
    drawn = sign_flip_p(np.stack([first, second], axis=1)[:, :, None], PAIR, permutations=100_000, seed=0)[0, 0]
    assert drawn == pytest.approx(exact, abs=0.002)


@given(st.integers(2, 60), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_p_is_in_0_to_1_and_blind_to_which_system_comes_first(queries: int, seed: int) -> None:
    scores = made(queries, seed=seed % 1000)
    one = sign_flip_p(scores, PAIR, permutations=200, seed=seed)
    other = sign_flip_p(scores[:, ::-1], PAIR, permutations=200, seed=seed)
    assert 0 < one[0, 0] <= 1
    assert one[0, 0] == other[0, 0]


def test_a_pairs_p_does_not_depend_on_the_systems_and_measures_beside_it() -> None:
    scores = made(101, systems=4, measures=3)
    alone = sign_flip_p(scores[:, [1, 3], 2:], PAIR, permutations=500, seed=3)
    together = sign_flip_p(scores, [(0, 1), (1, 3)], permutations=500, seed=3)
    assert alone[0, 0] == together[1, 2]


CODE = """
import numpy as np
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.significance import sign_flip_p
scores = np.round(np.random.default_rng(1).beta(1.2, 0.9, (300, 3, 2)), 4)
pairs = [(0, 1), (0, 2), (1, 2)]
ends = bootstrap_intervals(scores, pairs, resamples=1000, seed=8)
print(sign_flip_p(scores, pairs, permutations=1000, seed=8).tobytes().hex(), ends.difference_low.tobytes().hex())
"""


def test_the_same_seed_gives_the_same_bits_in_every_process_and_with_any_number_of_threads() -> None:
    def printed(threads: str) -> str:
        environment = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    assert printed("1") == printed("2") != ""


def test_differences_of_a_hundredth_are_wins_and_losses_whatever_rounding_does() -> None:
    differences = np.array([TIE, 0.31 - 0.30, 0.0099, 0.0, -0.0099, 0.30 - 0.31, -1.0])
    assert win_tie_loss(differences) == (2, 3, 2)
