"""Work on items with a bound, and hand the results over in the order of the items."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def bounded(
    work: Callable[[A], Awaitable[B]],
    items: Sequence[A],
    *,
    limit: int,
    take: Callable[[B], object],
    ahead: Callable[[], int | None] | None = None,
) -> None:
    """Do the work with at most ``limit`` items under way, and hand the results over in the order of the items.

    A result is handed over as soon as it and all before it are there. The first exception ends the others and is
    raised as it is.

    Args:
        work: Works on one item.
        items: The items.
        limit: How many items are worked on at once, 1 or more.
        take: Takes each result.
        ahead: Returns how many items may be begun beyond those that were handed over: None for no limit, 0 to begin no
            other item from then on. It is asked again after each hand-over.
    """
    early: dict[int, B] = {}
    waiting = iter(enumerate(items))
    due = 0
    handed_over = asyncio.Event()

    async def worker() -> None:
        nonlocal due
        for index, item in waiting:
            while ahead is not None and (most := ahead()) is not None and index >= due + most:
                if not most:
                    return
                await handed_over.wait()
            early[index] = await work(item)
            while due in early:
                take(early.pop(due))
                due += 1
            handed_over.set()
            handed_over.clear()

    workers: list[asyncio.Future[None]] = []
    try:
        for _ in range(min(limit, len(items))):
            workers.append(asyncio.ensure_future(worker()))
            await asyncio.sleep(0)  # one at a time, so that the first call is under way while the next is prepared
        await asyncio.gather(*workers)
    finally:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
