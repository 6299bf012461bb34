"""Asynchronous work from synchronous code: in a thread with an event loop of its own, whatever loop runs in the caller.

A notebook's cell runs inside a loop, where ``asyncio.run`` is refused. An interrupt reaches the caller, who waits; it
ends the work at its next call or its next item, and the work cleans up before the interrupt goes on. Where
``asyncio.run`` takes the interrupt itself, it only cancels the caller's task, which is looked for while waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import wait
from threading import Event
from typing import TypeVar

from goldbench.api.keywords import in_python
from goldbench.ports import Progress, Step
from goldbench.retrieval.user_calls import raise_if_cancelled

T = TypeVar("T")

_LOOK_S = 0.2
"""Seconds between two looks for an interrupt."""


def run_apart(work: Callable[[Progress], Awaitable[T]], progress: Progress) -> T:
    """Do asynchronous work in a thread of its own and return its result, or raise its error.

    Args:
        work: Takes the progress to report to.
        progress: Shows the progress to a person.

    Raises:
        KeyboardInterrupt: The work was interrupted, and has cleaned up.
        CancelledError: The task of the caller was cancelled, and the work has cleaned up.
    """
    from anyio.from_thread import start_blocking_portal

    stop = Event()
    with start_blocking_portal() as portal:
        future = portal.start_task_soon(work, _Interruptible(progress, stop))
        try:
            while not wait([future], timeout=_LOOK_S).done:
                raise_if_cancelled()
        except BaseException:
            stop.set()
            future.cancel()
            raise
        return future.result()


class _Interruptible:
    """A progress that ends the work at its next item once ``stop`` is set: whole stages never wait for anything."""

    def __init__(self, progress: Progress, stop: Event) -> None:
        self._progress = progress
        self._stop = stop

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Step]:
        with self._progress.stage(name, total) as step:
            yield _InterruptibleStep(step, self._stop)

    def note(self, line: str) -> None:
        self._progress.note(in_python(line))


class _InterruptibleStep:
    def __init__(self, step: Step, stop: Event) -> None:
        self._step = step
        self._stop = stop

    def advance(self, count: int) -> None:
        if self._stop.is_set():
            raise asyncio.CancelledError
        self._step.advance(count)

    def tell(self, line: str) -> None:
        self._step.tell(line)
