"""The process of a command: its streams and signals, and one line and an exit code for every expected error."""

from __future__ import annotations

import _thread
import asyncio
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import typer

from goldbench.errors import INTERRUPTED, NOT_DONE, GoldbenchError
from goldbench.text.display import one_line

T = TypeVar("T")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""The signals that end a command in an orderly way."""
GO_ON = "run the same command again to continue"

_CLOSED = 141
"""The exit code where a reader closed the output, as ``head`` does: what a shell tells of other programs."""
_MOMENT_S = 0.01
"""Seconds after which a signal is sent again."""


class Interrupted(Exception):
    """The user ended the command; the message says how to go on."""


def main() -> None:
    """Run the command line; every expected error is one line and an exit code."""
    _prepare()
    try:
        code = _run()
        if code == INTERRUPTED:  # typer's own word for a KeyboardInterrupt
            code = _failed(f"interrupted; {GO_ON}", INTERRUPTED)
    except (KeyboardInterrupt, typer.Abort):
        code = _failed(f"interrupted; {GO_ON}", INTERRUPTED)
    except Interrupted as stop:
        code = _failed(f"interrupted; {stop}", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _CLOSED
    except OSError as error:
        reason = (error.strerror or "closed").lower()
        code = _failed(f"output cannot be written ({reason}); check free space and permissions", NOT_DONE)
    except GoldbenchError as error:
        code = _failed(str(error), error.exit_code)
    except Exception as error:  # noqa: BLE001  the last resort: one line instead of a traceback
        code = _unexpected(error)
    sys.exit(code)


def _run() -> int | None:
    """Run a command, and return its exit code."""
    from goldbench.cli.app import command_line

    try:
        code: int | None = command_line()(standalone_mode=False)
    except SystemExit as end:  # typer's own: 1 where the reader closed the output, 0 after a completion script
        return _CLOSED if end.code == 1 else 0
    return code


def _failed(problem: str, code: int) -> int:
    """Print one line on standard error, and return the exit code."""
    print(f"goldbench: {one_line(problem)}", file=sys.stderr)
    return code


def _prepare() -> None:
    for number in SIGNALS:
        signal.signal(number, _interrupt)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no «−» shows a question mark
            if not stream.isatty() and "PYTHONIOENCODING" not in os.environ:
                stream.reconfigure(encoding="utf-8")  # as every file; Windows would choose its code page


def _put_off(number: int, frame: FrameType | None) -> bool:
    """Send a signal again a moment later if it falls into a finalizer, in which Python drops exceptions.

    Args:
        number: The signal.
        frame: Where it falls.

    Returns:
        Whether it is sent again.
    """
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    if frame is not None:
        threading.Timer(_MOMENT_S, _thread.interrupt_main, (number,)).start()
    return frame is not None


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End at once: the event loop's own handler waits for the next await, and whole stages have none.

    Further signals are ignored, so that they do not interrupt the clean-up.
    """
    if _put_off(number, frame):
        return
    for ignored in SIGNALS:
        signal.signal(ignored, signal.SIG_IGN)
    raise KeyboardInterrupt


def _unexpected(error: Exception) -> int:
    """Print one line for an unforeseen error; those of typer and of prompt files keep their message."""
    from goldbench.prompts.loader import PromptError  # slow to import

    if isinstance(error, PromptError):
        return _failed(str(error), NOT_DONE)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error, file=sys.stderr)
        return NOT_DONE
    if hasattr(error, "format_message"):  # a usage error of typer, which keeps its classes to itself
        path = getattr(getattr(error, "ctx", None), "command_path", "goldbench")
        problem = error.format_message().replace("Value error, ", "").rstrip(".")
        return _failed(f"{problem} (see {path} --help)", NOT_DONE)
    if os.environ.get("GOLDBENCH_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    return _failed(
        f"internal error: {type(error).__name__} at {Path(last.filename).name}:{last.lineno}. "
        "Set GOLDBENCH_DEBUG=1 to see the traceback, and report it.",
        NOT_DONE,
    )


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what a coroutine returns, as ``asyncio.run`` does; from the main thread.

    Raises:
        KeyboardInterrupt: A signal ended it, and it has cleaned up.
    """
    interrupt = _TaskInterrupt()
    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        watched = interrupt.watching(work)
        try:
            result = asyncio.run(watched)
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
    return result


class _TaskInterrupt:
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
        if self.came or _put_off(number, frame):
            return
        self.came = True
        if self._task is None or self._task.done() or asyncio.current_task(self._task.get_loop()) is self._task:
            raise KeyboardInterrupt
        self._task.cancel()
        self._task.get_loop().call_soon_threadsafe(lambda: None)  # wakes it
