"""Running the coroutine of a command, which an interrupt ends without harm to the event loop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from types import FrameType
from typing import Any, TypeVar

from goldbench.cli.process import SIGNALS, put_off

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, as ``asyncio.run`` does; from the main thread.

    Raises:
        KeyboardInterrupt: A signal ended it, and it has cleaned up.
    """
    interrupt = _Interrupt()
    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        watched = interrupt.watching(work)
        try:
            found = asyncio.run(watched)
        finally:
            watched.close()  # or one that never began is told as an error
            work.close()
    except asyncio.CancelledError:
        if not interrupt.came:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if interrupt.came else handler)
    if interrupt.came:  # also if the work had ended, or went on in spite of it
        raise KeyboardInterrupt
    return found


class _Interrupt:
    """Handles signals: ends the task of the command; later ones are ignored, so that they do not disturb its clean-up.

    An exception in another task, or in the event loop between two, would be printed, or lose a step for which the loop
    then waits for ever. In the command's own task it is raised at once: whole stages wait for nothing.
    """

    def __init__(self) -> None:
        self.came = False
        self._task: asyncio.Task[Any] | None = None

    async def watching(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work returns."""
        self._task = asyncio.current_task()
        return await work

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.came or put_off(number, frame):
            return
        self.came = True
        if self._task is None or self._task.done() or asyncio.current_task(self._task.get_loop()) is self._task:
            raise KeyboardInterrupt
        self._task.cancel()
        self._task.get_loop().call_soon_threadsafe(lambda: None)  # wakes it
