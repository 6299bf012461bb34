"""Who judges what: pairs are lent to one person for ten minutes, and to no more people than are to judge them.

Each decision is made within one transaction that holds the ledger, so that several people, and several servers on one
database, never exceed the share of pairs that two people judge. The order is renewed between transactions, for pairs
that are not lent yet: it never decides who may judge a pair.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.engine import Connection

from goldbench.errors import GoldbenchError
from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review.leases import Lent, end, give_back, holders_of, leases_of, lend, take_over
from goldbench.review.ledger import Ledger, LedgerFailed
from goldbench.review.queue import Item
from goldbench.review.state import Pair, State, fold
from goldbench.review.tally import Tally
from goldbench.review.team import Team

AT_ONCE = 60
"""Pairs that are lent to one person at a time, at most: enough to judge 50 while the server is away."""

KEPT = 5
"""Pairs lent to one person that nobody takes over. The others are spare: people with nothing left get half of them."""

REPEATS_AFTER, REPEATS_EVERY, REPEATS_APART = 50, 10, 30
"""Pairs of the random sample before the first is repeated, between repeats, and judgments since a pair's first look."""


Renewal = Callable[[State], Sequence[Item] | None]
"""Returns the items in the order that fits the state, or None if the order stays as it is."""


class NotYours(GoldbenchError):
    """The pair, or the decision on a disagreement, is not for this person."""


@dataclass(frozen=True, slots=True)
class Handed:
    """An item as one person gets it. ``repeat`` marks the person's second look at it."""

    item: Item
    repeat: bool = False


class Desk:
    """The ledger, its current state and the queue: hands out pairs and stores decisions.

    ``renewed`` is asked for another order of the same items whenever decisions have come in.
    ``patience_s`` is how long it waits for another process that holds the ledger, in seconds, and twice as long
    for a turn at this desk, before it raises ``LedgerFailed``; None waits on.
    """

    def __init__(
        self,
        ledger: Ledger,
        items: Sequence[Item],
        *,
        renewed: Renewal | None = None,
        team: Team | None = None,
        repeats: int = 10,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
        patience_s: float | None = None,
    ) -> None:
        self.ledger, self.state = ledger, State()
        self.by_pair: Mapping[Pair, Item] = {item.pair: item for item in items}
        self.team = team or Team()
        self._renewed, self._sample_changed = renewed, False
        self.tally = Tally(items, self.state)
        self._arrange(items)
        self._repeats, self._seed, self._clock = repeats, seed, clock
        self._turn, self._wait_s = threading.RLock(), -1 if patience_s is None else 2 * patience_s
        self._events: list[Event] = []
        self._seq, self._foreign = 0, False
        self.refresh()
        if patience_s is not None:
            ledger.hurry(patience_s)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Wait for the others at this desk, but not for long: each of them may be waiting for the ledger."""
        if not self._turn.acquire(timeout=self._wait_s):
            raise LedgerFailed(f"{self.ledger.name}: is held by another process")
        try:
            yield
        finally:
            self._turn.release()

    def _arrange(self, items: Sequence[Item]) -> None:
        """Put the items in this order, grouped by query."""
        self.items = items
        self._blocks = [list(group) for _, group in itertools.groupby(items, key=lambda item: item.query_id)]
        self._block = {item.pair: number for number, group in enumerate(self._blocks) for item in group}
        self._rank = {item.pair: place for place, item in enumerate(items)}
        self._first = 0

    def _renew(self) -> None:
        """Renew the order if people judged more of the random sample; no pair changes, and no lease."""
        if self._renewed is not None and self._sample_changed:
            items = self._renewed(self.state)
            self._sample_changed = False
            if items is not None:
                self._arrange(items)

    def refresh(self) -> State:
        """Return the state with all events that are stored by now."""
        with self._held():
            self._take_in(self.ledger.events(after=self._seq))
            self._renew()
            return self.state

    @contextlib.contextmanager
    def reading(self) -> Iterator[State]:
        """Give the state as it is known here; nothing changes it within the block.

        Raises:
            LedgerFailed: The state is to be read again, and the database does not answer.
        """
        with self._held():
            if not self._seq:
                self._take_in(self.ledger.events())
            yield self.state

    def claim(self, annotator: str, count: int, *, have: Collection[tuple[Pair, bool]] = ()) -> list[Handed]:
        """Return up to ``count`` more pairs for a person, lent from now on.

        Args:
            annotator: The person.
            count: Number of further pairs.
            have: The pairs that the person has, each with whether it is a second look; their leases are renewed.
        """
        with self._held():
            self._renew()
            with self.ledger.writing() as connection:
                self._catch_up(connection)
                return self._claim(connection, annotator, count, have)

    def open(self, annotator: str, pair: Pair) -> Handed:
        """Return a single pair that a person asks for: one that they judged, or one that still needs a person.

        Raises:
            NotYours: Others have it, and no more people are needed.
        """
        with self._held(), self.ledger.writing() as connection:
            self._catch_up(connection)
            leases = leases_of(connection)
            if self.state.says(annotator, pair) is None:
                if not self._free(annotator, pair, holders_of(leases, self._clock())):
                    raise NotYours("somebody else judges this passage")
                lend(connection, leases, pair, annotator, self._clock())
            return Handed(self.by_pair[pair])

    def record(
        self, event: Event, *, want: int = 0, have: Collection[tuple[Pair, bool]] = ()
    ) -> tuple[Event, list[Handed]]:
        """Return a decision as stored, and up to ``want`` more pairs; the lease on the decided pair ends.

        Args:
            event: The decision.
            want: Number of further pairs.
            have: As in `claim`.

        Raises:
            NotYours: The pair was never lent to this person, and no more people are needed; or it is a third decision
                on a pair without disagreement, on one that the person judged, or by somebody who is not the lead.
            LedgerConflict: Another event with this client id is stored.
            LedgerFailed: The database does not answer; nothing was stored.
        """
        with self._held():
            self._renew()
            try:
                with self.ledger.writing() as connection:
                    self._catch_up(connection)
                    if event.kind in {EventKind.JUDGE, EventKind.CANNOT}:
                        self._check_given(connection, event)
                    if event.kind is EventKind.ADJUDICATE:
                        self._check_disputed(event)
                    stored = self.ledger.add(connection, event)
                    give_back(connection, event)
                    self._take_in([stored], connection)
                    return stored, self._claim(connection, event.annotator, want, have) if want else []
            except NotYours:
                raise
            except BaseException:
                self._forget()  # the state may hold an event that was not stored: read it again
                raise

    def lost(self, annotator: str, have: Collection[tuple[Pair, bool]]) -> list[Pair]:
        """Return the pairs of a person's page that others have taken over, and that need nobody more.

        Args:
            annotator: The person.
            have: As in `claim`.
        """
        with self._held(), self.ledger.writing() as connection:
            self._catch_up(connection)
            leases, now = leases_of(connection), self._clock()
            mine = {one.pair for one in leases if one.annotator == annotator and one.slot is not None}
            holders = holders_of(leases, now)
            return [
                pair
                for pair, repeat in have
                if not repeat and pair not in mine and not self._decided(annotator, pair)
                if not self._room(annotator, pair, holders)
            ]

    def lent(self, annotator: str) -> set[Pair]:
        """Return the pairs that a person may have on a page, whether or not the lease has run out."""
        with self._held(), self.ledger.writing() as connection:
            return {one.pair for one in leases_of(connection) if one.annotator == annotator}

    def show_others(self, annotator: str, pairs: Collection[Pair]) -> None:
        """End a person's leases on pairs whose grades by others the person is about to see.

        A judgment given now would not be blind, so it is not taken any more.
        """
        with self._held(), self.ledger.writing() as connection:
            end(connection, annotator, {one.pair for one in leases_of(connection)} & {*pairs})

    def _decided(self, annotator: str, pair: Pair) -> bool:
        said = self.state.says(annotator, pair)
        return said is not None and said.kind is not EventKind.LATER

    def _claim(
        self, connection: Connection, annotator: str, count: int, have: Collection[tuple[Pair, bool]]
    ) -> list[Handed]:
        now = self._clock()
        leases = leases_of(connection)
        found = self._second_looks(annotator, have)[:count]
        mine = {one.pair for one in leases if one.annotator == annotator and one.slot is not None}
        live = {pair for pair, names in holders_of(leases, now).items() if annotator in names}
        taken = {pair for pair, repeat in have if not repeat}
        for pair in self._wanted_by(annotator, leases, now):
            if len(found) >= count:
                break
            if pair not in taken and (pair in live or len(live | taken) < AT_ONCE):
                found.append(Handed(self.by_pair[pair]))
        if count and not found and all(self._decided(annotator, pair) for pair in taken):
            spare = self._spare(annotator, leases, now)[:count]
            leases = take_over(connection, leases, spare)
            found = [Handed(self.by_pair[pair]) for pair, _ in spare]
        for pair in (*(one.item.pair for one in found if not one.repeat), *(taken & mine)):
            lend(connection, leases, pair, annotator, now)
        return found

    def _spare(self, annotator: str, leases: Sequence[Lent], now: float) -> list[tuple[Pair, str]]:
        """Return the last half of the pairs that the person with the most of them has in reserve, with that person."""
        holders = holders_of(leases, now)
        found: list[tuple[Pair, str]] = []
        for other in sorted({name for names in holders.values() for name in names} - {annotator}):
            theirs = sorted(
                (pair for pair, names in holders.items() if other in names and pair in self._rank),
                key=self._rank.__getitem__,
            )
            rest = {pair: names - {other} for pair, names in holders.items()}
            spare = [(pair, other) for pair in theirs[KEPT:] if self._free(annotator, pair, rest)]
            found = max(found, spare, key=len)
        return found[len(found) // 2 :]

    def _catch_up(self, connection: Connection) -> None:
        self._take_in(self.ledger.events(after=self._seq, connection=connection), connection)

    def _forget(self) -> None:
        self.state, self._events, self._seq, self._foreign, self._first = State(), [], 0, False, 0
        self.tally = Tally(self.items, self.state)

    def _take_in(self, events: Iterable[Event], connection: Connection | None = None) -> State:
        new = [event for event in events if event.seq is not None and event.seq > self._seq]
        if not new:
            return self.state
        self._seq = max(event.seq or 0 for event in new)
        self._sample_changed |= any(event.lane in {Lane.CALIBRATION, None} for event in new)
        self._events += new
        if not all(map(self._stays, new)):
            self.state, self._first = fold(self.ledger.translated(self._events, connection=connection).events), 0
            self.tally = Tally(self.items, self.state)
        else:
            for event in new:
                self.state.add(event)
                self._first = self._first if event.kind is EventKind.JUDGE else 0
            self.tally.add(new, self.state)
        return self.state

    def _stays(self, event: Event) -> bool:
        """Return whether an event can be added as it is: it is about the open set, and takes back no other one."""
        own = event.data_sha == self.ledger.data_sha
        self._foreign = self._foreign or not own
        return own and not (self._foreign and event.undoes is not None)

    def _first_open(self) -> int:
        """Return the number of the first group that still needs people."""
        while self._first < len(self._blocks) and all(
            len(self.state.judged_by(item.pair)) >= item.wanted for item in self._blocks[self._first]
        ):
            self._first += 1
        return self._first

    def _wanted_by(self, annotator: str, leases: Sequence[Lent], now: float) -> Iterator[Pair]:
        """Yield the pairs that a person may get, in order.

        First the rest of the person's current group, then the groups of nobody else, then the other groups, and last
        the pairs that the person postponed, the oldest first.
        """
        holders = holders_of(leases, now)
        mine = [one.pair for one in leases if one.annotator == annotator and annotator in holders.get(one.pair, ())]
        theirs = {self._block[pair] for pair, names in holders.items() if pair in self._block and names - {annotator}}
        at = self._place_of(annotator, mine)
        passed: list[Pair] = []
        yield from (
            item.pair
            for item in (self._blocks[at] if at is not None else [])
            if self._free(annotator, item.pair, holders)
        )
        for number in range(self._first_open(), len(self._blocks)):
            block = self._blocks[number]
            free = (item.pair for item in block if number != at and self._free(annotator, item.pair, holders))
            if number in theirs:
                passed += free
            else:
                yield from free
        yield from passed
        put_off = ((self.state.says(annotator, item.pair), item.pair) for item in self.items)
        yield from (
            pair
            for _, pair in sorted(
                (said.seq or 0, pair) for said, pair in put_off if said and said.kind is EventKind.LATER
            )
            if self._room(annotator, pair, holders)
        )

    def _place_of(self, annotator: str, mine: Sequence[Pair]) -> int | None:
        """Return the number of a person's current group: that of the last act, else that of a lent pair."""
        acts = self.state.stacks[annotator].done if annotator in self.state.stacks else []
        for event in reversed(acts):
            pair = (event.query_id, event.chunk_id or "")
            if pair in self._block and not event.repeat:
                return self._block[pair]
        return min((self._block[pair] for pair in mine if pair in self._block), default=None)

    def _free(self, annotator: str, pair: Pair, holders: Mapping[Pair, set[str]]) -> bool:
        return self.state.says(annotator, pair) is None and self._room(annotator, pair, holders)

    def _room(self, annotator: str, pair: Pair, holders: Mapping[Pair, set[str]]) -> bool:
        """Return whether one more person may judge a pair, counting those who are looking at it."""
        if pair not in self.by_pair or self.state.parked(pair[0]) or self.state.adjudication(pair) is not None:
            return False
        others = {*self.state.judged_by(pair), *holders.get(pair, ())} - {annotator}
        return len(others) < self.by_pair[pair].wanted

    def _check_given(self, connection: Connection, event: Event) -> None:
        pair = (event.query_id, event.chunk_id or "")
        leases = leases_of(connection)
        lent = any(one.pair == pair and one.annotator == event.annotator for one in leases)
        known = event.client_id in self.state.known or self.state.ever_judged(event.annotator, pair)
        if not known and not self.state.disputed(pair):  # in a disagreement the person may have seen others' grades
            known = self.state.says(event.annotator, pair) is not None
        if not lent and not known and not self._room(event.annotator, pair, holders_of(leases, self._clock())):
            raise NotYours("this passage was not given to you, and no more people are needed for it")

    def _check_disputed(self, event: Event) -> None:
        pair = (event.query_id, event.chunk_id or "")
        if event.client_id in self.state.known:
            return
        if not self.state.disputed(pair):
            raise NotYours("there is no disagreement on this passage, so there is nothing to decide")
        if self.state.adjudication(pair) is not None:
            raise NotYours("this disagreement is settled already")
        if problem := self.not_settled_by(event.annotator, pair):
            raise NotYours(problem)

    def not_settled_by(self, annotator: str, pair: Pair) -> str | None:
        """Return why a person does not settle a disagreement, None if the person does."""
        if self.state.ever_judged(annotator, pair):
            return "nobody settles a disagreement on a passage that they judged, and you judged it"
        if not self.team.settles(annotator):
            return f"only the lead settles disagreements: {', '.join(sorted(self.team.leads))}"
        return None

    def _second_looks(self, annotator: str, have: Collection[tuple[Pair, bool]]) -> list[Handed]:
        """Return the second look that is due, unless the person has one already."""
        if not self._repeats or annotator not in self.state.stacks or any(repeat for _, repeat in have):
            return []
        acts = [e for e in self.state.stacks[annotator].done if e.kind is EventKind.JUDGE or e.repeat]
        done = sum(e.repeat for e in acts)
        sampled = [e for e in acts if e.lane is Lane.CALIBRATION and not e.repeat]
        due = min(self._repeats, 1 + (len(sampled) - REPEATS_AFTER) // REPEATS_EVERY)
        if len(sampled) < REPEATS_AFTER or done >= due:
            return []
        pairs = {(e.query_id, e.chunk_id or "") for e in acts[:-REPEATS_APART] if e in sampled}
        candidates = [pair for pair in pairs if self._may_repeat(annotator, pair)]
        chosen = sorted(candidates, key=lambda pair: _digest(f"{self._seed} repeat {annotator} {pair[0]} {pair[1]}"))
        return [Handed(self.by_pair[pair], repeat=True) for pair in chosen[:1]]

    def _may_repeat(self, annotator: str, pair: Pair) -> bool:
        said = self.state.says(annotator, pair)
        judged = said is not None and said.kind is EventKind.JUDGE
        return pair in self.by_pair and judged and not self.state.repeated(annotator, pair)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
