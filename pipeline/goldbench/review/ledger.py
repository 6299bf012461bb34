"""The ledger: people's decisions as events that are only ever added, in a file of SQLite."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from goldbench.errors import GoldbenchError, InputError
from goldbench.goldset.folder import GoldFolder
from goldbench.records.review_event import Event, EventKind
from goldbench.review.meanings import Meanings, QueryMeaning, SetMeanings, edited_wording
from goldbench.review.translation import Translation, translate
from goldbench.text.display import shell_command, shown

WAIT_S = 30.0
"""Seconds to wait for another process that holds the ledger."""

REQUEST_WAIT_S = 0.4
"""Seconds that a request waits for it; a page keeps and sends again what was refused."""

UNSTORABLE = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
"""NUL and lone surrogates, which other tools that read the file do not take; both are replaced."""

FORMAT = 1
"""The version of the tables; a ledger of another version is refused."""

_TABLES = {
    "goldbench_ledger": "one INTEGER PRIMARY KEY CHECK (one = 1), format INTEGER NOT NULL",
    "goldbench_event": "seq INTEGER PRIMARY KEY AUTOINCREMENT, client_id TEXT NOT NULL UNIQUE, "
    "undoes TEXT REFERENCES goldbench_event (client_id), body TEXT NOT NULL",
    "goldbench_meaning": "kind TEXT, data_sha TEXT, name TEXT, body TEXT NOT NULL, PRIMARY KEY (kind, data_sha, name)",
    "goldbench_lease": "query_id TEXT, chunk_id TEXT, annotator TEXT, slot INTEGER, until REAL NOT NULL, "
    "PRIMARY KEY (query_id, chunk_id, annotator), UNIQUE (query_id, chunk_id, slot)",
}
"""Events and meanings are JSON objects. A meaning is what the id of a judged query or passage means in a set, or a
rubric that people saw. A lease says who is looking at which pair, until when (seconds since 1970)."""

_RUBRIC = "rubric"
_DISK_ERROR = re.compile("disk|no space", re.IGNORECASE)
_ACT_FIELDS = ("annotator", "kind", "query_id", "chunk_id", "grade", "reason", "text", "undoes", "repeat")


class LedgerConflict(GoldbenchError):
    """Another event with this client id is stored."""


class LedgerFailed(GoldbenchError):
    """The database does not answer or refuses; nothing was stored."""


class LedgerGone(LedgerFailed):
    """The ledger's file was deleted or replaced while it was open; nothing that anybody would find was stored."""


def ledger_path(folder: Path, path: str | None) -> Path:
    """Return the file of a folder's ledger: the one that was named, or else the one in the folder."""
    return GoldFolder(folder).ledger if path is None else Path(path)


def open_ledger(path: Path, *, data_sha: str, meanings: SetMeanings | None = None, create: bool = True) -> Ledger:
    """Return the ledger in a file, which may hold events about other data sets.

    Args:
        path: The file.
        data_sha: The digest of the data set; see ``ReviewableSet.data_sha``.
        meanings: What the ids of the set mean; None if no set is open.
        create: Whether to create a missing ledger.

    Raises:
        InputError: It is missing and ``create`` is false, is not a ledger, or is of a later format.
    """
    name = shown(path)
    _check_path(path, name, create=create)
    with _explained(name):
        connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
    try:
        with _explained(name):
            _prepare(connection, create=create, name=name)
    except GoldbenchError:
        connection.close()
        raise
    return Ledger(connection, path, data_sha=data_sha, meanings=meanings)


def _check_path(path: Path, name: str, *, create: bool) -> None:
    if path.is_file():
        return
    if path.exists():
        raise InputError(name, "is not a plain file; give another ledger")
    if not create:
        command = shell_command("review", "DIR")
        raise InputError(name, f"is missing: nobody has judged here yet; {command} opens the page")
    if not path.parent.is_dir():
        raise InputError(name, "cannot be created: its folder is missing")


def _prepare(connection: sqlite3.Connection, *, create: bool, name: str) -> None:
    """Create the missing tables; refuse a database that is not a ledger."""
    known = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not create and "goldbench_ledger" not in known:
        raise InputError(name, f"holds no ledger; {shell_command('review', 'DIR')} creates one")
    if known - _TABLES.keys() - {"sqlite_sequence"}:
        raise InputError(name, "is a database of another program; give another ledger")
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    for table, columns in _TABLES.items():
        connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({columns})")
    connection.execute("INSERT OR IGNORE INTO goldbench_ledger VALUES (1, ?)", (FORMAT,))
    (form,) = connection.execute("SELECT format FROM goldbench_ledger").fetchone()
    if form != FORMAT:
        raise InputError(name, f"has ledger format {form}; this goldbench reads format {FORMAT}")


class Ledger:
    """An open ledger. Methods may be called from several threads, and several processes may share it."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path, *, data_sha: str, meanings: SetMeanings | None
    ) -> None:
        self.name = shown(path)
        self.data_sha = data_sha
        self.own = meanings
        self._connection = connection
        self._turn = threading.RLock()
        self._path = path
        self._identity = _identity(path)
        self._log = path.with_name(f"{path.name}-wal")
        self._had_log = self._log.exists()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the database."""
        self._connection.close()

    def hurry(self) -> None:
        """Wait for another process no longer than a request may, from now on."""
        self.execute(f"PRAGMA busy_timeout={round(REQUEST_WAIT_S * 1000)}")

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Exclude other writers, and commit what is written within the block at its end.

        Raises:
            LedgerFailed: The database does not answer; nothing was stored.
            LedgerGone: The file is not at its path any more, before or after the transaction.
        """
        with self._turn:
            self._check_file()
            with _explained(self.name):
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            self._check_file()  # a deleted file still takes what is written into it, but nobody finds it again

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a statement; what it writes belongs to the block of `writing` around it."""
        with self._turn:
            if not self._connection.in_transaction:
                self._check_file()
            with _explained(self.name):
                return self._connection.execute(statement, values).fetchall()

    def _check_file(self) -> None:
        now = _identity(self._path)
        problem = ""
        if now is None:
            problem = "was deleted or moved away while it was open; put it back"
        elif now != self._identity:
            problem = "was replaced by another file while it was open; put the first one back, or start again"
        elif self._had_log and not self._log.exists():
            problem = f"has lost {self._log.name}, which was deleted while it was open; start the server again"
        if problem:
            raise LedgerGone(f"{self.name}: {problem}")

    def append(self, event: Event) -> Event:
        """Return the event as stored, with its number; an event with a stored ``client_id`` is not stored again.

        Raises:
            LedgerConflict: Another event with this client id is stored.
            InputError: The event is of another data set.
            LedgerFailed: The database does not answer; nothing was stored.
        """
        return self.append_all([event])[0]

    def append_all(self, events: Iterable[Event], *, meanings: Meanings | None = None) -> list[Event]:
        """Return the events as stored, all in one transaction; see ``append``.

        Args:
            events: The events.
            meanings: What the ids of events about other sets mean; without it such events are refused.
        """
        with self.writing():
            if meanings is not None:
                self._store_meanings(meanings)
            return [self.add(event, any_set=meanings is not None) for event in events]

    def add(self, event: Event, *, any_set: bool = False) -> Event:
        """Store an event, and what its ids mean, within a block of ``writing``; see ``append``.

        Args:
            event: The event.
            any_set: Whether it may be about another set, whose texts are stored.
        """
        if event.data_sha != self.data_sha and not any_set:
            raise InputError(self.name, "an event belongs to another data set")
        stored = self.find(event.client_id)
        if stored is not None:
            if not is_same_act(stored, event):
                raise LedgerConflict(f"{self.name}: another event with client_id {event.client_id} is stored")
            return stored
        row = _row(event)
        insert = "INSERT INTO goldbench_event (client_id, undoes, body) VALUES (?, ?, ?) RETURNING seq"
        ((number,),) = self.execute(insert, (event.client_id, event.undoes, json.dumps(row)))
        if event.data_sha == self.data_sha:
            self._record_meanings(event)
        return Event.model_validate({**row, "seq": number})

    def find(self, client_id: str) -> Event | None:
        """Return the event with a client id, or None."""
        rows = self.execute("SELECT seq, body FROM goldbench_event WHERE client_id = ?", (client_id,))
        return self._event(*rows[0]) if rows else None

    def events(self, *, after: int = 0) -> list[Event]:
        """Return the events with a number above ``after``, in order."""
        rows = self.execute("SELECT seq, body FROM goldbench_event WHERE seq > ? ORDER BY seq", (after,))
        return [self._event(*row) for row in rows]

    def _event(self, number: int, body: str) -> Event:
        try:
            return Event.model_validate({**json.loads(body), "seq": number})
        except (TypeError, ValueError):
            raise InputError(self.name, "is not a ledger, or is damaged; give another") from None

    def meanings(self) -> Meanings:
        """Return what is stored about the meaning of ids."""
        rows = self.execute("SELECT body FROM goldbench_meaning WHERE kind != ?", (_RUBRIC,))
        return Meanings.from_rows(json.loads(body) for (body,) in rows)

    def translated(self, events: Sequence[Event]) -> Translation:
        """Return events of this ledger as they apply to the open set; without a set, as they are.

        Args:
            events: All events, in the order of their numbers.
        """
        if self.own is None or all(event.data_sha == self.data_sha for event in events):
            return Translation(tuple(events))
        return translate(events, self.meanings(), self.own)

    def _record_meanings(self, event: Event) -> None:
        """Store what the ids of an event mean in the open set, as far as the set and its edits tell."""
        own = self.own
        if own is None:
            return
        query = own.query(event.query_id) or self._edited_query(event.query_id)
        passage = own.passage(event.chunk_id) if event.chunk_id is not None else None
        queries = {} if query is None else {(own.data_sha, event.query_id): query}
        passages = {} if passage is None else {(own.data_sha, event.chunk_id or ""): passage}
        self._store_meanings(Meanings(queries, passages))
        if event.rubric_sha == own.rubric.sha:
            self._store_meaning(_RUBRIC, "", own.rubric.sha, {"text": own.rubric.text})

    def _edited_query(self, query_id: str) -> QueryMeaning | None:
        select = "SELECT seq, body FROM goldbench_event WHERE json_extract(body, '$.kind') = ? ORDER BY seq"
        edits = [self._event(*row) for row in self.execute(select, (EventKind.EDIT_QUERY.value,))]
        text = edited_wording(
            query_id, [(edit.query_id, edit.text or "") for edit in edits if edit.data_sha == self.data_sha]
        )
        return QueryMeaning(text) if text else None

    def _store_meanings(self, meanings: Meanings) -> None:
        for row in meanings.as_rows():
            kind = "query_id" if "query_id" in row else "chunk_id"
            self._store_meaning(kind, row["data_sha"], row[kind], row)

    def _store_meaning(self, kind: str, data_sha: str, name: str, body: Mapping[str, Any]) -> None:
        values = (kind, data_sha, name, json.dumps(_storable(body)))
        self.execute("INSERT OR IGNORE INTO goldbench_meaning VALUES (?, ?, ?, ?)", values)


def is_same_act(event: Event, earlier: Event) -> bool:
    """Return whether two events with one client id are stored as the same act."""
    row = _row(event)
    other_row = _row(earlier)
    return all(row[key] == other_row[key] for key in _ACT_FIELDS)


def _row(event: Event) -> dict[str, Any]:
    return _storable(event.model_dump(mode="json", exclude={"seq"}))


def _storable(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value.translate(UNSTORABLE) if isinstance(value, str) else value for key, value in fields.items()}


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn an error of the database into one line, without the values of the statement."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise LedgerConflict(f"{name}: an event refers to a missing one, or breaks a rule of the tables") from None
    except sqlite3.Error as error:
        reason = next(iter(str(error).strip().splitlines()), "no reason given")
        if "file is not a database" in reason or "malformed" in reason:
            raise InputError(name, "is not a ledger, or is damaged; give another") from None
        advice = ": make room on the disk, or end what else uses the file" if _DISK_ERROR.search(reason) else ""
        raise LedgerFailed(f"{name}: {shown(reason)[:160]}{advice}") from None
