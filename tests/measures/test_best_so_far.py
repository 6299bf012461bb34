"""The best documents of scores that come block by block, against sorting all of them."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.ranks.best_so_far import BestSoFar


@pytest.mark.parametrize(("k", "block"), [(1, 1), (3, 7), (10, 100), (500, 64)])
def test_they_are_the_first_of_all_scores_sorted(k: int, block: int) -> None:
    scores = np.random.default_rng(k).integers(0, 6, (5, 300)) / 4.0  # many equal ones, some 0
    found = BestSoFar(len(scores), k)
    for start in range(0, scores.shape[1], block):
        found.add(scores[:, start : start + block], start)
    for (places, values), row in zip(found, scores.tolist(), strict=True):
        expected = sorted((-score, place) for place, score in enumerate(row) if score)[:k]
        assert [(-value, place) for value, place in zip(values.tolist(), places.tolist(), strict=True)] == expected


def test_a_query_without_a_result_has_none() -> None:
    found = BestSoFar(2, 3)
    found.add(np.array([[0.0, 0.0], [0.0, 1.0]]), 0)
    assert [places.tolist() for places, _ in found] == [[], [1]]
