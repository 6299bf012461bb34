"""Calls to foreign code in this process, which may raise any error or never return."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import queue
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any

from goldbench.errors import GoldbenchError, RetrieverFailed
from goldbench.retrieval.foreign_results import ID_KEYS, ForeignResult, Returns, read_answer
from goldbench.text.display import one_line, shown

Ask = Callable[[str, int], Any]
"""Takes a query and the number of results wanted; returns results, or something to await that gives them."""
HANGS = "does not come back from an earlier query"
_LOOK_S = 0.2
"""Seconds between two looks for an interrupt while a call is waited for."""
_PACKAGE = str(Path(__file__).parents[1])
_FOREIGN = ("<frozen", _PACKAGE, *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")))
"""Where the code lies that the user did not write."""


class CallThread:
    """A thread of its own for calls to the user's code, one after the other, each under a time limit.

    All calls share one event loop, so that an asynchronous client may keep its connections, and the context variables
    of the caller. A call that does not come back is left behind in the thread, and later calls are refused.
    """

    def __init__(self) -> None:
        self._hangs = False
        self._calls: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def call(self, work: Callable[[], Any], *, within_s: float, what: str = "") -> Any:  # noqa: ANN401
        """Return what a call returns, awaited if it can be.

        Args:
            work: The call.
            within_s: Seconds that it may take.
            what: What was asked, for messages, as `` while indexing``.

        Raises:
            RetrieverFailed: The call raised an error, or did not return in time.
        """
        if self._hangs:
            raise RetrieverFailed(HANGS)
        if self._thread is None:
            target = partial(copy_context().run, self._work)
            self._thread = threading.Thread(target=target, name="goldbench system", daemon=True)
            self._thread.start()
        self._calls.put(work)
        self._hangs = True  # until it answers: an interrupt must not wait for it either
        answer, error = self._wait(within_s, what)
        self._hangs = False
        if error is None:
            return answer
        if isinstance(error, RetrieverFailed):
            raise error from None
        cause = error.with_traceback(_users_part(error.__traceback__))
        if isinstance(error, GoldbenchError):
            raise RetrieverFailed(error.message) from cause
        raise RetrieverFailed(f"raised {described(error, message=True)}{what}") from cause

    def close(self) -> None:
        """Let the thread end; an asynchronous call that is left behind is cancelled."""
        if self._hangs and self._loop is not None:
            for task in asyncio.all_tasks(self._loop):
                self._loop.call_soon_threadsafe(task.cancel)
        self._calls.put(None)
        if self._thread is not None and not self._hangs:
            self._thread.join()
        self._thread = None

    def _wait(self, within_s: float, what: str) -> tuple[Any, BaseException | None]:
        end = time.monotonic() + within_s
        while (left := end - time.monotonic()) > 0:
            raise_if_cancelled()
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=min(_LOOK_S, left))
        raise RetrieverFailed(f"did not answer in {within_s:g} s{what}")

    def _work(self) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            while (work := self._calls.get()) is not None:
                try:
                    self._answers.put((awaited(work(), runner), None))
                except BaseException as error:  # noqa: BLE001  a SystemExit of the function must not end the command
                    self._answers.put((None, error))


class ThreadedFunction:
    """Answers by a function of a query and k, called in a thread of its own under a time limit.

    Args:
        function: The function.
        timeout_s: Seconds that one call may take.
        returns: Whether a plain string that the function returns is an id or a text.
        id_keys: The keys under which a result may hold its id.
    """

    def __init__(
        self, function: Ask, *, timeout_s: float, returns: Returns = "ids", id_keys: Sequence[str] = ID_KEYS
    ) -> None:
        self._function, self._timeout_s = function, timeout_s
        self._returns, self._id_keys = returns, id_keys
        self._thread = CallThread()

    def ask(self, query: str, k: int) -> list[ForeignResult]:
        """Return the results of one query.

        Raises:
            RetrieverFailed: The function raised an error, did not return in time, or its answer cannot be read.
        """
        answer = self._thread.call(lambda: self._function(query, k), within_s=self._timeout_s)
        results: list[ForeignResult] = self._thread.call(  # a generator works while it is read
            lambda: read_answer(answer, returns=self._returns, id_keys=self._id_keys), within_s=self._timeout_s
        )
        return results

    def close(self) -> None:
        """Let the thread end."""
        self._thread.close()


class ThreadedIndex:
    """An object with ``index`` and ``search``, called in a thread of its own.

    Indexing may take any time, a search ``timeout_s`` seconds for each of its queries.
    """

    def __init__(self, retriever: Any, *, timeout_s: float) -> None:  # noqa: ANN401  of the user
        self._retriever, self._timeout_s = retriever, timeout_s
        self._thread = CallThread()

    def index(self, passages: Mapping[str, str]) -> None:
        """Index the passages; the object has a copy, which it may change."""
        self._thread.call(lambda: self._retriever.index(dict(passages)), within_s=inf, what=" while indexing")

    def search(self, queries: Mapping[str, str], *, k: int) -> Any:  # noqa: ANN401  whatever the object answers
        """Return what the object answers."""
        within_s = self._timeout_s * max(1, len(queries))
        return self._thread.call(
            lambda: self._retriever.search(dict(queries), k=k), within_s=within_s, what=" while searching"
        )

    def close(self) -> None:
        """Let the thread end; the object stays as it is."""
        self._thread.close()


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


def awaited(answer: Any, runner: asyncio.Runner) -> Any:  # noqa: ANN401  whatever a function returns
    """Return what a function returned, awaited if it can be."""

    async def result() -> Any:  # noqa: ANN401
        return await answer

    return runner.run(result()) if inspect.isawaitable(answer) else answer


def raise_if_cancelled() -> None:
    """Raise ``CancelledError`` if the task that waits here, if there is one, was asked to end."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def described(error: BaseException, *, message: bool = False) -> str:
    """Return the type of an error and the line it comes from, of the user's own code if there is one.

    Args:
        error: The error.
        message: Whether its message is told, too; it may quote a text or a key.
    """
    frames = traceback.extract_tb(error.__traceback__)
    users = [frame for frame in frames if not frame.filename.startswith(_FOREIGN)]
    line = "".join(f" ({_file(last.filename)}, line {last.lineno})" for last in (users or frames)[-1:])
    text = _message(error) if message else ""
    return f"{type(error).__name__}{f': {text}' if text else ''}{line}"


def _message(error: BaseException) -> str:
    try:
        return shown(one_line(str(error)))
    except Exception:  # noqa: BLE001  an error of somebody else, which cannot even be printed
        return ""


def _file(name: str) -> str:
    path = Path(name)
    return "notebook cell" if path.parent.name.startswith("ipykernel_") else shown(path.name)


def _users_part(frame: TracebackType | None) -> TracebackType | None:
    """Return a traceback from where it leaves this package on."""
    while frame is not None and frame.tb_next is not None and frame.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.tb_next
    return frame
