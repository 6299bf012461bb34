"""The tables of a ledger, the same in SQLite and PostgreSQL."""

from __future__ import annotations

from enum import StrEnum

import sqlalchemy as sa

from goldbench.records.review_event import EventKind, Lane

FORMAT = 1
"""The version of these tables; a ledger of another version is refused."""

metadata = sa.MetaData()


def _one_of(column: str, values: type[StrEnum]) -> sa.CheckConstraint:
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

meaning = sa.Table(
    "goldbench_meaning",
    metadata,
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("data_sha", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("body", sa.Text, nullable=False),
)
"""What the id of a judged query or passage means in a set, and each rubric that people saw, as JSON objects."""

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
