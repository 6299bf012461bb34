"""Show the reading of records and the calls under way; nothing depends on it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from goldbench.llm.limits import Snapshot
from goldbench.ports import Progress, Step

LOOK_S = 0.5
"""Seconds between two updates on the calls under way."""
PACE_KNOWN_S = 20.0
"""Seconds after which the pace of the answers tells how long the rest takes; calls at once grow by doubling."""
WORTH_A_FORECAST = 2
"""Minutes from which a person is told how long it takes."""

T = TypeVar("T")


class CallTraffic(Protocol):
    """What `calls_shown` needs of who calls a model; see ``goldbench.generate.writers.OpenWriter``."""

    @property
    def traffic(self) -> Callable[[], Snapshot] | None:
        """The calls under way, or None if there are none to wait for."""

    @property
    def patience_s(self) -> float:
        """After how many seconds a call is named."""


def counted(items: Iterable[T], step: Step) -> Iterator[T]:
    """Yield the items and advance the progress bar."""
    for item in items:
        yield item
        step.advance(1)


@contextlib.asynccontextmanager
async def calls_shown(
    writing: CallTraffic, step: Step, progress: Progress, *, calls: int = 0, unit: str = "calls"
) -> AsyncIterator[None]:
    """Show the calls to the model while the block runs, and name those that take too long.

    Args:
        writing: Calls the model.
        step: The step that shows the calls.
        progress: Takes the names of slow calls, and a forecast after 20 seconds, once a call is answered.
        calls: About how many calls the block makes, 0 for no forecast.
        unit: What a call gives, in the plural.
    """
    if writing.traffic is None:
        yield
        return
    watcher = asyncio.create_task(_watch(writing, step, progress, calls, unit))
    try:
        yield
    finally:
        watcher.cancel()
        step.tell("")


async def _watch(writing: CallTraffic, step: Step, progress: Progress, calls: int, unit: str) -> None:
    assert writing.traffic
    begun = time.monotonic()
    named_at = -writing.patience_s
    while True:
        await asyncio.sleep(LOOK_S)
        traffic = writing.traffic()
        step.tell(traffic.line())
        speed = traffic.speed
        elapsed_s = time.monotonic() - begun
        if calls and speed is not None and elapsed_s >= PACE_KNOWN_S:
            pace_s = elapsed_s / speed.calls
            minutes = round(calls * pace_s / 60)
            if minutes >= WORTH_A_FORECAST:
                progress.note(f"An answer comes every {pace_s:.1f} s: {calls:,} {unit} take about {minutes:,} min.")
            calls = 0
        stall = traffic.stall(writing.patience_s)
        if stall and time.monotonic() - named_at >= writing.patience_s:
            named_at = time.monotonic()
            progress.note(stall)
