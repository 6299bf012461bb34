"""Runs a user's function in a process of its own, so that the command ends whatever the function does.

The function may never return, even holding the interpreter; leave threads behind that nobody can end; call
``sys.exit``; or crash. Its process is killed then, and ends by itself if the command is gone.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.deadline import HANGS, awaited, described
from goldbench.retrieval.foreign_results import ForeignResult, Returns, read_answer

_IMPORT = 10
"""Importing the module, which may load a model, may take this many times the time of a query."""
_END_S = 2.0
"""Seconds that the process gets to end by itself before it is killed."""


class ProcessFunction:
    """Answers by the function that ``package.module:function`` names, called in a process of its own."""

    def __init__(self, function: str, *, folders: Sequence[Path], timeout_s: float, returns: Returns = "ids") -> None:
        """Start the process and import the function.

        Args:
            function: The module and the name of the function in it.
            folders: Folders that are searched for modules before all others.
            timeout_s: Seconds that one query may take; the import may take ten times as long.
            returns: Whether a plain string that the function returns is an id or a text.

        Raises:
            RetrieverFailed: The module or function does not exist, or importing it fails or takes too long.
        """
        self._timeout_s = timeout_s
        context = get_context("spawn")
        self._pipe, pipe = context.Pipe()
        paths = [str(folder.resolve()) for folder in folders]
        self._process = context.Process(target=_serve, args=(pipe, function, paths, returns))
        self._process.start()
        pipe.close()
        self._receive(f"import {function.partition(':')[0]}", _IMPORT * timeout_s)

    def ask(self, query: str, k: int) -> list[ForeignResult]:
        """Return the results of one query.

        Raises:
            RetrieverFailed: The function raised an error, did not return in time, or its answer cannot be read.
        """
        try:
            self._pipe.send((query, k))
        except OSError:
            raise RetrieverFailed(HANGS) from None
        return self._receive("answer", self._timeout_s)

    def close(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.join(_END_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def _receive(self, what: str, seconds: float) -> list[ForeignResult]:
        if not self._pipe.poll(seconds):
            self._process.kill()
            self.close()
            raise RetrieverFailed(f"did not {what} in {seconds:g} s")
        try:
            answer = self._pipe.recv()
        except (EOFError, OSError):
            self.close()
            code = self._process.exitcode
            raise RetrieverFailed(f"its process ended (exit code {code}) when asked to {what}") from None
        if isinstance(answer, str):
            raise RetrieverFailed(answer)
        return answer  # type: ignore[no-any-return]  # what `_serve` sends


def _serve(pipe: Connection, function: str, folders: list[str], returns: Returns) -> None:
    """Answer queries until the pipe is closed: with a list of results, or with the problem as text."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command receives it and closes the pipe
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)  # standard output belongs to the command
    sys.path[:0] = folders
    try:
        called = _imported(function)
        pipe.send([])
    except RetrieverFailed as error:
        pipe.send(error.problem)
        return
    except BaseException as error:  # noqa: BLE001  a SystemExit ends the function, not this process
        pipe.send(f"importing {function.partition(':')[0]} raised {described(error)}")
        return
    runner = asyncio.Runner()
    while True:
        try:
            query, k = pipe.recv()
        except (EOFError, OSError):
            os._exit(0)  # threads that the function left behind would keep the process
        try:
            pipe.send(read_answer(awaited(called(query, k), runner), returns=returns))
        except RetrieverFailed as error:
            pipe.send(error.problem)
        except BaseException as error:  # noqa: BLE001  as above
            pipe.send(f"raised {described(error)}")


def _imported(function: str) -> Any:  # noqa: ANN401
    module_name, _, path = function.partition(":")
    try:
        attribute: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        raise RetrieverFailed(f"there is no module {missing}: is it in this folder, or installed?") from None
    for part in path.split("."):
        attribute = getattr(attribute, part, None)
    if not callable(attribute):
        raise RetrieverFailed(f"module {module_name} has no function {path}")
    return attribute


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
