"""The answer store's file: its tables, opening it, its errors, and whether the process behind a claim is alive."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from goldbench.pipeline.errors import InputError, OutputError

APPLICATION_ID = 0x676F6C64
"""«gold»: marks an SQLite file as an answer store."""
VERSION = 1

_BUSY_S = 60.0
_TABLES = """
CREATE TABLE answers (
  key BLOB PRIMARY KEY, stage TEXT NOT NULL, prompt TEXT NOT NULL, model TEXT NOT NULL, outcome TEXT NOT NULL,
  reply BLOB NOT NULL, message TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, usd REAL, created REAL NOT NULL);
CREATE TABLE vectors (key BLOB PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL, created REAL NOT NULL);
CREATE TABLE claims (
  key BLOB PRIMARY KEY, owner TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
  expires REAL NOT NULL);
CREATE TABLE dialects (base_url TEXT, model TEXT, dialect TEXT NOT NULL, PRIMARY KEY (base_url, model));
"""
_MAKE_ROOM = "make room on the disk, or end what else uses the file"
_PASSING = frozenset({"BUSY", "LOCKED", "FULL", "READONLY", "IOERR", "CANTOPEN", "PERM", "NOMEM", "PROTOCOL", "AUTH"})
"""SQLite's errors about the disk, the rights or another process; the file itself is not damaged."""
_DAMAGED = "the answer store is damaged: move it away, or repair it with sqlite3's .recover"
_NO_STORE = "no answer store here; give the file answers.sqlite beside a gold set"
_FOREIGN = "not an answer store, or a damaged one: move it away or name another file"

TAKE_OVER = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)"


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
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise OutputError(f"{path}: the answer store cannot be opened ({type(error).__name__})") from None
        with contextlib.ExitStack() as failed:
            failed.callback(connection.close)
            try:
                _set_up(connection, path, create=create)
            except sqlite3.OperationalError as error:
                # Switching to the write-ahead log does not wait for its turn, unlike everything else.
                if "locked" not in str(error) or time.monotonic() > until:
                    raise OutputError(f"{path}: the answer store cannot be opened ({error}): {_MAKE_ROOM}") from None
                time.sleep(0.01)
            except sqlite3.DatabaseError:
                raise InputError(path, _FOREIGN) from None
            else:
                failed.pop_all()
                return connection


def connect_unchanged(path: Path) -> sqlite3.Connection:
    """Open an answer store to read it, without the files that SQLite would leave beside it.

    Raises:
        InputError: The file is missing or is not an answer store.
    """
    if not path.is_file():
        raise InputError(path, _NO_STORE)
    log = path.with_name(f"{path.name}-wal")
    # Without a log no other process writes; SQLite would otherwise make a log of its own to read the store.
    how = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    with contextlib.ExitStack() as failed:
        try:
            address = f"{path.resolve().as_uri()}?{how}"
            connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
            failed.callback(connection.close)
            _version(connection, path, may_be_new=False)
        except sqlite3.Error:
            raise InputError(path, _FOREIGN) from None
        failed.pop_all()
        return connection


def _version(connection: sqlite3.Connection, path: Path, *, may_be_new: bool) -> int:
    """Return the version of the store, 0 for an empty file, which is an error unless it may be new."""
    connection.execute("BEGIN")  # one view of the file: another process may be setting it up
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    finally:
        with contextlib.suppress(sqlite3.Error):  # an error of the disk has ended the transaction, and tells more
            connection.execute("ROLLBACK")
    if application != APPLICATION_ID and (application or tables or not may_be_new):
        raise InputError(path, _FOREIGN)
    if version > VERSION:
        raise InputError(
            path, f"the answer store has version {version}, this goldbench reads up to {VERSION}: update it"
        )
    if version and (problem := _other_columns(connection)):
        raise InputError(path, f"the answer store {problem}: put a copy back, or move it away to start a new one")
    return version


def _other_columns(connection: sqlite3.Connection) -> str | None:
    """Return what the tables lack of those of a new store, or None."""
    for table, columns in _columns().items():
        there = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
        if not there:
            return f"has no table {table}"
        if lacking := [name for name in columns if name not in there]:
            return f"has a table {table} without the column {lacking[0]}"
        if len(there) > len(columns):
            return f"has a table {table} with columns of another program"
    return None


@cache
def _columns() -> dict[str, list[str]]:
    """Return the columns of each table of a new store."""
    with contextlib.closing(sqlite3.connect(":memory:")) as new:
        new.executescript(_TABLES)
        tables = [row[0] for row in new.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: [row[1] for row in new.execute(f"PRAGMA table_info({table})")] for table in tables}


def _set_up(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    version = _version(connection, path, may_be_new=create)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # no other process was faster
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


@contextlib.contextmanager
def opened_store(path: Path, *, create: bool = False) -> Iterator[sqlite3.Connection]:
    """Open an answer store for one job, and turn SQLite's errors and wrong values into one line about the store.

    Raises:
        InputError: There is no store, or it is damaged.
        OutputError: It cannot be used now.
    """
    problem: InputError | OutputError
    with contextlib.closing(connect(path, create=create)) as connection:
        try:
            yield connection
        except sqlite3.Error as error:
            problem = store_problem(path, error)
        except (ValueError, TypeError, AttributeError, OverflowError):
            problem = InputError(path, _DAMAGED)
        else:
            return
    raise problem


def store_problem(path: Path, error: sqlite3.Error) -> InputError | OutputError:
    """Return the error to raise for an SQLite error in an open store."""
    name = getattr(error, "sqlite_errorname", "")
    if name.removeprefix("SQLITE_").partition("_")[0] in _PASSING:
        return OutputError(f"{path}: the answer store cannot be used ({error}): {_MAKE_ROOM}")
    return InputError(path, _DAMAGED)  # SQLite's own words may hold content


def process_start(pid: int) -> str:
    """Return when a process began, in the system's unit; empty for an unknown process or system."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[19].decode("ascii")


def is_alive(host: str, pid: int, started: str) -> bool:
    """Return whether the process behind a claim may still be at work; on another machine only the lease tells.

    Args:
        host: Name of the machine.
        pid: Number of the process.
        started: When the process started, as `process_start` gives it; empty if not known.
    """
    if host != platform.node():
        return True
    if started:
        return process_start(pid) == started
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
