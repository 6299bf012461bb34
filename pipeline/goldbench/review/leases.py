"""The leases in the ledger: who has which pair, until when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from goldbench.records.review_event import Event, EventKind
from goldbench.review.ledger_tables import lease
from goldbench.review.state import Pair

LEASE_S = 600.0
"""Seconds for which a pair is lent; afterwards somebody else may get it."""

_OF_QUERY = (lease.c.query_id == sa.bindparam("query")) & (lease.c.annotator == sa.bindparam("who"))
_OF_PAIR = _OF_QUERY & (lease.c.chunk_id == sa.bindparam("chunk"))
_ALL, _NEW = sa.select(lease), sa.insert(lease)
_RENEW = sa.update(lease).where(_OF_PAIR).values(slot=sa.bindparam("place"), until=sa.bindparam("ends"))
_LOSE = sa.update(lease).where(_OF_PAIR).values(slot=None)
_END, _END_QUERY = sa.delete(lease).where(_OF_PAIR), sa.delete(lease).where(_OF_QUERY)

_ENDS_LEASE = {EventKind.JUDGE, EventKind.LATER, EventKind.CANNOT, EventKind.ADJUDICATE}


@dataclass(frozen=True, slots=True)
class Lent:
    """A lease. ``slot`` is None if it ran out or was taken over, and somebody else got the pair."""

    pair: Pair
    annotator: str
    slot: int | None
    until: float

    def runs(self, now: float) -> bool:
        """Return whether the lease has not run out; one that ends too far ahead is older than a clock set back."""
        return now < self.until <= now + 2 * LEASE_S


def leases_of(connection: Connection) -> list[Lent]:
    """Return all leases in the ledger."""
    rows = connection.execute(_ALL)
    return [Lent((row.query_id, row.chunk_id), row.annotator, row.slot, row.until) for row in rows]


def holders_of(leases: Iterable[Lent], now: float) -> dict[Pair, set[str]]:
    """Return the people who are looking at each pair at a time."""
    found: defaultdict[Pair, set[str]] = defaultdict(set)
    for one in leases:
        if one.slot is not None and one.runs(now):
            found[one.pair].add(one.annotator)
    return dict(found)


def lend(connection: Connection, leases: Sequence[Lent], pair: Pair, annotator: str, now: float) -> None:
    """Add or renew a lease; one that ran out loses its slot to the new one.

    Args:
        connection: The transaction.
        leases: All leases.
        pair: The pair to lend.
        annotator: The person.
        now: The time in seconds since 1970.
    """
    here = [one for one in leases if one.pair == pair]
    key = {"query": pair[0], "chunk": pair[1]}
    others = [one for one in here if one.annotator != annotator]
    for one in others:
        if one.slot is not None and not one.runs(now):
            connection.execute(_LOSE, {**key, "who": one.annotator})
    used = {one.slot for one in others if one.runs(now)}
    mine = next((one for one in here if one.annotator == annotator), None)
    if mine is not None and mine.slot is not None and mine.runs(now) and mine.until - now > LEASE_S * 0.8:
        return
    slot = min({0, 1} - used, default=None) if mine is None or mine.slot is None else mine.slot
    ends = now + LEASE_S
    if mine is None:
        row = {"query_id": pair[0], "chunk_id": pair[1], "annotator": annotator, "slot": slot, "until": ends}
        connection.execute(_NEW, row)
    else:
        connection.execute(_RENEW, {**key, "who": annotator, "place": slot, "ends": ends})


def take_over(connection: Connection, leases: Sequence[Lent], taken: Collection[tuple[Pair, str]]) -> list[Lent]:
    """Take pairs from people who have them in reserve, and return all leases after that.

    They may still decide them: what somebody judges who is offline is never lost.

    Args:
        connection: The transaction.
        leases: All leases.
        taken: The pairs, each with the person who has it.
    """
    for pair, annotator in taken:
        connection.execute(_LOSE, {"query": pair[0], "chunk": pair[1], "who": annotator})
    return [replace(one, slot=None) if (one.pair, one.annotator) in taken else one for one in leases]


def end(connection: Connection, annotator: str, pairs: Iterable[Pair]) -> None:
    """Delete a person's leases on pairs.

    Args:
        connection: The transaction.
        annotator: The person.
        pairs: The pairs.
    """
    for query_id, chunk_id in pairs:
        connection.execute(_END, {"query": query_id, "chunk": chunk_id, "who": annotator})


def give_back(connection: Connection, event: Event) -> None:
    """Delete the leases that a decision ends."""
    where = {"query": event.query_id, "who": event.annotator}
    if event.kind in _ENDS_LEASE and not event.repeat:
        connection.execute(_END, {**where, "chunk": event.chunk_id})
    elif event.kind is EventKind.BAD_QUERY:
        connection.execute(_END_QUERY, where)
