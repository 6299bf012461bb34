"""The arithmetic of the card against scipy and plain definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon

from goldbench.card.label_figures import hole_rate
from goldbench.measures.statistics.shares import jensen_shannon
from goldbench.measures.statistics.significance import power


@settings(max_examples=30)
@given(*[st.lists(st.integers(0, 6), min_size=1, max_size=30)] * 2)
def test_divergence_is_the_square_of_scipys_distance(one: list[int], other: list[int]) -> None:
    first, second = Counter(one), Counter(other)
    expected = jensenshannon([first[v] for v in range(7)], [second[v] for v in range(7)], base=2) ** 2
    assert jensen_shannon(first, second) == pytest.approx(expected, abs=1e-9)


def test_holes_are_what_nobody_judged_among_the_first() -> None:
    ranked = {"q1": ["a", "b", "c", "d"], "q2": ["x"], "q3": [], "q4": ["a"]}
    judged = {"q1": {"a", "d"}, "q2": {"y"}, "q3": {"a"}}
    assert hole_rate(ranked, judged, depth=2) == pytest.approx((1 / 2 + 1) / 2)
    assert hole_rate({}, judged) is None


def test_power_separates_what_differs_and_nothing_else() -> None:
    draw = np.random.default_rng(0)
    base = draw.random(200)
    scores = np.stack([base, base + 0.02 * draw.normal(size=200), base + 0.3 + 0.1 * draw.normal(size=200)], axis=1)
    found = power(scores)
    assert (found.pairs, found.separated) == (3, 2)
    deviations = [np.std(scores[:, a] - scores[:, b], ddof=1) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert found.detectable == pytest.approx(
        2.8154 * np.median(deviations) / np.sqrt(200), rel=1e-4
    )  # nct, 199 degrees
