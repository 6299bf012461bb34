"""How many pairs of a queue are decided, by whom: counted as decisions come in, so that no answer waits for it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review.queue import Item
from goldbench.review.state import Pair, State

_OF_WHOLE_QUERIES = {
    EventKind.UNDO,
    EventKind.REDO,
    EventKind.BAD_QUERY,
    EventKind.REOPEN,
    EventKind.ACCEPT_QUERY,
    EventKind.EDIT_QUERY,
    EventKind.REJECT_QUERY,
}


class Tally:
    """Counts of decided pairs, each pair once.

    A pair is decided when anybody judged it or cannot judge it, or when its query is reported as bad or rejected.
    """

    def __init__(self, items: Sequence[Item], state: State) -> None:
        self._lanes = {item.pair: item.lane for item in items}
        self._totals = Counter(self._lanes.values())
        self._of_query: defaultdict[str, list[Pair]] = defaultdict(list)
        for pair in self._lanes:
            self._of_query[pair[0]].append(pair)
        self._done: set[Pair] = set()
        self._by: dict[Pair, frozenset[str]] = {}
        self._done_in: Counter[Lane] = Counter()
        self._mine_in: Counter[tuple[str, Lane]] = Counter()
        self._refresh(self._lanes, state)

    def add(self, events: Iterable[Event], state: State) -> None:
        """Count again what events are about.

        Args:
            events: The events.
            state: The state with them.
        """
        for event in events:
            whole = event.kind in _OF_WHOLE_QUERIES or event.chunk_id is None
            pair = (event.query_id, event.chunk_id or "")
            self._refresh(self._of_query.get(event.query_id, ()) if whole else (pair,), state)

    def lanes(self, annotator: str) -> dict[str, dict[str, int]]:
        """Return the pairs of each lane, those that are decided, and those that one person decided."""
        return {
            lane.value: {"total": total, "done": self._done_in[lane], "mine": self._mine_in[annotator, lane]}
            for lane, total in sorted(self._totals.items())
        }

    def whole(self, annotator: str) -> dict[str, int]:
        """Return the same for all lanes together; ``mine`` never exceeds ``done``, nor ``done`` the ``total``."""
        lanes = self.lanes(annotator).values()
        return {name: sum(lane[name] for lane in lanes) for name in ("total", "done", "mine")}

    def mine(self, annotator: str) -> int:
        """Return the pairs that one person decided."""
        return sum(self._mine_in[annotator, lane] for lane in self._totals)

    def _refresh(self, pairs: Iterable[Pair], state: State) -> None:
        for pair in pairs:
            lane = self._lanes.get(pair)
            if lane is None:
                continue
            before, now = self._by.get(pair, frozenset()), frozenset(state.deciders(pair))
            self._by[pair] = now
            self._mine_in.update({(name, lane): 1 for name in now - before})
            self._mine_in.subtract({(name, lane): 1 for name in before - now})
            if bool(now) or state.parked(pair[0]):
                self._done_in[lane] += pair not in self._done
                self._done.add(pair)
            else:
                self._done_in[lane] -= pair in self._done
                self._done.discard(pair)
