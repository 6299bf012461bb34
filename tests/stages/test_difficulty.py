"""The level of a query follows from ranks and the number of needed passages by one rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.records.query import Level
from goldbench.stages.difficulty import difficulty_of, level_of, worst_rank

RANKS = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.none() | st.integers(1, 100), min_size=1)


@pytest.mark.parametrize(
    ("ranks", "needed", "level"),
    [
        ({"bm25": 1, "bm25-ngrams": 1}, 1, "easy"),
        ({"bm25": 1, "bm25-ngrams": 2}, 1, "medium"),
        ({"bm25": 10, "bm25-ngrams": None}, 1, "medium"),
        ({"bm25": 11, "bm25-ngrams": None}, 1, "hard"),
        ({"bm25": 2, "bm25-ngrams": 2}, 2, "medium"),
    ],
)
def test_the_level_follows_from_ranks_and_needed_passages(
    ranks: dict[str, int | None], needed: int, level: str
) -> None:
    assert level_of(ranks, needed) == level


@given(RANKS, st.integers(1, 3), st.data())
def test_a_better_rank_never_makes_a_query_harder(
    ranks: dict[str, int | None], needed: int, data: st.DataObject
) -> None:
    order = list(Level)
    name = data.draw(st.sampled_from(sorted(ranks)))
    better = {**ranks, name: data.draw(st.integers(1, ranks[name] or 100))}
    assert order.index(level_of(better, needed)) <= order.index(level_of(ranks, needed))


def test_the_worst_placed_passage_counts_and_a_near_duplicate_stands_in_for_one() -> None:
    ranks = {"x": 1, "copy of a": 2, "b": 3, "a": 4}
    assert worst_rank(ranks, [{"a", "copy of a"}]) == 2
    assert worst_rank(ranks, [{"a", "copy of a"}, {"b"}]) == 3
    assert worst_rank(ranks, [{"b"}, {"missing"}]) is None
    difficulty = difficulty_of({"bm25": ranks, "other": {}}, [{"x"}, {"b"}])
    assert (difficulty.level, difficulty.ranks, difficulty.needed) == (Level.MEDIUM, {"bm25": 3, "other": None}, 2)
