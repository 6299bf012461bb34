"""A process that works on documents for this one; see ``worker.py``."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from typing import Any, Protocol

from goldbench.errors import GoldbenchError
from goldbench.formats.faults import reason
from goldbench.processes.own_process import OwnProcess


class Answering(Protocol):
    """A process that answers requests, on this machine or on another one.

    Attributes:
        late: Whether it was ended because a part of its reply took too long.
        lost: Why its machine is gone, so that no document is at fault; empty while it is there.
    """

    late: bool
    lost: str

    def is_alive(self) -> bool:
        """Return whether the process runs."""

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; that the process is gone is found when its reply is read."""

    def reply(self, seconds: float) -> bytes | None:
        """Return the next part of the reply, None if none comes in time."""

    def rest(self) -> None:
        """Wait for the next reading."""

    def kill(self) -> None:
        """End the process at once; who reads its replies finds their end."""

    def stop(self) -> None:
        """End the process and wait for its end."""


class WorkerProcess(OwnProcess):
    """A worker process of this machine."""

    lost = ""

    _resting: list[WorkerProcess] = []  # noqa: RUF012  those that wait for the next reading, of all of this process
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.late = self._killed = False
        try:
            super().__init__("goldbench.formats.documents.worker")
        except OSError as error:
            raise GoldbenchError(f"no process could be started to read documents in ({reason(error)})") from None

    @classmethod
    def start(cls) -> WorkerProcess:
        """Return a process that waits, or a new one."""
        with cls._lock:
            while cls._resting:
                if (process := cls._resting.pop()).is_alive():
                    return process
                process.stop()
        return cls()

    def rest(self) -> None:
        """Wait for the next reading."""
        if self._killed:
            self.stop()
            return
        with self._lock:
            self._resting.append(self)

    def kill(self) -> None:
        """End the process at once; who reads its replies finds their end."""
        self._killed = True
        super().kill()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; that the process is gone is found when its reply is read."""
        self.tell([request])

    def reply(self, seconds: float) -> bytes | None:
        """Return the next part of the reply, None if none comes in time."""
        timer = threading.Timer(max(0.0, seconds), self._time_out)
        timer.daemon = True
        timer.start()
        try:
            return self.answer()
        finally:
            timer.cancel()

    def _time_out(self) -> None:
        self.late = True
        super().kill()

    @classmethod
    def stop_resting(cls) -> None:
        """End the processes that wait."""
        while cls._resting:
            cls._resting.pop().stop()


atexit.register(WorkerProcess.stop_resting)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WorkerProcess._resting.clear)  # noqa: SLF001  they belong to the parent
