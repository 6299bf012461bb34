"""The answer store: every answer of a model, kept in one SQLite file before anything uses it.

A thread of its own reads and writes. It takes every job that has gathered, commits them together (write-ahead log,
``synchronous=FULL``) and only then lets the callers go on, so that one flush serves many answers.

Several processes may share the file. A process claims a key before it asks the model; the others wait for the answer.
A claim ends with its answer, with its process, or with its lease.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import queue
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from goldbench.errors import GoldbenchError, InputError, OutputError
from goldbench.ports import Usage

APPLICATION_ID = 0x676F6C64
"""«gold»: marks an SQLite file as an answer store."""
VERSION = 1

_BUSY_S = 60.0
_TABLES = (
    """CREATE TABLE answers (
  key BLOB PRIMARY KEY, stage TEXT NOT NULL, prompt TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
  reply BLOB NOT NULL, message TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, usd REAL, created REAL NOT NULL)""",
    "CREATE TABLE vectors (key BLOB PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL, created REAL NOT NULL)",
    """CREATE TABLE claims (
  key BLOB PRIMARY KEY, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, expires REAL NOT NULL)""",
    "CREATE TABLE dialects (base_url TEXT, model TEXT, dialect TEXT NOT NULL, PRIMARY KEY (base_url, model))",
    "CREATE TABLE batches (token TEXT PRIMARY KEY, base_url TEXT NOT NULL, file_id TEXT, batch_id TEXT)",
    "CREATE TABLE batch_lines (line BLOB PRIMARY KEY, answer BLOB NOT NULL, token TEXT NOT NULL)",
)
_MAKE_ROOM = "make room on the disk, or end what else uses the file"
_PASSING = frozenset({"BUSY", "LOCKED", "FULL", "READONLY", "IOERR", "CANTOPEN", "PERM", "NOMEM", "PROTOCOL", "AUTH"})
"""SQLite's errors about the disk, the rights or another process; the file itself is not damaged."""
_DAMAGED = "the answer store is damaged: move it away, or repair it with sqlite3's .recover"
_NO_STORE = "no answer store here; give the file answers.sqlite beside a gold set"
_NOT_A_STORE = "not an answer store, or a damaged one: move it away or name another file"


def connect(path: Path, *, create: bool = True) -> sqlite3.Connection:
    """Open an answer store, and set up a new file; two processes may do so at once.

    Raises:
        InputError: The file is not an answer store, is damaged, or comes from a newer goldbench.
        OutputError: It cannot be made or opened.
    """
    if not create and not path.is_file():
        raise InputError(path, _NO_STORE)
    if path.exists() and not path.is_file():
        raise InputError(path, "is not a plain file; name another for the answer store")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    except (sqlite3.Error, OSError) as error:
        raise OutputError(f"{path}: the answer store cannot be opened ({type(error).__name__})") from None
    try:
        is_new = _check_version(connection, path, may_be_new=create)
        _write_ahead(connection)
        if is_new:
            _make_tables(connection)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise store_problem(path, error) from None
        raise
    return connection


@contextlib.contextmanager
def read_unchanged(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an answer store to read it, without the files that SQLite would leave beside it; no file is an empty store.

    Raises:
        InputError: The file is not an answer store, or is damaged.
        OutputError: It cannot be read now.
    """
    # Without a log no other process writes; SQLite would otherwise make a log of its own to read the store.
    log = path.with_name(f"{path.name}-wal")
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    is_new = not path.exists()
    address = ":memory:" if is_new else f"{path.resolve().as_uri()}?{mode}"
    try:
        with contextlib.closing(
            sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
        ) as connection:
            if _check_version(connection, path, may_be_new=is_new):
                _make_tables(connection)
            yield connection
    except sqlite3.Error as error:
        raise store_problem(path, error) from None


@contextlib.contextmanager
def opened_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an answer store that exists, for one job, and turn SQLite's errors into one line about the store.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be used now.
    """
    with contextlib.closing(connect(path, create=False)) as connection:
        try:
            yield connection
        except sqlite3.Error as error:
            raise store_problem(path, error) from None


def _check_version(connection: sqlite3.Connection, path: Path, *, may_be_new: bool) -> bool:
    """Refuse what is no store of this version; return whether the file is empty, an error unless it may be new."""
    connection.execute("BEGIN")  # one view of the file: another process may be setting it up
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    finally:
        with contextlib.suppress(sqlite3.Error):  # an error of the disk has ended the transaction, and tells more
            connection.execute("ROLLBACK")
    if application != APPLICATION_ID and (application or tables or not may_be_new):
        raise InputError(path, _NOT_A_STORE)
    if version > VERSION:
        raise InputError(path, f"the answer store has version {version}, this goldbench reads {VERSION}: update it")
    if version and tables != set(_TABLES):
        raise InputError(path, "the answer store has other tables than it should: put a copy back, or move it away")
    return version == 0


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Let readers and one writer work at once; an answer is on the disk when it is committed."""
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # unlike everything else, this does not wait for its turn
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = FULL")


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # no other process was faster
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def store_problem(path: Path, error: sqlite3.Error) -> InputError | OutputError:
    """Return the error to raise for an error of SQLite, whose own words may hold content."""
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
    if name in _PASSING:
        return OutputError(f"{path}: the answer store cannot be used ({error}): {_MAKE_ROOM}")
    return InputError(path, _NOT_A_STORE if name == "NOTADB" else _DAMAGED)


R = TypeVar("R")

KEPT_REJECTIONS = frozenset({"misfit", "no-probability", "refusal", "content-filter", "cut-off", "loop"})
"""The kinds of rejected replies that are stored, because they were paid for; any other reply is asked for again."""

_LEASE_S, _RENEWAL_S = 60.0, 10.0


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


class AnswerStore:
    """The store of one file: a context manager, for one event loop."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owner = uuid.uuid4().hex
        self._jobs: queue.SimpleQueue[tuple[Callable[[sqlite3.Connection], Any], Future[Any]] | None]
        self._jobs = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._file: tuple[int, int] | None = None
        self._renewed = 0.0

    def __enter__(self) -> AnswerStore:
        """Open the file, or make it; raises as ``connect``."""
        connection = connect(self.path)
        self._file = _identity(self.path)
        self._thread = threading.Thread(target=self._work, args=(connection,), name="goldbench-answers", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Write the remaining jobs, give up every claim and close."""
        self._submit(lambda connection: connection.execute("DELETE FROM claims WHERE owner = ?", (self._owner,)))
        self._jobs.put(None)
        if self._thread is not None:
            self._thread.join()

    async def find(self, key: bytes, *, claim: bool) -> tuple[StoredReply | None, bool]:
        """Return the answer to a key, None where there is none; and whether the key is now claimed.

        Args:
            key: The key.
            claim: Whether to claim a key without an answer, unless another caller or process is asking.
        """

        def look(connection: sqlite3.Connection) -> tuple[StoredReply | None, bool]:
            answer = find_answer(connection, key)
            return answer, answer is None and claim and self._claim(connection, key)

        return await self.transact(look)

    async def put(self, key: bytes, answer: StoredReply) -> None:
        """Store an answer; it is durable when this returns."""
        usage = answer.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.usd)
        reply = answer.reply.encode("utf-8", "surrogatepass")
        model = answer.model.encode("utf-8", "replace").decode()  # the server gives it, so it may hold anything
        row = (key, answer.stage, answer.prompt, model, answer.outcome, reply, answer.message, *counts, time.time())
        insert = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        await self.transact(lambda connection: connection.execute(insert, row))

    async def find_vectors(self, keys: Sequence[bytes], *, claim: bool) -> tuple[dict[bytes, bytes], list[bytes]]:
        """Return the stored vectors, as float32 bytes, and the keys that are now claimed; see `find`."""
        select = "SELECT vector FROM vectors WHERE key = ?"

        def look(connection: sqlite3.Connection) -> tuple[dict[bytes, bytes], list[bytes]]:
            rows = ((key, connection.execute(select, (key,)).fetchone()) for key in keys)
            known = {key: row[0] for key, row in rows if row}
            return known, [key for key in keys if claim and key not in known and self._claim(connection, key)]

        return await self.transact(look)

    async def put_vectors(self, model: str, vectors: dict[bytes, bytes]) -> None:
        """Store vectors; they are durable when this returns."""
        now = time.time()
        rows = [(key, model, vector, now) for key, vector in vectors.items()]
        insert = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)"
        await self.transact(lambda connection: connection.executemany(insert, rows))

    def release(self, *keys: bytes) -> None:
        """End claims, without waiting."""
        rows = [(key, self._owner) for key in keys]
        self._submit(lambda connection: connection.executemany("DELETE FROM claims WHERE key = ? AND owner = ?", rows))

    async def dialect(self, base_url: str, model: str) -> str | None:
        """Return the remembered dialect of a model, None where there is none."""
        return await self.transact(lambda connection: find_dialect(connection, base_url, model))

    async def remember_dialect(self, base_url: str, model: str, dialect: str) -> None:
        """Remember the dialect of a model, as JSON."""
        row = (base_url, model, dialect)
        await self.transact(
            lambda connection: connection.execute("INSERT OR REPLACE INTO dialects VALUES (?, ?, ?)", row)
        )

    async def transact(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Return the result of a job in the next transaction; its writes are durable when this returns."""
        if self._thread is None or not self._thread.is_alive():
            raise GoldbenchError(f"{self.path}: the answer store is not open")
        return await asyncio.wrap_future(self._submit(job))

    def _submit(self, job: Callable[[sqlite3.Connection], R]) -> Future[R]:
        future: Future[R] = Future()
        future.set_running_or_notify_cancel()  # whoever asked may be cancelled; the job is done all the same
        self._jobs.put((job, future))
        return future

    def _claim(self, connection: sqlite3.Connection, key: bytes) -> bool:
        now = time.time()
        holder = connection.execute("SELECT host, pid, expires FROM claims WHERE key = ?", (key,)).fetchone()
        if holder and holder[2] > now and _may_be_alive(holder[0], holder[1]):
            return False
        row = (key, self._owner, platform.node(), os.getpid(), now + _LEASE_S)
        connection.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?)", row)
        return True

    def _work(self, connection: sqlite3.Connection) -> None:
        """Do the jobs that have gathered, in one transaction, until the store is closed."""
        is_open = True
        while is_open:
            jobs = []
            try:
                job = self._jobs.get(timeout=_RENEWAL_S)
                while job is not None:
                    jobs.append(job)
                    job = self._jobs.get_nowait()
                is_open = False
            except queue.Empty:
                pass
            self._commit(connection, jobs)
        connection.close()

    def _commit(
        self, connection: sqlite3.Connection, jobs: list[tuple[Callable[[sqlite3.Connection], Any], Future[Any]]]
    ) -> None:
        try:
            connection.execute("BEGIN IMMEDIATE")
            results = [job(connection) for job, _ in jobs]
            if time.monotonic() - self._renewed >= _RENEWAL_S:
                renew = "UPDATE claims SET expires = ? WHERE owner = ?"
                connection.execute(renew, (time.time() + _LEASE_S, self._owner))
                self._renewed = time.monotonic()
            self._check_in_place()
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - the thread must live on; the callers get the error
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            problem = self._problem(error)
            for _, future in jobs:
                future.set_exception(problem)
        else:
            for (_, future), result in zip(jobs, results, strict=True):
                future.set_result(result)

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
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def _may_be_alive(host: str, pid: int) -> bool:
    """Return whether the process behind a claim may be at work; of another machine's only the lease tells."""
    if host != platform.node() or os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def find_answer(connection: sqlite3.Connection, key: bytes) -> StoredReply | None:
    """Return the answer to a key, None where there is none."""
    row = connection.execute(
        "SELECT stage, prompt, model, outcome, reply, message, input_tokens, output_tokens, cached_tokens, usd "
        "FROM answers WHERE key = ?",
        (key,),
    ).fetchone()
    if row is None:
        return None
    stage, prompt, model, outcome, reply, message = row[:6]
    return StoredReply(stage, prompt, model, outcome, reply.decode("utf-8", "surrogatepass"), message, Usage(*row[6:]))


def find_dialect(connection: sqlite3.Connection, base_url: str, model: str) -> str | None:
    """Return the remembered dialect of a model, None where there is none."""
    select = "SELECT dialect FROM dialects WHERE base_url = ? AND model = ?"
    row = connection.execute(select, (base_url, model)).fetchone()
    return row[0] if row else None


def forget_answered(connection: sqlite3.Connection) -> None:
    """Forget the lines of batches whose answers are stored, and the batches that have no other lines."""
    connection.execute("DELETE FROM batch_lines WHERE answer IN (SELECT key FROM answers)")
    connection.execute("DELETE FROM batches WHERE token NOT IN (SELECT token FROM batch_lines)")
