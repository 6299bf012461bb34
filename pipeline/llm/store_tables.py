"""The answer store's file: its tables, how it is opened, and whether the process behind a claim still lives."""

from __future__ import annotations

import contextlib
import os
import platform
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from pipeline.errors import InputError, OutputError

APPLICATION_ID = 0x676F6C64
"""«gold»: tells an answer store from any other SQLite file."""
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
_PASSING = frozenset({"BUSY", "LOCKED", "FULL", "READONLY", "IOERR", "CANTOPEN", "PERM", "NOMEM", "PROTOCOL", "AUTH"})
"""SQLite's errors that are about the disk, the rights or another process: the file itself is sound."""
_DAMAGED = "the answer store is damaged; move it away, or repair it with sqlite3's .recover"

TAKE_OVER = "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)"


def connect(path: Path, *, create: bool = True) -> sqlite3.Connection:
    """Open an answer store, made and set up where it is new; two processes may do so at once.

    Raises:
        InputError: the file is no answer store, is damaged, or is of a newer goldset.
        OutputError: it cannot be made or opened.
    """
    if not create and not path.is_file():
        raise InputError(path, "there is no answer store here")
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise OutputError(f"{path}: the answer store cannot be opened ({type(error).__name__})") from None
        try:
            _set_up(connection, path, create=create)
        except sqlite3.OperationalError as error:
            connection.close()
            # Switching to the write-ahead log does not wait for its turn as everything else does.
            if "locked" not in str(error) or time.monotonic() > until:
                raise OutputError(f"{path}: the answer store cannot be opened ({error})") from None
            time.sleep(0.01)
        except sqlite3.DatabaseError:
            connection.close()
            raise InputError(path, "this is no answer store, or a damaged one; move it away or name another") from None
        except InputError:
            connection.close()
            raise
        else:
            return connection


def connect_unchanged(path: Path) -> sqlite3.Connection:
    """Open an answer store to read it and leave no trace, not even the files that SQLite keeps beside it.

    Raises:
        InputError: there is none, or the file is no answer store.
    """
    if not path.is_file():
        raise InputError(path, "there is no answer store here")
    beside = path.with_name(f"{path.name}-wal")
    # Without a log beside it nobody else is writing; SQLite would otherwise make a log of its own to read it.
    how = "mode=ro" if beside.exists() and beside.stat().st_size else "mode=ro&immutable=1"
    try:
        address = f"{path.resolve().as_uri()}?{how}"
        connection = sqlite3.connect(address, uri=True, timeout=_BUSY_S, isolation_level=None)
        try:
            _check(connection, path)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error:
        raise InputError(path, "this is no answer store, or a damaged one; move it away or name another") from None
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise InputError(path, "this SQLite file is no answer store; name another")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise InputError(
            path, f"this answer store is of version {version}, this goldset reads up to {VERSION}: update it"
        )


def _set_up(connection: sqlite3.Connection, path: Path, *, create: bool) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not create and not application and not tables:
        raise InputError(path, "this is no answer store; name another")
    if application != APPLICATION_ID and (tables or application):
        raise InputError(path, "this SQLite file is no answer store; name another")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise InputError(
            path, f"this answer store is of version {version}, this goldset reads up to {VERSION}: update it"
        )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    if version == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:  # nobody was faster
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


@contextlib.contextmanager
def blaming(path: Path) -> Iterator[None]:
    """Put what SQLite, or a value of the wrong kind, says of a store's content into one line that blames the store.

    Raises:
        InputError: the store is damaged.
        OutputError: it is sound, but cannot be used now.
    """
    problem: InputError | OutputError
    try:
        yield
    except sqlite3.Error as error:
        problem = store_problem(path, error)
    except (ValueError, TypeError, AttributeError, OverflowError):
        problem = InputError(path, _DAMAGED)
    else:
        return
    raise problem


def store_problem(path: Path, error: sqlite3.Error) -> InputError | OutputError:
    """Return what to raise for an error of SQLite about a store that was opened well."""
    name = getattr(error, "sqlite_errorname", "")
    if name.removeprefix("SQLITE_").partition("_")[0] in _PASSING:
        return OutputError(f"{path}: the answer store cannot be used ({error}); free the disk or the file")
    return InputError(path, _DAMAGED)  # SQLite's own words may hold content


def process_start(pid: int) -> str:
    """Return when a process began, in the system's own unit, empty where the system does not say or there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    return fields[19].decode("ascii")


def is_alive(host: str, pid: int, started: str) -> bool:
    """Whether the process behind a claim may still be at work; of another machine only the lease tells."""
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
