"""What the ledger in a folder settled, read without a change to it and whatever set it belongs to."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from goldbench.pipeline.errors import InputError
from goldbench.pipeline.goldset.difference import Decisions
from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.review import ledger_tables
from goldbench.pipeline.review.state import fold
from goldbench.pipeline.text.display import shown
from goldbench.schemas.review_event import Event, EventKind

_VERDICTS = {EventKind.ACCEPT_QUERY: "accepted", EventKind.EDIT_QUERY: "edited", EventKind.REJECT_QUERY: "rejected"}


def settled_decisions(folder: Path) -> Decisions | None:
    """Return what people decided by the ledger file of a folder, by the ids in the ledger; None without a ledger.

    Raises:
        InputError: The file is not a ledger, or is damaged.
    """
    path = GoldFolder(folder).ledger
    if not path.is_file():
        return None
    events = _events(path)
    state = fold(events)
    return Decisions(
        grades={
            query_id: {one: int(grade) for one, grade in found.items()} for query_id, found in state.gold().items()
        },
        verdicts={query_id: _VERDICTS[event.kind] for query_id, event in state.query_verdicts().items()},
        events=len(events),
    )


def _events(path: Path) -> list[Event]:
    """Return the events of a ledger file of any set, also if it lacks newer columns; no file is made beside it."""
    alone = not path.with_name(f"{path.name}-wal").exists()  # nobody is writing: the file holds everything
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    engine = sa.create_engine(sa.URL.create("sqlite", database=address, query={"uri": "true"}))
    try:
        with engine.connect() as reading:
            present = [one["name"] for one in sa.inspect(reading).get_columns(ledger_tables.event.name)]
            known = [column for column in ledger_tables.event.c if column.name in present]
            rows = reading.execute(sa.select(*known).order_by(ledger_tables.event.c.seq)).all()
        return [Event.model_validate(dict(row._mapping)) for row in rows]  # noqa: SLF001  SQLAlchemy's public name
    except (SQLAlchemyError, ValueError):
        raise InputError(
            shown(path), "cannot be read as a ledger; stop the review server, or move the file away"
        ) from None
    finally:
        engine.dispose()
