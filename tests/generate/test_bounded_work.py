"""Work with a bound: what is begun before earlier results are there, and when nothing else is begun."""

from __future__ import annotations

import asyncio

from goldbench.generate.bounded_work import bounded


def begun_before_each_result(count: int, allowed: list[int | None]) -> tuple[list[int], list[int]]:
    """Return the items that were taken, and how many were begun when each of them was.

    Args:
        count: How many items there are.
        allowed: How many may be begun beyond the results, before the first result and after each.
    """
    begun: list[int] = []
    taken: list[int] = []
    seen: list[int] = []

    async def work(item: int) -> int:
        begun.append(item)
        for _ in range(100 * (item + 1)):  # rounds of the loop, which no other process makes longer or shorter
            await asyncio.sleep(0)
        return item

    def take(item: int) -> None:
        seen.append(len(begun))
        taken.append(item)

    def ahead() -> int | None:
        return allowed[min(len(taken), len(allowed) - 1)]

    asyncio.run(bounded(work, range(count), limit=64, take=take, ahead=ahead))
    return taken, seen


def test_no_more_is_begun_than_may_be_ahead_of_the_results() -> None:
    taken, seen = begun_before_each_result(8, [2])
    assert taken == list(range(8))
    assert all(begun <= place + 2 for place, begun in enumerate(seen))


def test_everything_is_begun_with_the_first_result_that_allows_it() -> None:
    taken, seen = begun_before_each_result(30, [5, None])
    assert taken == list(range(30))
    assert seen[0] == 5
    assert seen[5] == 30


def test_nothing_else_is_begun_once_nothing_is_allowed() -> None:
    taken, _ = begun_before_each_result(30, [3, 2, 1, 0])
    assert taken == [0, 1, 2]
