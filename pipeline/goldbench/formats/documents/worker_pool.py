"""The processes that touch foreign documents: several at once, each document with limits, a dead process replaced.

Items are answered in their order, however many processes there are. What makes a process die, hang or take too much
memory costs itself alone: another process goes on behind it. Processes that have nothing to do wait a few seconds
for the next reading.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from goldbench.cluster.remote_object import MOST_LOSSES, Lost
from goldbench.errors import GoldbenchError, Message
from goldbench.formats.documents.worker import limits_memory
from goldbench.formats.faults import reason
from goldbench.processes.own_process import OwnProcess, decoded, usable_processors

NODES_FAIL = "{engine='ray'}: {}; check the nodes with `ray status`, or use {engine='local'}"
"""The template of a message where the nodes of a cluster do no work."""
_MOST_JOBS = 4
"""Most processes, unless more are asked for."""
_BATCH_ITEMS = 512
_BATCH_BYTES = 256 * 2**10
"""Most items that a process is sent at once, and their bytes, unless one alone has more."""
_AHEAD = 3
"""Batches per process that are under way or whose answers wait to be taken."""
_MOST_ANSWERS = 512
"""Answers to a batch that wait to be taken, of a table 64 KB each; then its process waits."""
_SECONDS_PER_MEGABYTE = 10.0
_TRIES = 2
"""How often an item is tried whose process died."""
_POLL_S = 0.2

Item = Mapping[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """What one document may take.

    Args:
        seconds: Time for reading it, and again for cutting it into chunks, in addition to 10 s per MB.
        memory_megabytes: Memory in MB, where the system can limit it.
        megabytes: Its size in MB, and its text in millions of characters.
    """

    seconds: float = 60.0
    memory_megabytes: int = 2048
    megabytes: int = 64


class Crash(Exception):
    """The process ended before its answer did."""


class Late(Crash):
    """The process was ended because an answer took too long."""


class Worker(Protocol):
    """A process that answers requests, on this machine or on another one."""

    def is_alive(self) -> bool:
        """Return whether the process takes requests."""

    def answers(self, items: Sequence[Item]) -> Iterator[Answer | None]:
        """Yield the answers to each item, and None after its last; raise `Late`, `Crash` or `Lost`."""

    def rest(self) -> None:
        """Wait for the next reading."""

    def kill(self) -> None:
        """End the process at once; who reads its answers finds their end."""

    def stop(self) -> None:
        """End the process and wait for its end."""


class WorkerProcess(OwnProcess):
    """A worker process of this machine; see ``worker.py``."""

    _resting: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
    """Those that wait for the next reading, of all of this process."""

    def __init__(self) -> None:
        self._deadline = math.inf
        self._is_late = False
        try:
            super().__init__("goldbench.formats.documents.worker")
        except OSError as error:
            raise GoldbenchError(f"no process could be started to read documents in ({reason(error)})") from None
        threading.Thread(target=self._watch, daemon=True).start()

    @classmethod
    def start(cls) -> WorkerProcess:
        """Return a process that waits, or a new one."""
        try:
            while not (process := cls._resting.get_nowait()).is_alive():
                process.stop()
        except queue.Empty:
            return cls()
        return process

    def answers(self, items: Sequence[Item]) -> Iterator[Answer | None]:
        """Yield the answers to each item, and None after its last; raise `Late` or `Crash`."""
        self.tell([items])
        for item in items:
            answer: Answer | None = {}
            while answer is not None:
                self._deadline = time.monotonic() + item["seconds"]
                data = self.answer()
                self._deadline = math.inf
                if data is None:
                    raise Late if self._is_late else Crash
                answer = decoded(data)
                yield answer

    def _watch(self) -> None:
        """End the process when an answer takes too long."""
        while self.is_alive():
            time.sleep(_POLL_S)
            if time.monotonic() > self._deadline:
                self._is_late = True
                self.kill()

    def rest(self) -> None:
        """Wait for the next reading."""
        self._resting.put(self)

    @classmethod
    def stop_resting(cls) -> None:
        """End the processes that wait."""
        while not cls._resting.empty():
            cls._resting.get().stop()

    @classmethod
    def forget_resting(cls) -> None:
        """Leave the processes that wait to the parent of this process."""
        cls._resting = queue.LifoQueue()


atexit.register(WorkerProcess.stop_resting)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WorkerProcess.forget_resting)


def memory_note() -> str | None:
    """Return one line if this system cannot limit the memory of a process, else None."""
    if limits_memory():
        return None
    return "Note: this system cannot limit memory; a damaged file may take all of it."


class _PoolClosed(Exception):
    """The answers are no longer wanted."""


class _Job:
    """Items that a process is sent at once, and the answers that were not taken."""

    def __init__(self, items: Sequence[Item], closed: threading.Event) -> None:
        self.items = items
        self._closed = closed
        self._answers: queue.Queue[Answer | Exception | None] = queue.Queue(_MOST_ANSWERS)

    def put(self, answer: Answer | Exception | None) -> None:
        """Add an answer, or None after the last one of an item; wait while too many were not taken."""
        while not self._closed.is_set():
            with contextlib.suppress(queue.Full):
                return self._answers.put(answer, timeout=_POLL_S)
        raise _PoolClosed

    def taken(self) -> Iterator[Answer]:
        """Yield the answers to the next item as they come; raise the error that ended them."""
        while (answer := self._answers.get()) is not None:
            if isinstance(answer, Exception):
                raise answer
            yield answer


class Workers:
    """Processes that read documents and cut them into chunks; started when they are needed.

    Args:
        budget: What one document may take.
        jobs: How many processes; by default one for each processor, at most 4.
        start: Returns a process; by default one of this machine.
    """

    def __init__(
        self, budget: DocumentLimits, jobs: int | None = None, *, start: Callable[[], Worker] | None = None
    ) -> None:
        self.budget = budget
        self._start = start or WorkerProcess.start
        self._jobs = jobs or min(usable_processors(), _MOST_JOBS)
        self._todo: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy: set[Worker] = set()
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        for process in list(self._busy):
            process.kill()
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join()

    def answers(self, items: Iterable[Item]) -> Generator[Iterator[Answer]]:
        """Yield the answers to each item, in order; those to one item are taken before the next.

        The last answer of a document that failed holds ``problem`` or ``missing``.

        Args:
            items: What is asked; see ``worker.answers``. ``bytes`` is the size of the document.
        """
        under_way: deque[_Job] = deque()
        for batch in self._batches(items):
            under_way.append(self._begin(batch))
            if len(under_way) > _AHEAD * self._jobs:
                yield from _taken(under_way.popleft())
        while under_way:
            yield from _taken(under_way.popleft())

    def _batches(self, items: Iterable[Item]) -> Iterator[list[Item]]:
        """Yield the items with their limits, small ones many at a time."""
        batch: list[Item] = []
        size = 0
        for item in items:
            if batch and (len(batch) >= _BATCH_ITEMS or size + item["bytes"] > _BATCH_BYTES):
                yield batch
                batch = []
                size = 0
            seconds = self.budget.seconds + _SECONDS_PER_MEGABYTE * item["bytes"] / 2**20
            batch.append({**asdict(self.budget), **item, "seconds": seconds})
            size += item["bytes"]
        if batch:
            yield batch

    def _begin(self, items: Sequence[Item]) -> _Job:
        job = _Job(items, self._closed)
        self._todo.put(job)
        if len(self._threads) < self._jobs:
            thread = threading.Thread(target=self._serve, daemon=True)
            self._threads.append(thread)
            thread.start()
        return job

    def _serve(self) -> None:
        process: Worker | None = None
        while (job := self._todo.get()) is not None:
            try:
                process = self._answer_all(job, process)
            except _PoolClosed:
                return
            except Exception as error:  # noqa: BLE001  raised again by the thread that waits for the answer
                with contextlib.suppress(_PoolClosed):
                    job.put(error)
        if process is not None:
            process.rest()

    def _answer_all(self, job: _Job, process: Worker | None) -> Worker | None:
        """Answer all items of a job, over as many processes as it takes; return the last one, None if it is gone."""
        progress = _Progress(job)
        while progress.done < len(job.items):
            if process is not None and not process.is_alive():
                process.stop()  # closes its pipes
                process = None
            if process is None:
                process = self._start()
            self._busy.add(process)
            if self._closed.is_set():  # the closing thread kills those that it finds busy
                process.stop()
                raise _PoolClosed
            try:
                progress.take_from(process)
            except (Crash, Lost) as error:
                process.stop()
                process = None
                progress.count(error)
            except BaseException:  # answers that are left would be taken for those of the next job
                process.stop()
                raise
            finally:
                self._busy.discard(process)
        return process


class _Progress:
    """How far the items of a job are answered, over the processes that were tried."""

    def __init__(self, job: _Job) -> None:
        self._job = job
        self.done = 0
        self._given = 0
        """How many answers were given to the next item, which another process gives again."""
        self._crashes = self._losses = 0

    def take_from(self, process: Worker) -> None:
        """Hand over the answers of a process to the items that are left."""
        number = 0
        is_last = False
        for answer in process.answers(self._job.items[self.done :]):
            number += 1
            if answer is None or number > self._given:
                self._losses = 0
                self._job.put(answer)
                self._given = number
            if answer is None:
                self.done += 1
                number = self._given = self._crashes = 0
                if is_last:
                    process.stop()
                    return
            else:
                is_last = bool(answer.get("is_last"))

    def count(self, error: Crash | Lost) -> None:
        """Count a process that is gone; give up the next item if it is to blame.

        Raises:
            GoldbenchError: Several were lost with their machines one after another, without an answer between.
        """
        if isinstance(error, Lost):
            self._losses += 1
            if self._losses >= MOST_LOSSES:
                problem = f"{self._losses} workers in a row were lost ({error})"
                raise GoldbenchError(Message(NODES_FAIL, problem)) from None
            return
        self._crashes += 1
        if self._crashes == _TRIES or isinstance(error, Late):
            self._job.put({"problem": _problem(error, self._job.items[self.done])})
            self._job.put(None)
            self.done += 1
            self._given = self._crashes = 0


def _taken(job: _Job) -> Iterator[Iterator[Answer]]:
    for _ in job.items:
        answers = job.taken()
        yield answers
        for _ in answers:
            pass


def _problem(error: Crash, item: Item) -> str:
    if isinstance(error, Late):
        return f"took more than {item['seconds']:,.0f} s: raise documents.seconds, or leave the file out"
    if not limits_memory():
        return "made its reader crash"
    most = f"{item['memory_megabytes']:,} MB"
    return f"made its reader crash: it is damaged, or needs more than {most} of memory (documents.memory_megabytes)"
