"""The ledger: people's decisions as events that are only ever added, in SQLite or PostgreSQL."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from goldbench.errors import GoldbenchError, InputError
from goldbench.goldset.folder import GoldFolder
from goldbench.records.review_event import Event
from goldbench.review import ledger_tables
from goldbench.review.meanings import Meanings, SetMeanings
from goldbench.review.recorded_meanings import UNSTORABLE, add_meanings, read_meanings, record, record_rubric
from goldbench.review.translation import Translation, is_about, translate
from goldbench.text.display import shell_command, shown

_KNOWN = sa.select(ledger_tables.event).where(ledger_tables.event.c.client_id == sa.bindparam("client"))
_AFTER = (
    sa.select(ledger_tables.event)
    .where(ledger_tables.event.c.seq > sa.bindparam("after"))
    .order_by(ledger_tables.event.c.seq)
)
_ADD = sa.insert(ledger_tables.event).returning(ledger_tables.event.c.seq)
_HOLD = sa.select(ledger_tables.about.c.data_sha).with_for_update()

_OF_THE_DISK = re.compile("disk|no space", re.IGNORECASE)

_SAME_ACT = ("annotator", "kind", "query_id", "chunk_id", "grade", "reason", "text", "undoes", "repeat")


class LedgerConflict(GoldbenchError):
    """Another event with this client id is stored."""


class LedgerFailed(GoldbenchError):
    """The database does not answer or refuses; nothing was stored."""


class LedgerGone(LedgerFailed):
    """The ledger's file was deleted or replaced while it was open; nothing that anybody would find was stored."""


def ledger_url(folder: Path, given: str | None) -> str:
    """Return the address of a folder's ledger: the one given, or else the file in the folder."""
    return given or str(GoldFolder(folder).ledger)


def open_ledger(
    place: str | Path, *, data_sha: str, meanings: SetMeanings | None = None, create: bool = True
) -> Ledger:
    """Return the ledger at an address, which may hold events about other data sets.

    A ledger of format 1 gets what it lacks. Of the events about the open set the meaning of their ids is stored.

    Args:
        place: A path, ``sqlite:///…`` or ``postgresql://…``.
        data_sha: The digest of the data set; see ``ReviewableSet.data_sha``.
        meanings: What the ids of the set mean; None if no set is open.
        create: Whether to create a missing ledger.

    Raises:
        InputError: It is missing and ``create`` is false, is not a ledger, or is of a later format.
        UsageError: The address is not valid, or is that of another kind of database.
        MissingExtra: The driver for PostgreSQL is not installed.
    """
    name = _name(str(place))
    file = ledger_tables.file_of(str(place))
    if file is not None and not file.exists():
        if not create:
            raise InputError(
                name, f"is missing: nobody has judged here yet; {shell_command('review', 'DIR')} opens the page"
            )
        if not file.parent.is_dir():
            raise InputError(name, "cannot be created: its folder is missing")
    if file is not None and file.exists() and not file.is_file():
        raise InputError(name, "is not a plain file; give another ledger")
    engine = ledger_tables.open_engine(str(place))
    try:
        with _told(name), engine.begin() as connection:
            _prepare(connection, data_sha, create=create, name=name)
    except GoldbenchError:
        engine.dispose()
        raise
    return Ledger(engine, name=name, data_sha=data_sha, meanings=meanings)


def _prepare(connection: Connection, data_sha: str, *, create: bool, name: str) -> None:
    """Make the tables that are missing, and hold the ledger; refuse a database that is not a ledger."""
    if connection.dialect.name == "postgresql":  # two servers may start at once
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7305811)"))
    known = set(sa.inspect(connection).get_table_names())
    if not create and ledger_tables.about.name not in known:
        raise InputError(name, f"holds no ledger; {shell_command('review', 'DIR')} creates one")
    if connection.dialect.name == "sqlite" and known - set(ledger_tables.metadata.tables):
        raise InputError(name, "is a database of another program; give another ledger")
    about = ledger_tables.about
    _refuse_other_columns(connection, known & {about.name}, name)
    row = connection.execute(sa.select(about)).one_or_none() if about.name in known else None
    if row is not None and row.format != ledger_tables.FORMAT:
        raise InputError(name, f"has ledger format {row.format}; this goldbench reads format {ledger_tables.FORMAT}")
    _refuse_other_columns(connection, known, name)
    ledger_tables.metadata.create_all(connection)
    if row is None:
        values = {"one": 1, "format": ledger_tables.FORMAT, "data_sha": data_sha}
        connection.execute(sa.insert(about).values(values))
    connection.execute(_HOLD).one()


def _refuse_other_columns(connection: Connection, tables: Collection[str], name: str) -> None:
    if problem := ledger_tables.lacking(connection, tables):
        raise InputError(name, f"{problem}: put a copy of it back, or give another ledger")


class Ledger:
    """An open ledger. Methods may be called from several threads, and several processes may share it."""

    def __init__(self, engine: Engine, *, name: str, data_sha: str, meanings: SetMeanings | None = None) -> None:
        self._engine, self.name, self.data_sha = engine, name, data_sha
        self._file = ledger_tables.LedgerFile(Path(engine.url.database or "")) if _is_file(engine) else None
        if self._file is not None:
            self._file.open_only(engine)
        self.own = meanings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the database."""
        self._engine.dispose()

    def hurry(self, seconds: float) -> None:
        """Raise ``LedgerFailed`` after some seconds if another process holds the ledger."""
        ledger_tables.hurry(self._engine, seconds)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Give a transaction that excludes other writers and is committed at the end.

        Raises:
            LedgerFailed: The database does not answer; nothing was stored.
            LedgerGone: The file is not at its path any more, before or after the transaction.
        """
        self._check_file()
        with _told(self.name), self._engine.begin() as connection:
            connection.execute(_HOLD).one()
            yield connection
        self._check_file()

    def _check_file(self) -> None:
        if self._file is not None and (problem := self._file.problem()) is not None:
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
                add_meanings(connection, meanings)
            return [self.add(connection, event, anywhere=meanings is not None) for event in events]

    def add(self, connection: Connection, event: Event, *, anywhere: bool = False) -> Event:
        """Store an event, and what its ids mean, within a transaction of ``writing``; see ``append``.

        Args:
            connection: The transaction.
            event: The event.
            anywhere: Whether it may be about another set, whose texts are stored.
        """
        if event.data_sha != self.data_sha and not anywhere:
            raise InputError(self.name, "an event belongs to another data set")
        row = _row(event)
        known = connection.execute(_KNOWN, {"client": event.client_id}).first()
        if known is not None:
            if not same_act(_event(known), event):
                raise LedgerConflict(f"{self.name}: another event with client_id {event.client_id} is stored")
            return _event(known)
        stored = connection.execute(_ADD, row).scalar_one()
        if self.own is not None and event.data_sha == self.data_sha:
            record(connection, self.own, [event.query_id], [] if event.chunk_id is None else [event.chunk_id])
            if event.rubric_sha == self.own.rubric.sha:
                record_rubric(connection, self.own.rubric)
        return Event.model_validate({**row, "seq": stored})

    def find(self, client_id: str) -> Event | None:
        """Return the event with a client id, or None.

        Raises:
            LedgerFailed: The database does not answer.
        """
        self._check_file()
        with _told(self.name), self._engine.connect() as reading:
            row = reading.execute(_KNOWN, {"client": client_id}).first()
        return _event(row) if row is not None else None

    def events(self, *, after: int = 0, connection: Connection | None = None) -> list[Event]:
        """Return the events with a number above ``after``, in order.

        Args:
            after: The number of the last known event.
            connection: A transaction of ``writing``; None for a new one.

        Raises:
            LedgerFailed: The database does not answer.
        """
        if connection is not None:
            return [_event(row) for row in connection.execute(_AFTER, {"after": after})]
        self._check_file()
        with _told(self.name), self._engine.connect() as reading:
            return [_event(row) for row in reading.execute(_AFTER, {"after": after})]

    def meanings(self, *, connection: Connection | None = None) -> Meanings:
        """Return what is stored about the meaning of ids.

        Args:
            connection: A transaction of ``writing``; None for a new one.

        Raises:
            LedgerFailed: The database does not answer.
        """
        if connection is not None:
            return read_meanings(connection)
        with _told(self.name), self._engine.connect() as reading:
            return read_meanings(reading)

    def translated(self, events: Sequence[Event], *, connection: Connection | None = None) -> Translation:
        """Return events of this ledger as they apply to the open set; without a set, as they are.

        Args:
            events: All events, in the order of their numbers.
            connection: As in `meanings`.

        Raises:
            LedgerFailed: The database does not answer.
        """
        if self.own is None or is_about(events, self.data_sha):
            return Translation(tuple(events))
        return translate(events, self.meanings(connection=connection), self.own)


def _is_file(engine: Engine) -> bool:
    return engine.dialect.name == "sqlite"


def same_act(one: Event, other: Event) -> bool:
    """Return whether two events with one client id are stored as the same act."""
    rows = _row(one), _row(other)
    return all(rows[0][key] == rows[1][key] for key in _SAME_ACT)


def _row(event: Event) -> dict[str, Any]:
    row = event.model_dump(mode="json", exclude={"seq"})
    return {key: value.translate(UNSTORABLE) if isinstance(value, str) else value for key, value in row.items()}


def _event(row: sa.Row[tuple[object, ...]]) -> Event:
    return Event.model_validate(dict(row._mapping))  # noqa: SLF001  SQLAlchemy's public name


def _name(place: str) -> str:
    """Return an address for messages, without its password."""
    if "://" not in place:
        return shown(place)
    scheme, _, rest = place.partition("://")
    return shown(f"{scheme}://{rest.rpartition('@')[2].partition('?')[0]}")


@contextlib.contextmanager
def _told(name: str) -> Iterator[None]:
    """Turn an error of the database into one line, without the values of the statement."""
    try:
        yield
    except IntegrityError:
        raise LedgerConflict(f"{name}: an event refers to a missing one, or breaks a rule of the tables") from None
    except DBAPIError as error:
        reason = (
            str(error.orig).strip().splitlines()[0] if error.orig and str(error.orig).strip() else "no reason given"
        )
        if "file is not a database" in reason or "malformed" in reason:
            raise InputError(name, "is not a ledger, or is damaged; give another") from None
        advice = ": make room on the disk, or end what else uses the file" if _OF_THE_DISK.search(reason) else ""
        raise LedgerFailed(f"{name}: {shown(reason)[:160]}{advice}") from None
    except SQLAlchemyError as error:
        raise LedgerFailed(f"{name}: {type(error).__name__}") from None
