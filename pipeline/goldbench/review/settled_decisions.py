"""What the ledger in a folder settled, whatever set it belongs to."""

from __future__ import annotations

from pathlib import Path

from goldbench.goldset.difference import Decisions
from goldbench.goldset.folder import GoldFolder
from goldbench.records.review_event import EventKind
from goldbench.review.ledger import open_ledger
from goldbench.review.meanings import SetMeanings
from goldbench.review.reviewable_set import load_reviewable
from goldbench.review.state import fold

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
    own = SetMeanings(load_reviewable(folder)) if of_the_set else None
    with open_ledger(path, data_sha=own.data_sha if own else "", meanings=own, create=False) as ledger:
        events = ledger.events()
        state = fold(ledger.translated(events).events)
    return Decisions(
        grades={
            query: {chunk: int(grade) for chunk, grade in grades.items()} for query, grades in state.gold().items()
        },
        verdicts={query_id: _VERDICTS[event.kind] for query_id, event in state.query_verdicts().items()},
        events=len(events),
    )
