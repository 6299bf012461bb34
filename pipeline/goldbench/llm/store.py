"""The answer store: every answer of a model, kept in one SQLite file before anything uses it.

A thread of its own reads and writes. It takes every job that has gathered, commits them together (write-ahead log,
``synchronous=FULL``) and only then lets the callers go on, so that one flush serves many answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from goldbench.errors import GoldbenchError, InputError, OutputError, explained
from goldbench.ports import Usage

APPLICATION_ID = 0x676F6C64
"""«gold»: marks an SQLite file as an answer store."""
VERSION = 1

_BUSY_S = 60.0
_TABLES = (
    """CREATE TABLE answers (key BLOB PRIMARY KEY, stage TEXT NOT NULL, prompt TEXT NOT NULL, model TEXT NOT NULL,
  outcome TEXT NOT NULL, reply BLOB NOT NULL, message TEXT NOT NULL, input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, usd REAL, created REAL NOT NULL)""",
    "CREATE TABLE vectors (key BLOB PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL, created REAL NOT NULL)",
    "CREATE TABLE dialects (base_url TEXT, model TEXT, dialect TEXT NOT NULL, PRIMARY KEY (base_url, model))",
    "CREATE TABLE batches (token TEXT PRIMARY KEY, base_url TEXT NOT NULL, batch_id TEXT)",
    "CREATE TABLE batch_lines (line BLOB PRIMARY KEY, answer BLOB NOT NULL, token TEXT NOT NULL)",
)
_MAKE_ROOM = "make room on the disk, or end what else uses the file"
_PASSING = frozenset({"BUSY", "LOCKED", "FULL", "READONLY", "IOERR", "CANTOPEN", "PERM", "NOMEM", "PROTOCOL", "AUTH"})
"""SQLite's errors about the disk, the rights or another process; the file itself is not damaged."""
_DAMAGED = "the answer store is damaged: move it away, or repair it with sqlite3's .recover"
_NO_STORE = "no answer store here; give the file answers.sqlite beside a gold set"
_NOT_A_STORE = "not an answer store, or a damaged one: move it away or name another file"

R = TypeVar("R")

_log = logging.getLogger(__name__)

KEPT_REJECTIONS = frozenset({"misfit", "no-probability", "refusal", "content-filter", "cut-off", "loop"})
"""The kinds of rejected replies that are stored, because they were paid for; any other reply is asked for again."""


@contextlib.contextmanager
def _sqlite_explained(path: Path) -> Iterator[None]:
    """Raise an error of SQLite, whose own words may hold content, as one line about the store."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_").partition("_")[0]
        if name in _PASSING:
            raise OutputError(f"{path}: the answer store cannot be used ({error}): {_MAKE_ROOM}") from None
        raise InputError(path, _NOT_A_STORE if name == "NOTADB" else _DAMAGED) from None


def connect(path: Path, *, create: bool = True) -> sqlite3.Connection:
    """Open an answer store, and set up a new file.

    Raises:
        InputError: The file is not an answer store, is damaged, or comes from a newer goldbench.
        OutputError: It cannot be made or opened.
    """
    if not create and not path.is_file():
        raise InputError(path, _NO_STORE)
    if path.exists() and not path.is_file():
        raise InputError(path, "is not a plain file; name another for the answer store")
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with _sqlite_explained(path):
        connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        with _sqlite_explained(path):
            connection.execute("BEGIN IMMEDIATE")  # another process may be setting it up
            if _check_version(connection, path, may_be_new=create):
                _make_tables(connection)
            connection.execute("COMMIT")
            _let_readers_in(connection, path)
            connection.execute("PRAGMA synchronous = FULL")  # an answer is on the disk when it is committed
    except GoldbenchError:
        connection.close()
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
    with (
        _sqlite_explained(path),
        contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)) as connection,
    ):
        connection.execute("BEGIN")  # one view of the file: another process may be setting it up
        if _check_version(connection, path, may_be_new=is_new):
            _make_tables(connection)
        connection.execute("COMMIT")
        yield connection


@contextlib.contextmanager
def opened_store(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an answer store that exists, for one job, and turn SQLite's errors into one line about the store.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be used now.
    """
    with contextlib.closing(connect(path, create=False)) as connection, _sqlite_explained(path):
        yield connection


def _check_version(connection: sqlite3.Connection, path: Path, *, may_be_new: bool) -> bool:
    """Refuse what is no store of this version; return whether the file is empty, an error unless it may be new."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
    if application != APPLICATION_ID and (application or tables or not may_be_new):
        raise InputError(path, _NOT_A_STORE)
    if version > VERSION:
        raise InputError(path, f"the answer store has version {version}, this goldbench reads {VERSION}: update it")
    if version and tables != set(_TABLES):
        raise InputError(path, "the answer store has other tables than it should: put a copy back, or move it away")
    return version == 0


def _let_readers_in(connection: sqlite3.Connection, path: Path) -> None:
    """Let readers and one writer work at once; a process that is in the file now does the same."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise
        _log.debug("%s: another process holds the store; its journal stays as it is", path)


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _TABLES:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


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
        self._jobs: deque[tuple[Callable[[sqlite3.Connection], Any], Future[Any]]] = deque()
        self._turns: WeakValueDictionary[bytes, asyncio.Lock] = WeakValueDictionary()

    def __enter__(self) -> AnswerStore:
        """Open the file, or make it; raises as ``connect``."""
        self._connection = connect(self.path)
        self._file = _identity(self.path)
        self._thread = ThreadPoolExecutor(1, "goldbench-answers")
        return self

    def __exit__(self, *_: object) -> None:
        """Do the remaining jobs and close."""
        self._thread.shutdown()
        self._connection.close()

    def turn(self, key: bytes) -> asyncio.Lock:
        """Return the lock of a key: who asks for its answer holds it, so that the same question is sent once."""
        lock = self._turns.get(key)
        if lock is None:
            lock = self._turns[key] = asyncio.Lock()
        return lock

    async def find(self, key: bytes) -> StoredReply | None:
        """Return the answer to a key, None where there is none."""
        return await self.transact(lambda connection: find_answer(connection, key))

    async def put(self, key: bytes, answer: StoredReply) -> None:
        """Store an answer; it is durable when this returns."""
        usage = answer.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.usd)
        reply = answer.reply.encode("utf-8", "surrogatepass")
        model = answer.model.encode("utf-8", "replace").decode()  # the server gives it, so it may hold anything
        row = (key, answer.stage, answer.prompt, model, answer.outcome, reply, answer.message, *counts, time.time())
        insert = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        await self.transact(lambda connection: connection.execute(insert, row))

    async def find_vectors(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of these keys, as float32 bytes."""
        select = "SELECT vector FROM vectors WHERE key = ?"

        def look(connection: sqlite3.Connection) -> dict[bytes, bytes]:
            rows = ((key, connection.execute(select, (key,)).fetchone()) for key in keys)
            return {key: row[0] for key, row in rows if row}

        return await self.transact(look)

    async def put_vectors(self, model: str, vectors: dict[bytes, bytes]) -> None:
        """Store vectors; they are durable when this returns."""
        now = time.time()
        rows = [(key, model, vector, now) for key, vector in vectors.items()]
        insert = "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)"
        await self.transact(lambda connection: connection.executemany(insert, rows))

    async def dialect(self, base_url: str, model: str) -> str | None:
        """Return the remembered dialect of a model, None where there is none."""
        return await self.transact(lambda connection: find_dialect(connection, base_url, model))

    async def remember_dialect(self, base_url: str, model: str, dialect: str) -> None:
        """Remember the dialect of a model, as JSON."""
        row = (base_url, model, dialect)
        insert = "INSERT OR REPLACE INTO dialects VALUES (?, ?, ?)"
        await self.transact(lambda connection: connection.execute(insert, row))

    async def transact(self, job: Callable[[sqlite3.Connection], R]) -> R:
        """Return the result of a job in the next transaction; its writes are durable when this returns."""
        future: Future[R] = Future()
        future.set_running_or_notify_cancel()  # whoever asked may be cancelled; the job is done all the same
        self._jobs.append((job, future))
        self._thread.submit(self._commit_jobs)
        return await asyncio.wrap_future(future)

    def _commit_jobs(self) -> None:
        """Do the jobs that have gathered, in one transaction."""
        jobs = [self._jobs.popleft() for _ in range(len(self._jobs))]
        if not jobs:  # an earlier transaction took them along
            return
        try:
            with _sqlite_explained(self.path):
                self._connection.execute("BEGIN IMMEDIATE")
                results = [job(self._connection) for job, _ in jobs]
                self._check_in_place()
                self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - the callers get the error
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            for _, future in jobs:
                future.set_exception(error)
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


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


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
