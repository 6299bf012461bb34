"""What worker processes are asked at once, and the exchange with them until all of it is answered."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldbench.cluster.losses import MOST_LOSSES
from goldbench.errors import GoldbenchError, Message
from goldbench.formats.documents.worker import limits_memory
from goldbench.formats.documents.worker_process import Answering
from goldbench.processes.messages import decoded

NODES_FAIL = "{engine='ray'}: {}; check the nodes with `ray status`, or use {engine='local'}"
"""The template of a message where the nodes of a cluster do no work."""
_SECONDS_PER_MEGABYTE = 10.0
_WAITING = 8 * 2**20
"""Bytes of answers of one task that wait to be taken; then its process waits."""
CRASH, LOST = "crash", "lost"
"""Why an exchange failed without a problem that could be told: the process ended, or its machine is gone."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one document may take.

    Args:
        seconds: Time for reading it, and again for cutting it into chunks, in addition to 10 s per MB.
        memory_megabytes: Memory in MB, where the system can limit it.
        megabytes: Its size in MB, and its text in millions of characters.
    """

    seconds: float = 60.0
    memory_megabytes: int = 2048
    megabytes: int = 64


@dataclass(frozen=True, slots=True)
class Task:
    """What a process is asked at once.

    Args:
        kind: ``read`` or ``chunk``; see ``worker.py``.
        items: What is answered, one after another; JSON values.
        settings: What holds for all of them; JSON values.
        size: Their bytes, or the characters of their texts; the time that they may take grows with it.
        share: How much of a full task they are; another process is started for a quarter or more.
    """

    kind: str
    items: Sequence[Mapping[str, Any]]
    settings: Mapping[str, Any]
    size: int
    share: float = 1.0


class Closed(Exception):
    """The answers are no longer wanted."""


@dataclass(slots=True)
class Job:
    """A task under way: its process puts answers in, the reader takes them out."""

    task: Task
    closed: threading.Event
    _parcels: deque[tuple[int, list[Any]]] = field(default_factory=deque)
    _waiting: int = 0
    _error: Exception | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, size: int, answers: list[Any]) -> None:
        """Add answers; wait while too many were not taken."""
        with self._changed:
            while self._waiting > _WAITING:
                if self.closed.is_set():
                    raise Closed
                self._changed.wait(0.2)
            self._parcels.append((size, answers))
            self._waiting += size
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """Let the reader raise an error."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def taken(self) -> Iterator[Any]:
        """Yield the answers as they come; None after the last one of each item."""
        while True:
            with self._changed:
                while not self._parcels and self._error is None:
                    self._changed.wait()
                if self._error is not None:
                    raise self._error
                size, answers = self._parcels.popleft()
                self._waiting -= size
                self._changed.notify_all()
            yield from answers


class Exchange:
    """What was answered of a job so far, over the processes that were tried."""

    def __init__(self, job: Job, budget: Budget, cuts_later: bool) -> None:
        self._job, self._budget, self._cuts_later = job, budget, cuts_later
        self.done = 0
        """How many items are answered."""
        self.is_spent = False
        """Whether the process ran out of memory, some of which it may keep."""
        self._given = 0
        """How many answers were given to the next one, which a second process gives again."""
        self._losses = 0

    @property
    def progress(self) -> tuple[int, int]:
        """How far the answers have come."""
        return self.done, self._given

    def try_with(self, process: Answering, end: int) -> str | None:
        """Have the items up to ``end`` answered; return why that failed, None if it did not."""
        task = self._job.task
        seconds = self._budget.seconds + _SECONDS_PER_MEGABYTE * task.size / 2**20
        request = {
            "kind": task.kind,
            "items": task.items[self.done : end],
            "settings": task.settings,
            "seconds": seconds,
            "memory_megabytes": self._budget.memory_megabytes,
            "megabytes": self._budget.megabytes,
            "cuts_later": self._cuts_later,
        }
        repeated = self._given
        process.send(request)
        while self.done < end:
            # A table is checked before its first part, so that the rest of it comes, however long that takes.
            data = process.reply(seconds)
            if data is None:
                late = f"took more than {seconds:,.0f} s: raise documents.seconds, or leave the file out"
                return late if process.late else LOST if process.lost else CRASH
            answers = decoded(data)
            self.is_spent = self.is_spent or any(answer and answer.get("spent") for answer in answers)
            again = min(repeated, len(answers))
            repeated -= again
            self._job.put(len(data), self._counted(answers[again:]))
        return None

    def lose(self, why: str, before: tuple[int, int]) -> None:
        """Count a process that was lost with its machine.

        Args:
            why: Why it was lost.
            before: The progress when it was asked.

        Raises:
            GoldbenchError: Several were lost one after another, without an answer between.
        """
        self._losses = self._losses + 1 if self.progress == before else 1
        if self._losses >= MOST_LOSSES:
            lost = f"{self._losses} workers in a row were lost ({why})"
            raise GoldbenchError(Message(NODES_FAIL, lost))

    def give_up(self, failure: str) -> None:
        """Answer the next item with the reason why it failed; see `try_with`."""
        problem = self._crash() if failure == CRASH else failure
        self._job.put(0, self._counted([{"problem": problem}, None]))

    def _counted(self, answers: list[Any]) -> list[Any]:
        for answer in answers:
            self._given += 1
            if answer is None:
                self.done, self._given = self.done + 1, 0
        return answers

    def _crash(self) -> str:
        if not limits_memory():
            return "made its reader crash"
        most = f"{self._budget.memory_megabytes:,} MB"
        return f"made its reader crash: it is damaged, or needs more than {most} of memory (documents.memory_megabytes)"
