"""The ledger: people's decisions as events that are only ever added, in SQLite or PostgreSQL."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from goldbench.errors import GoldbenchError, InputError, MissingExtra, UsageError
from goldbench.goldset.folder import GoldFolder
from goldbench.records.review_event import Event, EventKind
from goldbench.review import tables
from goldbench.review.meanings import Meanings, QueryMeaning, SetMeanings, edited_wording
from goldbench.review.translation import Translation, translate
from goldbench.text.display import shell_command, shown

WAIT_S = 30.0
"""Seconds to wait for another process that holds the ledger."""

REQUEST_WAIT_S = 0.4
"""Seconds that a request waits for it; a page keeps and sends again what was refused."""

UNSTORABLE = {0: "\ufffd"} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
"""NUL, which PostgreSQL cannot store, and lone surrogates, which no database can; both are replaced."""

_HOLD = sa.select(tables.about.c.data_sha).with_for_update()
_RUBRIC = "rubric"
_DISK_ERROR = re.compile("disk|no space", re.IGNORECASE)
_ACT_FIELDS = ("annotator", "kind", "query_id", "chunk_id", "grade", "reason", "text", "undoes", "repeat")


class LedgerConflict(GoldbenchError):
    """Another event with this client id is stored."""


class LedgerFailed(GoldbenchError):
    """The database does not answer or refuses; nothing was stored."""


class LedgerGone(LedgerFailed):
    """The ledger's file was deleted or replaced while it was open; nothing that anybody would find was stored."""


def ledger_url(folder: Path, address: str | None) -> str:
    """Return the address of a folder's ledger: the given one, or else the file in the folder."""
    return address or str(GoldFolder(folder).ledger)


def ledger_file(address: str) -> Path | None:
    """Return the file of a ledger, or None if a database server keeps it."""
    url = _parse_address(address)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def open_ledger(
    address: str | Path, *, data_sha: str, meanings: SetMeanings | None = None, create: bool = True
) -> Ledger:
    """Return the ledger at an address, which may hold events about other data sets.

    Args:
        address: A path, ``sqlite:///…`` or ``postgresql://…``.
        data_sha: The digest of the data set; see ``ReviewableSet.data_sha``.
        meanings: What the ids of the set mean; None if no set is open.
        create: Whether to create a missing ledger.

    Raises:
        InputError: It is missing and ``create`` is false, is not a ledger, or is of a later format.
        UsageError: The address is not valid, or is that of another kind of database.
        MissingExtra: The driver for PostgreSQL is not installed.
    """
    name = _without_password(str(address))
    path = ledger_file(str(address))
    if path is not None:
        _check_path(path, name, create=create)
    engine = _open_engine(str(address))
    try:
        with _explained(name), engine.begin() as connection:
            _prepare(connection, data_sha, create=create, name=name)
    except GoldbenchError:
        engine.dispose()
        raise
    return Ledger(engine, name=name, data_sha=data_sha, meanings=meanings, path=path)


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


def _open_engine(address: str) -> Engine:
    url = _parse_address(address)
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, connect_args={"check_same_thread": False, "timeout": WAIT_S})
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
        return engine
    try:
        options = {"options": f"-c lock_timeout={round(WAIT_S * 1000)}"}
        return sa.create_engine(url, pool_pre_ping=True, hide_parameters=True, connect_args=options)
    except ModuleNotFoundError:
        raise MissingExtra("psycopg", "postgres") from None


def _parse_address(address: str) -> URL:
    if "://" not in address:
        return URL.create("sqlite", database=address)
    try:
        url = make_url(address)
    except ArgumentError:
        problem = "not a valid address; give a file or postgresql://user@host/name"
        raise UsageError(problem, parameter="ledger") from None
    if url.drivername in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise UsageError(f"not a supported database: {url.drivername}; use sqlite or postgresql", parameter="ledger")
    if url.drivername == "sqlite" and not url.database:
        problem = "sqlite:// names no file; give one, because a ledger in memory would be lost"
        raise UsageError(problem, parameter="ledger")
    return url


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401  the driver's own
    connection.isolation_level = None  # transactions begin where this module says
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _prepare(connection: Connection, data_sha: str, *, create: bool, name: str) -> None:
    """Create the missing tables, and lock the ledger; refuse a database that is not a ledger."""
    if connection.dialect.name == "postgresql":  # two servers may start at once
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7305811)"))
    known = set(sa.inspect(connection).get_table_names())
    if not create and tables.about.name not in known:
        raise InputError(name, f"holds no ledger; {shell_command('review', 'DIR')} creates one")
    if connection.dialect.name == "sqlite" and known - set(tables.metadata.tables):
        raise InputError(name, "is a database of another program; give another ledger")
    tables.metadata.create_all(connection)
    row = connection.execute(sa.select(tables.about)).one_or_none()
    if row is None:
        values = {"one": 1, "format": tables.FORMAT, "data_sha": data_sha}
        connection.execute(sa.insert(tables.about).values(values))
    elif row.format != tables.FORMAT:
        raise InputError(name, f"has ledger format {row.format}; this goldbench reads format {tables.FORMAT}")
    connection.execute(_HOLD).one()


class Ledger:
    """An open ledger. Methods may be called from several threads, and several processes may share it."""

    def __init__(
        self, engine: Engine, *, name: str, data_sha: str, meanings: SetMeanings | None, path: Path | None
    ) -> None:
        self._engine = engine
        self.name = name
        self.data_sha = data_sha
        self.own = meanings
        self._path = path
        self._identity = _identity(path)
        self._log = path.with_name(f"{path.name}-wal") if path is not None else None
        self._had_log = self._log is not None and self._log.exists()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    def hurry(self) -> None:
        """Wait for another process no longer than a request may, from now on."""
        milliseconds = round(REQUEST_WAIT_S * 1000)

        def set_sqlite_wait(connection: Any, _: object, __: object) -> None:  # noqa: ANN401  the driver's own
            connection.execute(f"PRAGMA busy_timeout={milliseconds}")

        def set_postgres_wait(connection: Connection) -> None:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")

        if self._path is not None:
            sa.event.listen(self._engine, "checkout", set_sqlite_wait)
        else:
            sa.event.listen(self._engine, "begin", set_postgres_wait)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that excludes other writers and is committed at the end.

        Raises:
            LedgerFailed: The database does not answer; nothing was stored.
            LedgerGone: The file is not at its path any more, before or after the transaction.
        """
        self._check_file()
        with _explained(self.name), self._engine.begin() as connection:
            connection.execute(_HOLD).one()
            yield connection
        self._check_file()  # a deleted file still takes what is written into it, but nobody finds it again

    @contextlib.contextmanager
    def _reading(self, connection: Connection | None = None) -> Iterator[Connection]:
        if connection is not None:
            yield connection
            return
        self._check_file()
        with _explained(self.name), self._engine.connect() as own:
            yield own

    def _check_file(self) -> None:
        now = _identity(self._path)
        problem = ""
        if now is None and self._identity is not None:
            problem = "was deleted or moved away while it was open; put it back"
        elif now != self._identity:
            problem = "was replaced by another file while it was open; put the first one back, or start again"
        elif self._had_log and self._log is not None and not self._log.exists():
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
        with self.writing() as connection:
            if meanings is not None:
                _store_meanings(connection, meanings)
            return [self.add(connection, event, any_set=meanings is not None) for event in events]

    def add(self, connection: Connection, event: Event, *, any_set: bool = False) -> Event:
        """Store an event, and what its ids mean, within a transaction of ``writing``; see ``append``.

        Args:
            connection: The transaction.
            event: The event.
            any_set: Whether it may be about another set, whose texts are stored.
        """
        if event.data_sha != self.data_sha and not any_set:
            raise InputError(self.name, "an event belongs to another data set")
        stored = self._find(connection, event.client_id)
        if stored is not None:
            if not is_same_act(stored, event):
                raise LedgerConflict(f"{self.name}: another event with client_id {event.client_id} is stored")
            return stored
        row = _row(event)
        number = connection.execute(sa.insert(tables.event).returning(tables.event.c.seq), row).scalar_one()
        if self.own is not None and event.data_sha == self.data_sha:
            _record_meanings(connection, self.own, event)
        return Event.model_validate({**row, "seq": number})

    def find(self, client_id: str) -> Event | None:
        """Return the event with a client id, or None."""
        with self._reading() as connection:
            return self._find(connection, client_id)

    def _find(self, connection: Connection, client_id: str) -> Event | None:
        row = connection.execute(sa.select(tables.event).where(tables.event.c.client_id == client_id)).first()
        return None if row is None else _event(row)

    def events(self, *, after: int = 0, connection: Connection | None = None) -> list[Event]:
        """Return the events with a number above ``after``, in order.

        Args:
            after: The number of the last known event.
            connection: A transaction of ``writing``; None for a new one.
        """
        number = tables.event.c.seq
        with self._reading(connection) as reading:
            rows = reading.execute(sa.select(tables.event).where(number > after).order_by(number))
            return [_event(row) for row in rows]

    def meanings(self, *, connection: Connection | None = None) -> Meanings:
        """Return what is stored about the meaning of ids; see ``events``."""
        column = tables.meaning.c
        bodies = sa.select(column.body).where(column.kind != _RUBRIC)
        with self._reading(connection) as reading:
            return Meanings.from_rows(json.loads(row.body) for row in reading.execute(bodies))

    def translated(self, events: Sequence[Event], *, connection: Connection | None = None) -> Translation:
        """Return events of this ledger as they apply to the open set; without a set, as they are.

        Args:
            events: All events, in the order of their numbers.
            connection: A transaction of ``writing``; None for a new one.
        """
        if self.own is None or all(event.data_sha == self.data_sha for event in events):
            return Translation(tuple(events))
        return translate(events, self.meanings(connection=connection), self.own)


def is_same_act(event: Event, other: Event) -> bool:
    """Return whether two events with one client id are stored as the same act."""
    row, other_row = _row(event), _row(other)
    return all(row[key] == other_row[key] for key in _ACT_FIELDS)


def _row(event: Event) -> dict[str, Any]:
    row = event.model_dump(mode="json", exclude={"seq"})
    return {key: value.translate(UNSTORABLE) if isinstance(value, str) else value for key, value in row.items()}


def _event(row: sa.Row[Any]) -> Event:
    return Event.model_validate(dict(row._mapping))  # noqa: SLF001  SQLAlchemy's public name


def _record_meanings(connection: Connection, own: SetMeanings, event: Event) -> None:
    """Store what the ids of an event mean in the open set, as far as the set and its edits tell."""
    query = own.query(event.query_id) or _edited_query(connection, own.data_sha, event.query_id)
    passage = own.passage(event.chunk_id) if event.chunk_id is not None else None
    queries = {} if query is None else {(own.data_sha, event.query_id): query}
    passages = {} if passage is None else {(own.data_sha, event.chunk_id or ""): passage}
    _store_meanings(connection, Meanings(queries, passages))
    if event.rubric_sha == own.rubric.sha:
        _store(connection, _RUBRIC, "", own.rubric.sha, {"text": own.rubric.text})


def _edited_query(connection: Connection, data_sha: str, query_id: str) -> QueryMeaning | None:
    event = tables.event
    where = (event.c.kind == EventKind.EDIT_QUERY.value, event.c.data_sha == data_sha)
    rows = connection.execute(sa.select(event.c.query_id, event.c.text).where(*where).order_by(event.c.seq))
    text = edited_wording(query_id, [(row.query_id, row.text or "") for row in rows])
    return QueryMeaning(text) if text else None


def _store_meanings(connection: Connection, meanings: Meanings) -> None:
    for row in meanings.as_rows():
        kind = "query_id" if "query_id" in row else "chunk_id"
        _store(connection, kind, row["data_sha"], row[kind], row)


def _store(connection: Connection, kind: str, data_sha: str, name: str, body: Mapping[str, Any]) -> None:
    """Store a meaning unless it is known, as ASCII, which every database takes."""
    column = tables.meaning.c
    key = (column.kind == kind, column.data_sha == data_sha, column.name == name)
    if connection.execute(sa.select(column.name).where(*key)).first() is None:
        values = {"kind": kind, "data_sha": data_sha, "name": name, "body": json.dumps(body)}
        connection.execute(sa.insert(tables.meaning).values(values))


def _identity(path: Path | None) -> tuple[int, int] | None:
    try:
        stat = os.stat(path) if path is not None else None  # noqa: PTH116  the path may be None
    except OSError:
        return None
    return None if stat is None else (stat.st_dev, stat.st_ino)


def _without_password(address: str) -> str:
    """Return an address for messages, without its password."""
    if "://" not in address:
        return shown(address)
    scheme, _, rest = address.partition("://")
    return shown(f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}")


@contextlib.contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn an error of the database into one line, without the values of the statement."""
    try:
        yield
    except IntegrityError:
        raise LedgerConflict(f"{name}: an event refers to a missing one, or breaks a rule of the tables") from None
    except DBAPIError as error:
        reason = next(iter(str(error.orig).strip().splitlines()), "no reason given")
        if "file is not a database" in reason or "malformed" in reason:
            raise InputError(name, "is not a ledger, or is damaged; give another") from None
        advice = ": make room on the disk, or end what else uses the file" if _DISK_ERROR.search(reason) else ""
        raise LedgerFailed(f"{name}: {shown(reason)[:160]}{advice}") from None
    except SQLAlchemyError as error:
        raise LedgerFailed(f"{name}: {type(error).__name__}") from None
