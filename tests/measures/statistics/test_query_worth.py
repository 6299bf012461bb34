"""The worth of a set in real queries: simulations that know the truth, and what it does at the edges."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from goldbench.measures.statistics.query_worth import query_worth

Floats = npt.NDArray[np.float64]
SYSTEMS = 8


def values(draw: np.random.Generator, level: Floats, queries: int) -> Floats:
    """Return values of systems on queries like real ones, shape (queries, systems)."""
    return np.asarray(level + draw.normal(0, 0.2, (queries, 1)) + draw.normal(0, 0.15, (queries, len(level))))


def level_of(draw: np.random.Generator) -> Floats:
    return np.asarray(draw.normal(0.5, 0.06, SYSTEMS))


def test_a_set_of_real_queries_is_worth_about_its_own_number() -> None:
    estimates, held = [], []
    for number in range(60):
        draw = np.random.default_rng([1, number])
        level = level_of(draw)
        found = query_worth(values(draw, level, 60), values(draw, level, 15), seed=number)
        estimates.append(found.queries)
        held.append(found.low <= 15 <= found.high)
    assert 8 < np.median(estimates) < 28
    assert np.mean(held) >= 0.8  # a single set of 15 is luckier or less lucky than the mean of such sets


def test_a_set_with_errors_of_its_own_is_worth_few_however_large() -> None:
    found = []
    for number in range(20):
        draw = np.random.default_rng([2, number])
        level = level_of(draw)
        others = values(draw, level, 2_000) + draw.normal(0, 0.08, SYSTEMS)
        found.append(query_worth(values(draw, level, 100), others).queries)
    assert np.median(found) < 10


def test_a_set_without_relation_is_worth_less_than_one_query() -> None:
    draw = np.random.default_rng(3)
    level = level_of(draw)
    found = query_worth(values(draw, level, 100), values(draw, -level, 100))
    assert found.queries == found.low == 0
    assert found.tau < 0


def test_a_set_that_orders_the_systems_rightly_is_open_above_and_more_real_queries_raise_its_lower_end() -> None:
    draw = np.random.default_rng(4)
    level = np.linspace(0.3, 0.7, SYSTEMS)
    real, others = values(draw, level, 200), values(draw, level, 5_000)
    few, many = query_worth(real[:20], others), query_worth(real, others)
    assert few.high == many.high == np.inf
    assert few.low < many.low


@pytest.mark.parametrize(
    ("real", "others"), [((19, 8), (5, 8)), ((20, 3), (5, 3)), ((20, 8), (5, 7)), ((20, 8), (0, 8))], ids=str
)
def test_too_few_queries_or_systems_are_refused(real: tuple[int, int], others: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="takes 20 real queries"):
        query_worth(np.ones(real), np.ones(others))
