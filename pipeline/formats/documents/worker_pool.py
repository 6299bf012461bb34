"""The processes that touch foreign documents: several at once, each file with limits, a dead process replaced.

Items are sent in tasks, small ones many at a time, and answered in their order, however many processes there are. A
task that fails is done again item by item, so that a bad file costs itself alone. Processes that have nothing to do
wait a few seconds for the next reading.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from goldbench.pipeline.cluster.losses import MOST_LOSSES
from goldbench.pipeline.errors import GoldbenchError
from goldbench.pipeline.formats.documents.worker import LENGTH, limits_memory
from goldbench.pipeline.formats.faults import reason

_SECONDS_PER_MEGABYTE = 10.0
_MOST_JOBS = 4
"""Most processes, unless more are asked for."""
_AHEAD, _AHEAD_BYTES = 3, 32 * 2**20
"""Most tasks per process that are under way or wait to be taken, and most bytes of their items."""
_WAITING = 8 * 2**20
"""Bytes of answers of one task that wait to be taken; then its process waits."""
_WORTH_A_PROCESS = 0.25
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
"""The environment variables that a process gets; none of them holds a key."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


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
        kind: ``read``, ``chunk``, ``look``, ``pieces`` or ``words``; see ``worker.py``.
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


def memory_note() -> str | None:
    """Return one line if this system cannot limit the memory of a process, else None."""
    if limits_memory():
        return None
    return "Note: this system cannot limit memory; a damaged file may take all of it."


def usable_processors() -> int:
    """Return how many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def environment_without_keys() -> dict[str, str]:
    """Return the environment of a process of goldbench's own: no key, the same modules, one thread for numbers."""
    environment = {name: value for name, value in os.environ.items() if name.upper() in _KEPT}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    return environment | dict.fromkeys(_ONE_THREAD, "1")


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


class Workers:
    """Processes that read documents, cut them into chunks and look at these; started when they are needed.

    Args:
        budget: What one document may take.
        jobs: How many processes; by default one for each processor, at most 4.
        cuts_later: Whether they cut documents into chunks after they have read them, and prepare for that.
        start: Returns a process; by default one of this machine.
    """

    def __init__(
        self,
        budget: Budget,
        jobs: int | None = None,
        *,
        cuts_later: bool = False,
        start: Callable[[], Answering] | None = None,
    ) -> None:
        self.budget, self._cuts_later = budget, cuts_later
        self._start = start or WorkerProcess.start
        self._jobs = jobs or min(usable_processors(), _MOST_JOBS)
        self._todo: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy: set[Answering] = set()
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

    def answers(self, tasks: Iterable[Task]) -> Generator[Iterator[dict[str, Any]]]:
        """Yield the answers to each item of the tasks, in order; those of one item are read before the next.

        The last answer of an item that failed holds ``problem`` or ``missing``.
        """
        coming = iter(tasks)
        task = next(coming, None)
        under_way: deque[_Job] = deque()
        held = 0
        while task is not None or under_way:
            while task is not None and (
                not under_way or (len(under_way) < _AHEAD * self._jobs and held + task.size <= _AHEAD_BYTES)
            ):
                under_way.append(self._begun(task))
                held += task.size
                task = next(coming, None)
            job = under_way.popleft()
            answers = job.taken()
            for _ in job.task.items:
                own = iter(answers.__next__, None)
                yield own
                for _ in own:
                    pass
            held -= job.task.size

    def _begun(self, task: Task) -> _Job:
        job = _Job(task, self._closed)
        self._todo.put(job)
        if len(self._threads) < self._jobs and (task.share >= _WORTH_A_PROCESS or not self._threads):
            thread = threading.Thread(target=self._serve, daemon=True)
            self._threads.append(thread)
            thread.start()
        return job

    def _serve(self) -> None:
        process: Answering | None = None
        while (job := self._todo.get()) is not None:
            try:
                process = self._answer(job, process)
            except _Closed:
                process = None
            except Exception as error:  # noqa: BLE001  raised again by the thread that waits for the answer
                job.fail(error)
                process = None
        if process is not None:
            with contextlib.suppress(Exception):  # all answers are given: nobody waits who could be told
                process.rest()

    def _crash(self) -> str:
        if not limits_memory():
            return "made its reader crash"
        most = f"{self.budget.memory_megabytes:,} MB"
        return f"made its reader crash: it is damaged, or needs more than {most} of memory (documents.memory_megabytes)"

    def _answer(self, job: _Job, process: Answering | None) -> Answering | None:
        """Answer a job and return the process, None if it is gone."""
        exchange, items = _Exchange(job, self.budget, self._cuts_later), len(job.task.items)
        alone, crashes = items == 1, 0
        while exchange.done < items and not self._closed.is_set():
            if process is None or not process.is_alive():
                if process is not None:
                    process.stop()
                process = self._start()
            self._busy.add(process)
            if self._closed.is_set():  # the closing thread kills those that it finds busy
                process.kill()
            before = exchange.progress
            try:
                failure = exchange.try_with(process, exchange.done + 1 if alone else items)
            except BaseException:
                process.stop()
                raise
            finally:
                self._busy.discard(process)
            if failure is None:
                crashes = 0
                if exchange.is_spent:
                    process.stop()
                    process, exchange.is_spent = None, False
                continue
            lost = process.lost
            process.stop()
            process = None
            if failure == _LOST:
                exchange.lose(lost, before)
                continue
            crashes = crashes + alone if exchange.progress == before else int(alone)
            if alone and (crashes == _TRIES or failure != _CRASH):
                exchange.give_up(failure if failure != _CRASH else self._crash())
                crashes = 0
            alone = True
        return process


_CRASH, _LOST = "crash", "lost"
_TRIES = 2
"""How often an item is tried whose process died, once the others of its task are out of the way."""


class _Closed(Exception):
    """The answers are no longer wanted."""


@dataclass(slots=True)
class _Job:
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
                    raise _Closed
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


class _Exchange:
    """What was answered of a job so far, over the processes that were tried."""

    def __init__(self, job: _Job, budget: Budget, cuts_later: bool) -> None:
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
                return late if process.late else _LOST if process.lost else _CRASH
            answers = json.loads(data.decode("utf-8", "surrogatepass"))
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
            raise GoldbenchError(
                f"--engine ray: {self._losses} workers in a row were lost ({why}); "
                "check the nodes with `ray status`, or use --engine local"
            )

    def give_up(self, problem: str) -> None:
        """Answer the next item with a problem."""
        self._job.put(0, self._counted([{"problem": problem}, None]))

    def _counted(self, answers: list[Any]) -> list[Any]:
        for answer in answers:
            self._given += 1
            if answer is None:
                self.done, self._given = self.done + 1, 0
        return answers


class WorkerProcess:
    """A worker process of this machine."""

    lost = ""

    _resting: list[WorkerProcess] = []  # noqa: RUF012  those that wait for the next reading, of all of this process
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.late = self._killed = False
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-m", "goldbench.pipeline.formats.documents.worker"],
                env=environment_without_keys(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
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

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._popen.poll() is None

    def kill(self) -> None:
        """End the process at once; who reads its replies finds their end."""
        self._killed = True
        self._popen.kill()

    def send(self, request: Mapping[str, Any]) -> None:
        """Send a request; that the process is gone is found when its reply is read."""
        assert self._popen.stdin is not None
        data = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with contextlib.suppress(OSError):  # the process is gone; Windows does not call that a broken pipe
            self._popen.stdin.write(LENGTH.pack(len(data)) + data)
            self._popen.stdin.flush()

    def reply(self, seconds: float) -> bytes | None:
        """Return the next part of the reply, None if none comes in time."""
        assert self._popen.stdout is not None
        timer = threading.Timer(max(0.0, seconds), self._time_out)
        timer.daemon = True
        timer.start()
        try:
            (length,) = LENGTH.unpack(self._popen.stdout.read(LENGTH.size))
            data = self._popen.stdout.read(length)
            return data if len(data) == length else None
        except (OSError, struct.error):
            return None
        finally:
            timer.cancel()

    def _time_out(self) -> None:
        self.late = True
        self._popen.kill()

    def stop(self) -> None:
        """End the process and wait for its end."""
        self._popen.kill()
        for stream in (self._popen.stdin, self._popen.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._popen.wait()

    @classmethod
    def stop_resting(cls) -> None:
        """End the processes that wait."""
        while cls._resting:
            cls._resting.pop().stop()


atexit.register(WorkerProcess.stop_resting)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WorkerProcess._resting.clear)  # noqa: SLF001  they belong to the parent
