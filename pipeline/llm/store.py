"""The answer store: every answer of a model, kept in one SQLite file before anything uses it.

A thread of its own reads and writes. It takes every job that has gathered, commits them together (write-ahead log,
``synchronous=FULL``) and only then lets the callers go on, so that one flush serves many answers.

Several processes may share the file. A process claims a key before it asks the model; the others wait for the answer.
A claim ends with its answer, with its process, or with its lease.
"""

from __future__ import annotations

import asyncio
import os
import platform
import queue
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from goldbench.pipeline.errors import GoldbenchError, OutputError
from goldbench.pipeline.llm.store_tables import TAKE_OVER, connect, is_alive, process_start, store_problem
from goldbench.pipeline.ports import Usage

R = TypeVar("R")

KEPT_REJECTIONS = frozenset({"misfit", "no-probability", "refusal", "content-filter", "cut-off", "loop"})
"""The kinds of rejected replies that are stored, because they were paid for; any other reply is asked for again."""

_LEASE_S, _HEARTBEAT_S = 60.0, 10.0


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply as it is stored. ``outcome`` is ``answer`` or the kind of rejection.

    ``message`` says why it was rejected; for an answer it holds the likelihood, or nothing.
    """

    stage: str
    prompt: str
    model: str
    outcome: str
    reply: str = field(repr=False)
    message: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class Taken:
    """The answer to a key, or a claim on it (``ours``), or neither: another process is asking."""

    answer: StoredReply | None = None
    ours: bool = False


Job = tuple[Callable[[sqlite3.Connection], Any], asyncio.Future[Any] | None]


class AnswerStore:
    """The store of one file: a context manager, for one event loop."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner = uuid.uuid4().hex
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._file: tuple[int, int] | None = None

    def __enter__(self) -> AnswerStore:
        """Open the file, or make it; raises as ``connect``."""
        connection = connect(self.path)
        self._file = _identity(self.path)
        self._thread = threading.Thread(target=self._work, args=(connection,), name="goldbench-answers", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write the remaining jobs, give up every claim and close."""
        owner = self._owner
        self._jobs.put((lambda c: c.execute("DELETE FROM claims WHERE owner = ?", (owner,)), None))
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()

    async def get(self, key: bytes) -> StoredReply | None:
        """Return the answer to a key, None where there is none."""
        return await self._do(lambda connection: find_answer(connection, key))

    async def take(self, key: bytes) -> Taken:
        """Return the answer to a key, or claim it."""
        return await self._do(lambda connection: self._take(connection, key))

    async def put(self, key: bytes, answer: StoredReply) -> None:
        """Store an answer; it is durable when this returns."""
        await self._do(lambda connection: _put(connection, key, answer))

    async def take_vectors(self, keys: Sequence[bytes]) -> tuple[dict[bytes, bytes], list[bytes]]:
        """Return the stored vectors, as float32 bytes, and the keys that are now claimed."""
        return await self._do(lambda connection: self._take_vectors(connection, keys))

    async def get_vectors(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors, as float32 bytes."""
        return await self._do(lambda connection: _vectors(connection, keys))

    async def put_vectors(self, model: str, vectors: dict[bytes, bytes]) -> None:
        """Store vectors; they are durable when this returns."""
        now = time.time()
        rows = [(key, model, vector, now) for key, vector in vectors.items()]

        def write(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)
            connection.executemany("DELETE FROM claims WHERE key = ?", [(row[0],) for row in rows])

        await self._do(write)

    def release(self, *keys: bytes) -> None:
        """Give up claims without an answer, without waiting."""
        rows = [(key, self._owner) for key in keys]
        self._jobs.put((lambda c: c.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", rows), None))

    async def dialect(self, base_url: str, model: str) -> str | None:
        """Return the remembered dialect of a model, None where there is none."""
        select = "SELECT dialect FROM dialects WHERE base_url = ? AND model = ?"
        row = await self._do(lambda connection: connection.execute(select, (base_url, model)).fetchone())
        return row[0] if row else None

    async def remember_dialect(self, base_url: str, model: str, dialect: str) -> None:
        """Remember the dialect of a model.

        Args:
            base_url: The server.
            model: The model's name.
            dialect: The dialect as JSON.
        """
        row = (base_url, model, dialect)
        await self._do(lambda connection: connection.execute("INSERT OR REPLACE INTO dialects VALUES (?, ?, ?)", row))

    async def transact(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Return the result of a job in the next transaction; its writes are durable when this returns."""
        return await self._do(job)

    async def _do(self, job: Callable[[sqlite3.Connection], R]) -> R:
        if self._thread is None or not self._thread.is_alive():
            raise GoldbenchError(f"{self.path}: the answer store is not open")
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, future))
        return await future

    def _take(self, connection: sqlite3.Connection, key: bytes) -> Taken:
        answer = find_answer(connection, key)
        return Taken(answer) if answer else Taken(ours=self._claim(connection, key))

    def _take_vectors(
        self, connection: sqlite3.Connection, keys: Sequence[bytes]
    ) -> tuple[dict[bytes, bytes], list[bytes]]:
        known = _vectors(connection, keys)
        return known, [key for key in keys if key not in known and self._claim(connection, key)]

    def _claim(self, connection: sqlite3.Connection, key: bytes) -> bool:
        now = time.time()
        holder = connection.execute("SELECT host, pid, started, expires FROM claims WHERE key = ?", (key,)).fetchone()
        if holder and holder[3] > now and is_alive(*holder[:3]):
            return False
        row = (key, self._owner, platform.node(), os.getpid(), process_start(os.getpid()), now + _LEASE_S)
        connection.execute(TAKE_OVER, row)
        return True

    def _work(self, connection: sqlite3.Connection) -> None:
        beat = time.monotonic() + _HEARTBEAT_S
        last = False
        while not last:
            jobs, last = self._gathered(beat)
            if time.monotonic() >= beat:
                beat = time.monotonic() + _HEARTBEAT_S
                jobs.append((self._beat, None))
            if jobs:
                self._run(connection, jobs)
        connection.close()

    def _gathered(self, beat: float) -> tuple[list[Job], bool]:
        """Wait for a job; return every job that has gathered, and whether the store is closing."""
        jobs: list[Job] = []
        try:
            job = self._jobs.get(timeout=max(0.0, beat - time.monotonic()))
            while job is not None:
                jobs.append(job)
                job = self._jobs.get_nowait()
        except queue.Empty:
            return jobs, False
        return jobs, True

    def _beat(self, connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE claims SET expires = ? WHERE owner = ?", (time.time() + _LEASE_S, self._owner))

    def _run(self, connection: sqlite3.Connection, jobs: list[Job]) -> None:
        results: list[Any] = []
        problem: GoldbenchError | None = None
        try:
            connection.execute("BEGIN IMMEDIATE")
            results = [job(connection) for job, _ in jobs]
            self._check_in_place()
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - the thread must live on; the callers get the error
            problem = self._problem(error)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        _hand_over(jobs, results, problem)

    def _check_in_place(self) -> None:
        # SQLite goes on writing to a file that has lost its name; its content is gone once the file is closed.
        if _identity(self.path) != self._file:
            raise OutputError(
                f"{self.path}: the answer store was removed or replaced while in use and later answers are lost: "
                "leave it in its place and run again"
            )

    def _problem(self, error: Exception) -> GoldbenchError:
        if isinstance(error, GoldbenchError):
            return error
        if isinstance(error, sqlite3.Error):
            return store_problem(self.path, error)
        return OutputError(f"{self.path}: the answer store cannot be written ({type(error).__name__})")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _hand_over(jobs: list[Job], results: list[Any], problem: GoldbenchError | None) -> None:
    futures = [future for _, future in jobs]
    loop = next((future.get_loop() for future in futures if future is not None), None)

    def resolve() -> None:
        for place, future in enumerate(futures):
            if future is None or future.done():
                continue
            if problem is None:
                future.set_result(results[place])
            else:
                future.set_exception(problem)

    if loop is not None and not loop.is_closed():
        try:
            loop.call_soon_threadsafe(resolve)
        except RuntimeError:  # the loop has closed in the meantime: no caller waits
            return


def find_answer(connection: sqlite3.Connection, key: bytes) -> StoredReply | None:
    """Return the answer to a key, None where there is none."""
    row = connection.execute(
        "SELECT stage, prompt, model, outcome, reply, message, input_tokens, output_tokens, cached_tokens, usd "
        "FROM answers WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    reply = row[4].decode("utf-8", "surrogatepass")
    stage, prompt, model, outcome = row[:4]
    return StoredReply(stage, prompt, model, outcome, reply, row[5], Usage(*row[6:10]))


def _put(connection: sqlite3.Connection, key: bytes, answer: StoredReply) -> None:
    usage = answer.usage
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.usd)
    reply = answer.reply.encode("utf-8", "surrogatepass")
    model = answer.model.encode("utf-8", "replace").decode()  # the server gives it, so it may hold anything
    row = (key, answer.stage, answer.prompt, model, answer.outcome, reply, answer.message, *counts, time.time())
    connection.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    connection.execute("DELETE FROM claims WHERE key = ?", (key,))


def _vectors(connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    select = "SELECT vector FROM vectors WHERE key = ?"
    found = ((key, connection.execute(select, (key,)).fetchone()) for key in keys)
    return {key: row[0] for key, row in found if row}
