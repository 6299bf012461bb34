"""The tables of a ledger, the same in SQLite and PostgreSQL, and the opening of its database."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError

from goldbench.errors import MissingExtra, UsageError
from goldbench.records.review_event import EventKind, Lane

FORMAT = 1
"""The version of these tables; a ledger of another version is refused."""

metadata = sa.MetaData()


def _one_of(column: str, values: Any) -> sa.CheckConstraint:  # noqa: ANN401  any enumeration of strings
    return sa.CheckConstraint(f"{column} IN ({', '.join(repr(str(value)) for value in values)})")


_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

about = sa.Table(
    "goldbench_ledger",
    metadata,
    sa.Column("one", sa.Integer, sa.CheckConstraint("one = 1"), primary_key=True),
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("data_sha", sa.Text, nullable=False),
)
"""One row with the data set of the ledger. A writer locks it, so that events are numbered as they commit."""

event = sa.Table(
    "goldbench_event",
    metadata,
    sa.Column("seq", _BIG, primary_key=True, autoincrement=True),
    sa.Column("client_id", sa.Text, nullable=False, unique=True),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("annotator", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, _one_of("kind", EventKind), nullable=False),
    sa.Column("query_id", sa.Text, nullable=False),
    sa.Column("chunk_id", sa.Text),
    sa.Column("grade", sa.Integer, sa.CheckConstraint("grade BETWEEN 0 AND 3")),
    sa.Column("reason", sa.Text),
    sa.Column("evidence", sa.Text),
    sa.Column("note", sa.Text),
    sa.Column("text", sa.Text),
    sa.Column("ms", _BIG),
    sa.Column("lane", sa.Text, _one_of("lane", Lane)),
    sa.Column("inclusion", sa.Double),
    sa.Column("revealed", sa.Boolean, nullable=False),
    sa.Column("highlights", sa.Boolean, nullable=False),
    sa.Column("rubric_sha", sa.Text, nullable=False),
    sa.Column("data_sha", sa.Text, nullable=False),
    sa.Column("undoes", sa.Text, sa.ForeignKey("goldbench_event.client_id")),
    sa.Column("repeat", sa.Boolean, nullable=False),
)

text = sa.Table(
    "goldbench_text", metadata, sa.Column("sha", sa.Text, primary_key=True), sa.Column("text", sa.Text, nullable=False)
)
"""Texts of judged queries and passages and of rubrics, each once, by their SHA-256."""

query = sa.Table(
    "goldbench_query",
    metadata,
    sa.Column("data_sha", sa.Text, primary_key=True),
    sa.Column("query_id", sa.Text, primary_key=True),
    sa.Column("text_sha", sa.Text, sa.ForeignKey("goldbench_text.sha"), nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
)
"""What the id of a judged query means in a set: its text, and where its evidence stood, as a JSON list."""

passage = sa.Table(
    "goldbench_passage",
    metadata,
    sa.Column("data_sha", sa.Text, primary_key=True),
    sa.Column("chunk_id", sa.Text, primary_key=True),
    sa.Column("text_sha", sa.Text, sa.ForeignKey("goldbench_text.sha"), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("doc_id", sa.Text, nullable=False),
    sa.Column("start", _BIG, nullable=False),
)
"""What the id of a judged passage means in a set: its text, and where it stood in which document."""

rubric = sa.Table(
    "goldbench_rubric",
    metadata,
    sa.Column("rubric_sha", sa.Text, primary_key=True),
    sa.Column("text_sha", sa.Text, sa.ForeignKey("goldbench_text.sha"), nullable=False),
)
"""The text of each rubric that people saw."""

lease = sa.Table(
    "goldbench_lease",
    metadata,
    sa.Column("query_id", sa.Text, primary_key=True),
    sa.Column("chunk_id", sa.Text, primary_key=True),
    sa.Column("annotator", sa.Text, primary_key=True),
    sa.Column("slot", sa.Integer),
    sa.Column("until", sa.Double, nullable=False),
    sa.UniqueConstraint("query_id", "chunk_id", "slot"),
)
"""Who is looking at which pair, until when (seconds since 1970). It holds no decisions."""


def open_engine(place: str) -> Engine:
    """Return the engine for a ledger's address.

    Args:
        place: A path, ``sqlite:///…`` or ``postgresql://…``.

    Raises:
        UsageError: The address is not valid, or is that of another kind of database.
        MissingExtra: The driver for PostgreSQL is not installed.
    """
    url = _url(place)
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, connect_args={"check_same_thread": False, "timeout": 30})
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_immediately)
        return engine
    try:
        return sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)
    except ModuleNotFoundError:
        raise MissingExtra("psycopg", "postgres") from None


def _url(place: str) -> URL:
    if "://" not in place:
        return URL.create("sqlite", database=place)
    try:
        url = make_url(place)
    except ArgumentError:
        raise UsageError(
            "not a valid address; give a file or postgresql://user@host/name", parameter="ledger"
        ) from None
    if url.drivername in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "postgresql+psycopg"}:
        raise UsageError(f"not a supported database: {url.drivername}; use sqlite or postgresql", parameter="ledger")
    if url.drivername == "sqlite" and not url.database:
        raise UsageError(
            "sqlite:// names no file; give one, because a ledger in memory would be lost", parameter="ledger"
        )
    return url


def _prepare_sqlite(connection: Any, _: object) -> None:  # noqa: ANN401  the driver's own
    connection.isolation_level = None  # transactions begin where this module says
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediately(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def hurry(engine: Engine, seconds: float) -> None:
    """Give up after some seconds if another process holds the ledger; without this, SQLite waits for thirty seconds.

    Args:
        engine: The engine of the ledger.
        seconds: Seconds to wait for each lock.
    """
    milliseconds = round(seconds * 1000)

    def patience(connection: Any, _: object, __: object) -> None:  # noqa: ANN401  the driver's own
        connection.execute(f"PRAGMA busy_timeout={milliseconds}")

    def patience_in_transaction(connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")

    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "checkout", patience)
    else:
        sa.event.listen(engine, "begin", patience_in_transaction)


class LedgerFile:
    """The file of an open ledger in SQLite, to tell whether it is still the one at its path.

    A file that was deleted or replaced can still be written through its open connection, but nobody finds it again.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._log = path, path.with_name(f"{path.name}-wal")
        self._identity = self._now()
        self._logs = self._log.exists()

    def problem(self) -> str | None:
        """Return why what is written now would be lost; None if it is not."""
        now = self._now()
        if now is None:
            return "was deleted or moved away while it was open; put it back"
        if now != self._identity:
            return "was replaced by another file while it was open; put the first one back, or start again"
        if self._logs and not self._log.exists():
            return f"has lost {self._log.name}, which was deleted while it was open; stop the server and start it again"
        return None

    def open_only(self, engine: Engine) -> None:
        """Let new connections open the file, but not create one in its place."""

        def existing(_: object, __: object, arguments: list[Any], options: dict[str, Any]) -> None:
            arguments[0] = f"{self._path.resolve().as_uri()}?mode=rw"
            options["uri"] = True

        sa.event.listen(engine, "do_connect", existing)

    def _now(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


def lacking(connection: sa.Connection, known: Collection[str]) -> str | None:
    """Return which column a table of a ledger lacks, or None.

    Args:
        connection: The database.
        known: The names of its tables.
    """
    for table in metadata.sorted_tables:
        if table.name in known:
            there = {column["name"] for column in sa.inspect(connection).get_columns(table.name)}
            if missing := [column.name for column in table.columns if column.name not in there]:
                return f"is a ledger whose table {table.name} lacks the column {missing[0]}"
    return None


def file_of(place: str) -> Path | None:
    """Return the file of a ledger, or None if a database server keeps it."""
    url = _url(place)
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None
