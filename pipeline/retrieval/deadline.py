"""Calls to foreign code in this process, which may raise any error or never return."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from goldbench.pipeline.errors import GoldbenchError, RetrieverFailed
from goldbench.pipeline.retrieval.foreign_results import ID_KEYS, Found, Returns, read_answer

Ask = Callable[[str, int], Any]
"""Takes a query and the number of results wanted; returns results, or something to await that gives them."""
HANGS = "does not come back from an earlier query"


class InThread:
    """Answers by a function of a query and k, called in a thread of its own under a time limit.

    A call that does not come back is left behind in its thread, and later calls are refused. What a call prints goes
    to standard error, because standard output belongs to the command, unless ``prints`` is true.
    """

    def __init__(
        self,
        function: Ask,
        *,
        timeout_s: float,
        returns: Returns = "ids",
        id_keys: Sequence[str] = ID_KEYS,
        close: Callable[[], None] | None = None,
        prints: bool = False,
    ) -> None:
        """Take the function and how to call it; the thread starts with the first query.

        Args:
            function: The function.
            timeout_s: Seconds that one call may take.
            returns: Whether a plain string that the function returns is an id or a text.
            id_keys: As in `read_answer`.
            close: Called when this is closed.
            prints: Whether what the function prints goes to standard output.
        """
        self._function, self._timeout_s, self._close = function, timeout_s, close
        self._returns, self._id_keys, self._prints = returns, id_keys, prints
        self._hangs = False
        self._calls: queue.SimpleQueue[tuple[str, int] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[list[Found] | BaseException] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def ask(self, query: str, k: int) -> list[Found]:
        """Return the results of one query.

        Raises:
            RetrieverFailed: The function raised an error, did not return in time, or its answer cannot be read.
        """
        if self._hangs:
            raise RetrieverFailed(HANGS)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="goldbench system", daemon=True)
            self._thread.start()
        with contextlib.nullcontext() if self._prints else contextlib.redirect_stdout(sys.stderr):
            self._calls.put((query, k))
            self._hangs = True  # until it answers: an interrupt must not wait for it either
            try:
                answer = self._answers.get(timeout=self._timeout_s)
            except queue.Empty:
                raise RetrieverFailed(f"did not answer a query in {self._timeout_s:g} s") from None
            self._hangs = False
        if isinstance(answer, GoldbenchError):
            raise answer
        if isinstance(answer, BaseException):
            raise RetrieverFailed(f"raised {described(answer)} on a query") from None
        return answer

    def close(self) -> None:
        """Let the thread end."""
        if self._thread is not None and not self._hangs:
            self._calls.put(None)
            self._thread.join()
        self._thread = None
        if self._close is not None:
            self._close()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                answer = answered(self._function, *call)
                self._answers.put(read_answer(answer, returns=self._returns, id_keys=self._id_keys))
            except BaseException as error:  # noqa: BLE001  a SystemExit of the function must not end the command
                self._answers.put(error)


def answered(function: Ask, query: str, k: int) -> Any:  # noqa: ANN401  whatever the function returns
    """Return what a function returns, awaited if it can be.

    Args:
        function: The function.
        query: The text of the query.
        k: Results wanted.
    """
    answer = function(query, k)
    return asyncio.run(_awaited(answer)) if inspect.isawaitable(answer) else answer


async def _awaited(answer: Awaitable[Any]) -> Any:  # noqa: ANN401
    return await answer


def described(error: BaseException) -> str:
    """Return the type of an error and the line it comes from; not its message, which may quote a text or a key."""
    frames = traceback.extract_tb(error.__traceback__)
    there = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{there}"
