"""The randomization test against every sign vector there is, and against itself in other circumstances."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
