"""Calls to the user's code, which may raise any error or never return: in a thread of their own, under a time limit."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextvars import copy_context
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeAlias

from goldbench.errors import GoldbenchError, RetrieverFailed
from goldbench.text.display import one_line, shown

Call: TypeAlias = "tuple[Callable[[], Any], Future[Any]]"

_LOOK_S = 0.2
"""Seconds between two looks for an interrupt: one inside ``asyncio.run`` only marks the task that waits."""
_PACKAGE = str(Path(__file__).parents[1])
_LIBRARIES = (
    "<frozen",
    _PACKAGE,
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
)
"""Where the code lies that the user did not write."""


class CallThread:
    """A thread for calls, one after the other, each under a time limit.

    All calls share one event loop, so that an asynchronous client may keep its connections, and the context variables
    of the caller. A call that does not come back is left behind in the thread, and later calls are refused.
    """

    def __init__(self, *, quotes_errors: bool = True) -> None:
        """Store whether the messages of errors are shown, which may quote a text or a key."""
        self._quotes_errors = quotes_errors
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._hangs = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def call(self, work: Callable[[], Any], *, within_s: float, what: str = "") -> Any:  # noqa: ANN401
        """Return what a call returns, awaited if it can be.

        Args:
            work: The call.
            within_s: Seconds that it may take.
            what: The kind of call for messages, as `` while indexing``.

        Raises:
            RetrieverFailed: The call raised an error, or did not return in time.
        """
        if self._hangs:
            raise RetrieverFailed("does not come back from an earlier query")
        if self._thread is None:
            run = copy_context().run
            self._thread = threading.Thread(target=run, args=(self._work,), name="goldbench system", daemon=True)
            self._thread.start()
        future: Future[Any] = Future()
        self._calls.put((work, future))
        self._hangs = True  # until it answers: an interrupt must not wait for it either
        end = time.monotonic() + within_s
        while not wait([future], timeout=min(_LOOK_S, max(0.0, end - time.monotonic()))).done:
            raise_if_cancelled()
            if time.monotonic() >= end:
                raise RetrieverFailed(f"did not answer in {within_s:g} s{what}")
        self._hangs = False
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, RetrieverFailed):
            raise error from None
        cause = error.with_traceback(_users_part(error.__traceback__))
        if isinstance(error, GoldbenchError):
            raise RetrieverFailed(error.message) from cause
        raise RetrieverFailed(f"raised {described(error, message=self._quotes_errors)}{what}") from cause

    def close(self) -> None:
        """Let the thread end; an asynchronous call that is left behind is cancelled."""
        if self._hangs and self._loop is not None:
            for task in asyncio.all_tasks(self._loop):
                self._loop.call_soon_threadsafe(task.cancel)
        self._calls.put(None)
        if self._thread is not None and not self._hangs:
            self._thread.join()
        self._thread = None

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            while (call := self._calls.get()) is not None:
                work, future = call
                try:
                    answer = work()
                    future.set_result(runner.run(_result(answer)) if inspect.isawaitable(answer) else answer)
                except BaseException as error:  # noqa: BLE001  a SystemExit of the function must not end the command
                    future.set_exception(error)


@contextlib.contextmanager
def of_query(query_id: str) -> Iterator[None]:
    """Add the query to what failed inside the block.

    Raises:
        RetrieverFailed: With the query before the problem.
    """
    try:
        yield
    except RetrieverFailed as error:
        problem = f"query {shown(repr(query_id))}: {error.problem}"
        raise RetrieverFailed(problem, system=error.system) from error.__cause__


def raise_if_cancelled() -> None:
    """Raise ``CancelledError`` if the task that waits here, if there is one, was asked to end."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def described(error: BaseException, *, message: bool = False) -> str:
    """Return the type of an error and the line of the user's code that it comes from, if there is one.

    Args:
        error: The error.
        message: Whether its message is included, which may quote a text or a key.
    """
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    line = "".join(f" ({_file(last.filename)}, line {last.lineno})" for last in (users or frames)[-1:])
    text = _message(error) if message else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{line}"


def _message(error: BaseException) -> str:
    try:
        return shown(one_line(str(error)))
    except Exception:  # noqa: BLE001  an error of the user's libraries, which cannot even be printed
        return ""


def _file(name: str) -> str:
    path = Path(name)
    return "notebook cell" if path.parent.name.startswith("ipykernel_") else shown(path.name)


def _users_part(frame: TracebackType | None) -> TracebackType | None:
    """Return a traceback from where it leaves this package on."""
    while frame is not None and frame.tb_next is not None and frame.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.tb_next
    return frame


async def _result(answer: Any) -> Any:  # noqa: ANN401  whatever a function returns
    return await answer
