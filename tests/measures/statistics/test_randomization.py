"""The randomization test against every sign vector there is, and against itself in other circumstances."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.measures.statistics import resamples
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.significance import sign_flip_p

PAIR = [(0, 1)]


def made(queries: int, systems: int = 2, measures: int = 1, *, seed: int = 0) -> np.ndarray:
    """Scores as nDCG gives them: between 0 and 1, often 0."""
    draw = np.random.default_rng(seed)
    values = draw.beta(1.2, 0.9, (queries, systems, measures))
    return np.round(np.where(draw.random(values.shape) < 0.3, 0, values), 4)


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


def test_a_difference_on_every_query_has_the_smallest_p_there_is() -> None:
    scores = made(200)
    scores[:, 1] = scores[:, 0] + 0.5
    assert sign_flip_p(scores, PAIR, permutations=999, seed=0)[0, 0] == 1 / 1000


def test_equal_systems_have_p_1() -> None:
    scores = made(50)
    scores[:, 1] = scores[:, 0]
    assert sign_flip_p(scores, PAIR, permutations=999, seed=0)[0, 0] == 1.0


def test_a_pairs_p_does_not_depend_on_the_systems_and_measures_beside_it() -> None:
    scores = made(101, systems=4, measures=3)
    alone = sign_flip_p(scores[:, [1, 3], 2:], PAIR, permutations=500, seed=3)
    together = sign_flip_p(scores, [(0, 1), (1, 3)], permutations=500, seed=3)
    assert alone[0, 0] == together[1, 2]


def test_p_does_not_depend_on_the_size_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = made(77, systems=3, measures=2)
    whole = sign_flip_p(scores, PAIR, permutations=333, seed=5)
    monkeypatch.setattr(resamples, "_BLOCK", 1000)
    assert (sign_flip_p(scores, PAIR, permutations=333, seed=5) == whole).all()


def test_the_order_in_which_sums_are_added_does_not_matter() -> None:
    steps = resamples.on_grid(np.random.default_rng(9).random((999, 3, 2)) ** 5).steps
    assert (steps.sum(axis=0) == steps[np.random.default_rng(0).permutation(999)].sum(axis=0)).all()


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e9, 1e300])
def test_the_grid_fits_scores_of_any_size(scale: float) -> None:
    scores = made(50) * scale
    grid = resamples.on_grid(scores)
    assert np.isfinite(grid.steps).all()
    np.testing.assert_allclose(grid.steps * grid.unit, scores, rtol=0, atol=max(scale * 1e-12, 1e-302))


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


def test_another_seed_gives_another_p() -> None:
    scores = made(60)
    assert sign_flip_p(scores, PAIR, permutations=999, seed=0) != sign_flip_p(scores, PAIR, permutations=999, seed=1)


def test_many_systems_take_no_more_room_than_some(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = made(20, systems=60, measures=4)
    pairs = list(itertools.combinations(range(60), 2))
    tracemalloc.start()
    p = sign_flip_p(scores, pairs, permutations=1000, seed=3)
    ends = bootstrap_intervals(scores, pairs, resamples=1000, seed=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 110 * 2**20
    monkeypatch.setattr(resamples, "_HELD", 2**40)
    np.testing.assert_array_equal(p, sign_flip_p(scores, pairs, permutations=1000, seed=3))
    whole = bootstrap_intervals(scores, pairs, resamples=1000, seed=3)
    np.testing.assert_array_equal(ends.difference_low, whole.difference_low)
    np.testing.assert_array_equal(ends.mean_high, whole.mean_high)
