"""Which part a query goes to: exact numbers, linked queries together, and few moves when a query joins."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from goldbench.stages.allotment import Group, allot, exact_numbers, linked
from goldbench.text.draws import number_of

SHARES = [Fraction(3, 10), Fraction(7, 10)]


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.integers(0, 500))
def test_numbers_follow_the_largest_remainder(weights: list[int], total: int) -> None:
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    numbers = exact_numbers(total, shares)
    assert sum(numbers) == total
    assert all(abs(number - total * share) < 1 for number, share in zip(numbers, shares, strict=True))
    up = [total * share - number for number, share in zip(numbers, shares, strict=True) if number < total * share]
    down = [number - total * share for number, share in zip(numbers, shares, strict=True) if number > total * share]
    assert not up or not down or max(up) <= 1 - max(down), "a smaller remainder was rounded up"


@given(st.lists(st.integers(1, 4), min_size=1, max_size=9), st.integers(0, 12))
def test_a_part_gets_the_nearest_number_that_groups_allow(sizes: list[int], wanted: int) -> None:
    wanted = min(wanted, sum(sizes))
    groups = [Group((place,), size) for place, size in enumerate(sizes)]
    parts = allot(groups, [wanted, sum(sizes) - wanted])
    here = sum(size for size, part in zip(sizes, parts, strict=True) if part == 0)
    sums = {sum(some) for count in range(len(sizes) + 1) for some in combinations(sizes, count)}
    assert abs(here - wanted) == min(abs(one - wanted) for one in sums)


def test_a_query_that_joins_moves_few_others() -> None:
    many = 50
    names = sorted((number_of("split", 0, f"query {one}"), one) for one in range(many))

    def divided(order: list[tuple[int, int]]) -> dict[int, int]:
        parts = allot([Group((one,), 1) for _, one in order], exact_numbers(len(order), SHARES))
        return {one: part for (_, one), part in zip(order, parts, strict=True)}

    before = divided(names)
    for added in range(many, many + 20):
        after = divided(sorted([*names, (number_of("split", 0, f"query {added}"), added)]))
        assert sum(after[one] != part for one, part in before.items()) <= 1


def test_items_that_share_a_key_through_others_are_one_group() -> None:
    assert linked([{"a"}, {"b"}, {"c"}, {"a", "c"}, ()]) == [[0, 2, 3], [1], [4]]
