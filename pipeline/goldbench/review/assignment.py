"""The people of a review, and the pairs assigned to them.

A pair is leased for ten minutes, to at most the required number of annotators.

Each assignment is made within one transaction that holds the ledger, so that several people, and several servers on one
file, never exceed the share of pairs that two people judge.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from goldbench.errors import GoldbenchError, Message, UsageError
from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review.ledger import Ledger
from goldbench.review.queue import QueueItem
from goldbench.review.state import Pair, State, fold

LEASE_S = 600.0
"""Seconds for which a pair is leased; afterwards somebody else may get it."""

MAX_LEASES = 60
"""Pairs that are leased to one person at a time: enough to judge 50 while the server is away."""

MIN_RESERVE = 5
"""Pairs leased to one person that nobody takes over. Of the others, people with nothing left get half."""

REPEATS_AFTER = 50
"""Pairs of the random sample that a person judges before one of them is repeated."""
REPEATS_EVERY = 10
"""Pairs of the random sample between two repeats."""
REPEATS_APART = 30
"""Judgments between the first and the second look at a pair."""

_ENDS_LEASE = {EventKind.JUDGE, EventKind.LATER, EventKind.CANNOT, EventKind.ADJUDICATE}


_DELETE_LEASE = "DELETE FROM goldbench_lease WHERE query_id = ? AND chunk_id = ? AND annotator = ?"


class NotAssigned(GoldbenchError):
    """The pair, or the decision on a disagreement, is not for this person."""


@dataclass(frozen=True, slots=True)
class Team:
    """The names of the people with a link, and of the leads among them.

    Without a lead, everybody settles disagreements. Nobody ever settles one on a passage that they judged themselves.
    """

    annotators: tuple[str, ...] = ()
    leads: frozenset[str] = frozenset()

    def settles(self, name: str) -> bool:
        """Return whether a person settles disagreements of others."""
        return not self.leads or name in self.leads


def team_of(annotators: Sequence[str], leads: Sequence[str]) -> Team:
    """Return a team; a lead who is not among the annotators gets a link, too.

    Raises:
        UsageError: Two names differ only in case or look the same.
    """
    names = tuple(dict.fromkeys((*annotators, *leads)))
    looks: dict[str, str] = {}
    for name in names:  # nobody is to settle their own disagreements under a second name
        alike = looks.setdefault(unicodedata.normalize("NFKC", name).casefold(), name)
        if alike != name:
            raise UsageError(
                Message("{annotator}, {lead}: {} and {} look alike; give one person one name", alike, name)
            )
    return Team(names, frozenset(leads))


@dataclass(frozen=True, slots=True)
class PersonAssignment:
    """An item as one person gets it. ``repeat`` marks the person's second look at it."""

    item: QueueItem
    repeat: bool = False


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease. ``slot`` is None if it ran out or was taken over, and somebody else got the pair."""

    pair: Pair
    annotator: str
    slot: int | None
    until: float

    def is_running(self, now: float) -> bool:
        """Return whether the lease has not run out; one that ends too far ahead is older than a clock set back."""
        return now < self.until <= now + 2 * LEASE_S


class Leases:
    """The leases in the ledger, as one transaction reads and changes them."""

    def __init__(self, ledger: Ledger, now: float) -> None:
        self._ledger = ledger
        self._now = now
        rows = ledger.execute("SELECT query_id, chunk_id, annotator, slot, until FROM goldbench_lease")
        self._leases = [Lease((query_id, chunk_id), *rest) for query_id, chunk_id, *rest in rows]

    def holders(self) -> dict[Pair, set[str]]:
        """Return the people who are looking at each pair now."""
        names: defaultdict[Pair, set[str]] = defaultdict(set)
        for lease in self._leases:
            if lease.slot is not None and lease.is_running(self._now):
                names[lease.pair].add(lease.annotator)
        return dict(names)

    def of(self, annotator: str, *, held: bool = False) -> set[Pair]:
        """Return the pairs leased to a person, also those whose lease ran out; with ``held``, those with a slot."""
        leases = (lease for lease in self._leases if lease.annotator == annotator)
        return {lease.pair for lease in leases if not held or lease.slot is not None}

    def add(self, pair: Pair, annotator: str) -> None:
        """Add or renew a lease; one that ran out loses its slot to the new one."""
        others = [lease for lease in self._leases if lease.pair == pair and lease.annotator != annotator]
        for lease in others:
            if lease.slot is not None and not lease.is_running(self._now):
                self.release(pair, lease.annotator)
        own = next((lease for lease in self._leases if (lease.pair, lease.annotator) == (pair, annotator)), None)
        is_fresh = own is not None and own.is_running(self._now) and own.until - self._now > LEASE_S * 0.8
        if own is not None and own.slot is not None and is_fresh:
            return
        used = {lease.slot for lease in others if lease.is_running(self._now)}
        slot = own.slot if own is not None and own.slot is not None else min({0, 1} - used, default=None)
        self._ledger.execute(
            "INSERT INTO goldbench_lease VALUES (?, ?, ?, ?, ?) ON CONFLICT (query_id, chunk_id, annotator) "
            "DO UPDATE SET slot = excluded.slot, until = excluded.until",
            (*pair, annotator, slot, self._now + LEASE_S),
        )

    def release(self, pair: Pair, annotator: str) -> None:
        """Give a person's slot to others; the person may still decide the pair: offline work is never lost."""
        free = "UPDATE goldbench_lease SET slot = NULL WHERE query_id = ? AND chunk_id = ? AND annotator = ?"
        self._ledger.execute(free, (*pair, annotator))
        self._leases = [
            Lease(pair, annotator, None, lease.until) if (lease.pair, lease.annotator) == (pair, annotator) else lease
            for lease in self._leases
        ]


def end_lease(ledger: Ledger, event: Event) -> None:
    """Delete the leases that a decision ends."""
    if event.kind in _ENDS_LEASE and not event.repeat:
        ledger.execute(_DELETE_LEASE, (event.query_id, event.chunk_id, event.annotator))
    elif event.kind is EventKind.BAD_QUERY:
        of_query = "DELETE FROM goldbench_lease WHERE query_id = ? AND annotator = ?"
        ledger.execute(of_query, (event.query_id, event.annotator))


class Assigner:
    """The ledger, its current state and the queue: assigns pairs and stores decisions."""

    def __init__(
        self,
        ledger: Ledger,
        items: Sequence[QueueItem],
        *,
        team: Team | None = None,
        repeats: int = 10,
        seed: int = 0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Read the ledger.

        Args:
            ledger: The ledger.
            items: The queue.
            team: The people.
            repeats: Pairs that each person sees a second time.
            seed: Seed of the choice of these.
            clock: Returns the seconds since 1970.
        """
        self.ledger = ledger
        self.state = State()
        self.by_pair: Mapping[Pair, QueueItem] = {item.pair: item for item in items}
        self.team = team or Team()
        self._repeats = repeats
        self._seed = seed
        self._clock = clock
        self._turn = threading.RLock()
        self._events: list[Event] = []
        self._foreign = False
        self._counts: tuple[int, dict[Lane, Counter[str]]] = (-1, {})
        self.items = items
        self._blocks = [list(group) for _, group in itertools.groupby(items, key=lambda item: item.query_id)]
        self._block = {item.pair: number for number, group in enumerate(self._blocks) for item in group}
        self._rank = {item.pair: rank for rank, item in enumerate(items)}
        self.refresh()

    def refresh(self) -> State:
        """Return the state with all events that are stored by now."""
        with self._turn:
            self._take_in(self.ledger.events(after=self._seq))
            return self.state

    @contextlib.contextmanager
    def reading(self) -> Iterator[State]:
        """Give the state as it is known here; nothing changes it within the block."""
        with self._turn:
            if not self._events:
                self._take_in(self.ledger.events())
            yield self.state

    def claim(self, annotator: str, count: int, *, have: Collection[tuple[Pair, bool]] = ()) -> list[PersonAssignment]:
        """Return up to ``count`` more pairs for a person, leased from now on.

        Args:
            annotator: The person.
            count: Number of further pairs.
            have: The pairs that the person has, each with whether it is a second look; their leases are renewed.
        """
        with self._turn, self.ledger.writing():
            self._catch_up()
            return self._claim(annotator, count, have)

    def open(self, annotator: str, pair: Pair) -> PersonAssignment:
        """Return a single pair that a person asks for: one that they judged, or one that still needs a person.

        Raises:
            NotAssigned: Others have it, and no more people are needed.
        """
        with self._turn, self.ledger.writing():
            self._catch_up()
            leases = Leases(self.ledger, self._clock())
            if self.state.says(annotator, pair) is None:
                if not self._can_assign(annotator, pair, leases.holders()):
                    raise NotAssigned("somebody else judges this passage")
                leases.add(pair, annotator)
            return PersonAssignment(self.by_pair[pair])

    def record(
        self, event: Event, *, want: int = 0, have: Collection[tuple[Pair, bool]] = (), blind: bool = True
    ) -> tuple[Event, list[PersonAssignment]]:
        """Return a decision as stored, and up to ``want`` more pairs; the lease on the decided pair ends.

        Args:
            event: The decision.
            want: Number of further pairs.
            have: The pairs that the person has, each with whether it is a second look; their leases are renewed.
            blind: Whether a judgment needs a lease, as on the review page.

        Raises:
            NotAssigned: The pair was never leased to this person, and no more people are needed; or it is a third
                decision on a pair without disagreement, on one that the person judged, or by somebody who is not lead.
            LedgerConflict: Another event with this client id is stored.
            LedgerFailed: The database does not answer; nothing was stored.
        """
        with self._turn:
            try:
                with self.ledger.writing():
                    self._catch_up()
                    if blind and event.kind in {EventKind.JUDGE, EventKind.CANNOT}:
                        self._check_assigned(event)
                    if event.kind is EventKind.ADJUDICATE:
                        self._check_disputed(event)
                    stored = self.ledger.add(event)
                    end_lease(self.ledger, event)
                    self._take_in([stored])
                    return stored, self._claim(event.annotator, want, have) if want else []
            except NotAssigned:
                raise
            except BaseException:
                self.state = State()  # it may hold an event that was not stored: read it again
                self._events = []
                raise

    def lost(self, annotator: str, have: Collection[tuple[Pair, bool]]) -> list[Pair]:
        """Return the pairs of a person's page that others have taken over, and that need nobody more; see `claim`."""
        with self._turn, self.ledger.writing():
            self._catch_up()
            leases = Leases(self.ledger, self._clock())
            held = leases.of(annotator, held=True)
            holders = leases.holders()
            return [
                pair
                for pair, repeat in have
                if not repeat and pair not in held and not self._has_decided(annotator, pair)
                if not self._has_capacity(annotator, pair, holders)
            ]

    def unblind(self, annotator: str, pairs: Collection[Pair]) -> None:
        """End a person's leases on pairs whose grades by others the person is about to see.

        A judgment given now would not be blind, so it is not taken any more.
        """
        with self._turn, self.ledger.writing():
            for pair in pairs:
                self.ledger.execute(_DELETE_LEASE, (*pair, annotator))

    def counts(self, annotator: str) -> dict[str, dict[str, int]]:
        """Return the pairs of each lane, those that are decided, and those that one person decided.

        A pair is decided when anybody judged it or cannot judge it, or when its query is reported as bad or rejected.
        """
        if self._counts[0] != self.state.seq:
            self._counts = (self.state.seq, self._count_lanes())
        lanes = sorted(self._counts[1].items())
        return {
            lane.value: {"total": count["total"], "done": count["done"], "mine": count[f"by {annotator}"]}
            for lane, count in lanes
        }

    def total(self, annotator: str) -> dict[str, int]:
        """Return the same for all lanes together; ``mine`` never exceeds ``done``, nor ``done`` the ``total``."""
        lanes = self.counts(annotator).values()
        return {name: sum(lane[name] for lane in lanes) for name in ("total", "done", "mine")}

    def _count_lanes(self) -> dict[Lane, Counter[str]]:
        counts: defaultdict[Lane, Counter[str]] = defaultdict(Counter)
        parked = {query_id for query_id in {query_id for query_id, _ in self.by_pair} if self.state.parked(query_id)}
        for pair, item in self.by_pair.items():
            names = self.state.deciders(pair)
            counts[item.lane].update(["total", *(f"by {name}" for name in names)])
            counts[item.lane]["done"] += bool(names) or pair[0] in parked
        return counts

    def _has_decided(self, annotator: str, pair: Pair) -> bool:
        decision = self.state.says(annotator, pair)
        return decision is not None and decision.kind is not EventKind.LATER

    def _claim(self, annotator: str, count: int, have: Collection[tuple[Pair, bool]]) -> list[PersonAssignment]:
        leases = Leases(self.ledger, self._clock())
        holders = leases.holders()
        assigned = self._second_looks(annotator, have)[:count]
        held = {pair for pair, names in holders.items() if annotator in names}
        present = {pair for pair, repeat in have if not repeat}
        for pair in self._candidates(annotator, holders):
            if len(assigned) >= count:
                break
            if pair not in present and (pair in held or len(held | present) < MAX_LEASES):
                assigned.append(PersonAssignment(self.by_pair[pair]))
        if count and not assigned and all(self._has_decided(annotator, pair) for pair in present):
            for pair, holder in self._reassignable(annotator, holders)[:count]:
                leases.release(pair, holder)
                assigned.append(PersonAssignment(self.by_pair[pair]))
        renewed = present & leases.of(annotator, held=True)
        for pair in (*(each.item.pair for each in assigned if not each.repeat), *renewed):
            leases.add(pair, annotator)
        return assigned

    def _reassignable(self, annotator: str, holders: Mapping[Pair, set[str]]) -> list[tuple[Pair, str]]:
        """Return the last half of the pairs that the person with the most of them has in reserve, with that person."""
        longest: list[tuple[Pair, str]] = []
        for holder in sorted({name for names in holders.values() for name in names} - {annotator}):
            pairs = [pair for pair, names in holders.items() if holder in names and pair in self._rank]
            reserve = sorted(pairs, key=self._rank.__getitem__)[MIN_RESERVE:]
            rest = {pair: names - {holder} for pair, names in holders.items()}
            spare = [(pair, holder) for pair in reserve if self._can_assign(annotator, pair, rest)]
            longest = max(longest, spare, key=len)
        return longest[len(longest) // 2 :]

    @property
    def _seq(self) -> int:
        return (self._events[-1].seq or 0) if self._events else 0

    def _catch_up(self) -> None:
        self._take_in(self.ledger.events(after=self._seq))

    def _take_in(self, events: Iterable[Event]) -> None:
        """Add events to the state; fold all of them again if one is about another set, or may take back such a one."""
        new = [event for event in events if (event.seq or 0) > self._seq]
        if not new:
            return
        self._events += new
        has_foreign = any(event.data_sha != self.ledger.data_sha for event in new)
        self._foreign |= has_foreign
        if has_foreign or (self._foreign and any(event.undoes is not None for event in new)):
            self.state = fold(self.ledger.translated(self._events).events)
            return
        for event in new:
            self.state.add(event)

    def _candidates(self, annotator: str, holders: Mapping[Pair, set[str]]) -> Iterator[Pair]:
        """Yield the pairs that a person may get, in order.

        First the rest of the person's current group, then the groups of nobody else, then the other groups, and last
        the pairs that the person postponed, the oldest first.
        """
        busy = {self._block[pair] for pair, names in holders.items() if pair in self._block and names - {annotator}}
        current = self._current_block(annotator, [pair for pair, names in holders.items() if annotator in names])
        numbers = sorted(range(len(self._blocks)), key=lambda number: (number != current, number in busy))
        for number in numbers:
            for item in self._blocks[number]:
                if self._can_assign(annotator, item.pair, holders):
                    yield item.pair
        postponed = [
            (decision.seq or 0, item.pair)
            for item in self.items
            if (decision := self.state.says(annotator, item.pair)) and decision.kind is EventKind.LATER
        ]
        for _, pair in sorted(postponed):
            if self._has_capacity(annotator, pair, holders):
                yield pair

    def _current_block(self, annotator: str, held: Sequence[Pair]) -> int | None:
        """Return the number of a person's current group: that of the last act, else that of a leased pair."""
        for event in reversed(self.state.acts_of(annotator)):
            pair = (event.query_id, event.chunk_id or "")
            if pair in self._block and not event.repeat:
                return self._block[pair]
        return min((self._block[pair] for pair in held if pair in self._block), default=None)

    def _can_assign(self, annotator: str, pair: Pair, holders: Mapping[Pair, set[str]]) -> bool:
        return self.state.says(annotator, pair) is None and self._has_capacity(annotator, pair, holders)

    def _has_capacity(self, annotator: str, pair: Pair, holders: Mapping[Pair, set[str]]) -> bool:
        """Return whether one more person may judge a pair, counting those who are looking at it."""
        if pair not in self.by_pair or self.state.parked(pair[0]) or self.state.adjudication(pair) is not None:
            return False
        others = {*self.state.judged_by(pair), *holders.get(pair, ())} - {annotator}
        return len(others) < self.by_pair[pair].wanted

    def _check_assigned(self, event: Event) -> None:
        pair = (event.query_id, event.chunk_id or "")
        leases = Leases(self.ledger, self._clock())
        known = event.client_id in self.state.known or self.state.ever_judged(event.annotator, pair)
        if not known and not self.state.disputed(pair):  # in a disagreement the person may have seen others' grades
            known = self.state.says(event.annotator, pair) is not None
        if known or pair in leases.of(event.annotator):
            return
        if not self._has_capacity(event.annotator, pair, leases.holders()):
            raise NotAssigned("this passage was not given to you, and no more people are needed for it")

    def _check_disputed(self, event: Event) -> None:
        pair = (event.query_id, event.chunk_id or "")
        if event.client_id in self.state.known:
            return
        if not self.state.disputed(pair):
            raise NotAssigned("there is no disagreement on this passage, so there is nothing to decide")
        if self.state.adjudication(pair) is not None:
            raise NotAssigned("this disagreement is settled already")
        if problem := self.why_not_settled_by(event.annotator, pair):
            raise NotAssigned(problem)

    def why_not_settled_by(self, annotator: str, pair: Pair) -> str | None:
        """Return why a person may not settle a disagreement, None if the person may."""
        if self.state.ever_judged(annotator, pair):
            return "nobody settles a disagreement on a passage that they judged, and you judged it"
        if not self.team.settles(annotator):
            return f"only the lead settles disagreements: {', '.join(sorted(self.team.leads))}"
        return None

    def _second_looks(self, annotator: str, have: Collection[tuple[Pair, bool]]) -> list[PersonAssignment]:
        """Return the second look that is due, unless the person has one already."""
        if not self._repeats or any(repeat for _, repeat in have):
            return []
        acts = [each for each in self.state.acts_of(annotator) if each.kind is EventKind.JUDGE or each.repeat]
        sampled = [each for each in acts if each.lane is Lane.CALIBRATION and not each.repeat]
        due = min(self._repeats, 1 + (len(sampled) - REPEATS_AFTER) // REPEATS_EVERY)
        if len(sampled) < REPEATS_AFTER or sum(each.repeat for each in acts) >= due:
            return []
        pairs = {(each.query_id, each.chunk_id or "") for each in acts[:-REPEATS_APART] if each in sampled}
        candidates = [pair for pair in pairs if self._may_repeat(annotator, pair)]
        chosen = sorted(candidates, key=lambda pair: _digest(f"{self._seed} repeat {annotator} {pair[0]} {pair[1]}"))
        return [PersonAssignment(self.by_pair[pair], repeat=True) for pair in chosen[:1]]

    def _may_repeat(self, annotator: str, pair: Pair) -> bool:
        decision = self.state.says(annotator, pair)
        is_judged = decision is not None and decision.kind is EventKind.JUDGE
        return pair in self.by_pair and is_judged and not self.state.repeated(annotator, pair)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
