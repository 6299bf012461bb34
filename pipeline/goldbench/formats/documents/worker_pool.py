"""The processes that touch foreign documents: several at once, each file with limits, a dead process replaced.

Items are sent in tasks, small ones many at a time, and answered in their order, however many processes there are. A
task that fails is done again item by item, so that a bad file costs itself alone. Processes that have nothing to do
wait a few seconds for the next reading.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from types import TracebackType
from typing import Any, Self

from goldbench.formats.documents.task_exchange import CRASH, LOST, Budget, Closed, Exchange, Job, Task
from goldbench.formats.documents.worker import limits_memory
from goldbench.formats.documents.worker_process import Answering, WorkerProcess
from goldbench.processes.own_process import usable_processors

_MOST_JOBS = 4
"""Most processes, unless more are asked for."""
_AHEAD, _AHEAD_BYTES = 3, 32 * 2**20
"""Most tasks per process that are under way or wait to be taken, and most bytes of their items."""
_WORTH_A_PROCESS = 0.25
_TRIES = 2
"""How often an item is tried whose process died, once the others of its task are out of the way."""


def memory_note() -> str | None:
    """Return one line if this system cannot limit the memory of a process, else None."""
    if limits_memory():
        return None
    return "Note: this system cannot limit memory; a damaged file may take all of it."


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
        self._todo: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
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
        under_way: deque[Job] = deque()
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

    def _begun(self, task: Task) -> Job:
        job = Job(task, self._closed)
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
            except Closed:
                process = None
            except Exception as error:  # noqa: BLE001  raised again by the thread that waits for the answer
                job.fail(error)
                process = None
        if process is not None:
            with contextlib.suppress(Exception):  # all answers are given: nobody waits who could be told
                process.rest()

    def _answer(self, job: Job, process: Answering | None) -> Answering | None:
        """Answer a job and return the process, None if it is gone."""
        exchange, items = Exchange(job, self.budget, self._cuts_later), len(job.task.items)
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
            if failure == LOST:
                exchange.lose(lost, before)
                continue
            crashes = crashes + alone if exchange.progress == before else int(alone)
            if alone and (crashes == _TRIES or failure != CRASH):
                exchange.give_up(failure)
                crashes = 0
            alone = True
        return process
