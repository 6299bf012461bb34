"""Calls into code that is not ours, in this process: it may raise anything, or never come back."""

from __future__ import annotations

import contextlib
import inspect
import queue
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from pipeline.errors import GoldsetError, RetrieverFailed
from pipeline.retrieval.foreign_results import ID_KEYS, Found, Returns, read_answer

Ask = Callable[[str, int], Any]
"""A query and how many results are wanted in; results out, or something to await that gives them."""


class InThread:
    """Answers by a function of a query and k, called in a thread of its own, each time for so long at most.

    A call that does not come back is left behind in its thread, and the calls after it are refused. What a call prints
    goes to standard error: standard output belongs to the command.
    """

    def __init__(
        self,
        function: Ask,
        *,
        name: str,
        timeout_s: float,
        returns: Returns = "ids",
        id_keys: Sequence[str] = ID_KEYS,
        close: Callable[[], None] | None = None,
    ) -> None:
        """Take the function, the system's name, the seconds a call may take, and what a plain string is."""
        self._function, self._name, self._timeout_s, self._close = function, name, timeout_s, close
        self._returns, self._id_keys = returns, id_keys
        self._hangs = False
        self._calls: queue.SimpleQueue[tuple[str, int] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[list[Found] | BaseException] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def ask(self, query: str, k: int) -> list[Found]:
        """Return the results of one query.

        Raises:
            RetrieverFailed: The function raised something, did not come back in time, or answered what is none.
        """
        if self._hangs:
            raise RetrieverFailed(self._name, "does not come back from an earlier query")
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=f"goldset {self._name}", daemon=True)
            self._thread.start()
        with contextlib.redirect_stdout(sys.stderr):
            self._calls.put((query, k))
            self._hangs = True  # until it answers, whatever ends the waiting: an interrupt must not wait for it either
            try:
                answer = self._answers.get(timeout=self._timeout_s)
            except queue.Empty:
                raise RetrieverFailed(self._name, f"did not answer a query in {self._timeout_s:g} s") from None
            self._hangs = False
        if isinstance(answer, GoldsetError):
            raise answer
        if isinstance(answer, BaseException):
            raise RetrieverFailed(self._name, f"raised {described(answer)} on a query") from None
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
                self._answers.put(read_answer(answer, name=self._name, returns=self._returns, id_keys=self._id_keys))
            except BaseException as error:  # noqa: BLE001  even SystemExit: it is not ours to obey
                self._answers.put(error)


def answered(function: Ask, query: str, k: int) -> Any:  # noqa: ANN401  whatever it returns
    """Return what a function returns, awaited where it can be."""
    answer = function(query, k)
    if inspect.isawaitable(answer):
        import asyncio

        return asyncio.run(_awaited(answer))
    return answer


async def _awaited(answer: Awaitable[Any]) -> Any:  # noqa: ANN401
    return await answer


def described(error: BaseException) -> str:
    """Return the kind of an error and the line it comes from; not its message, which may quote a text or a key."""
    frames = traceback.extract_tb(error.__traceback__)
    there = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}{there}"
