"""What the ledger in a folder settled, read without a change to it and whatever set it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from goldbench.errors import InputError
from goldbench.goldset.difference import Decisions
from goldbench.goldset.folder import GoldFolder
from goldbench.records.review_event import Event, EventKind
from goldbench.review import ledger_tables
from goldbench.review.meanings import Meanings, SetMeanings
from goldbench.review.recorded_meanings import read_meanings
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.state import fold
from goldbench.review.translation import translate
from goldbench.text.display import shown

_VERDICTS = {EventKind.ACCEPT_QUERY: "accepted", EventKind.EDIT_QUERY: "edited", EventKind.REJECT_QUERY: "rejected"}


def settled_decisions(folder: Path, *, of_the_set: bool = False) -> Decisions | None:
    """Return what people decided by the ledger file of a folder; None without a ledger.

    Args:
        folder: The folder.
        of_the_set: Whether only decisions that apply to the set in the folder count, by its ids; otherwise all do, by
            the ids in the ledger.

    Raises:
        InputError: The file is not a ledger, or is damaged.
    """
    path = GoldFolder(folder).ledger
    if not path.is_file():
        return None
    events, known = _read(path)
    state = fold(_applying(events, known, folder) if of_the_set else events)
    return Decisions(
        grades={
            query_id: {one: int(grade) for one, grade in found.items()} for query_id, found in state.gold().items()
        },
        verdicts={query_id: _VERDICTS[event.kind] for query_id, event in state.query_verdicts().items()},
        events=len(events),
    )


def _applying(events: Sequence[Event], known: Meanings, folder: Path) -> Sequence[Event]:
    own = SetMeanings(load_reviewable(folder))
    return translate(events, known, own).events


def _read(path: Path) -> tuple[list[Event], Meanings]:
    """Return the events of a ledger file of any set, and what their ids mean; no file is made beside it."""
    alone = not path.with_name(f"{path.name}-wal").exists()  # nobody is writing: the file holds everything
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if alone else ''}"
    engine = sa.create_engine(sa.URL.create("sqlite", database=address, query={"uri": "true"}))
    try:
        with engine.connect() as reading:
            rows = reading.execute(sa.select(ledger_tables.event).order_by(ledger_tables.event.c.seq)).all()
            meanings = read_meanings(reading)
        events = [Event.model_validate(dict(row._mapping)) for row in rows]  # noqa: SLF001  SQLAlchemy's public name
    except (SQLAlchemyError, ValueError):
        raise InputError(
            shown(path), "cannot be read as a ledger; stop the review server, or move the file away"
        ) from None
    finally:
        engine.dispose()
    return events, meanings
