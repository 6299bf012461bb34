"""The state that follows from a ledger's events: a pure fold, in the order of their numbers.

Each annotator has a stack of acts. An undo removes one of the annotator's own acts; a redo restores it, as long as the
annotator did nothing else in between; any other undo or redo changes nothing. The annotator's current decision on a
pair is the last act on it that was not undone. Notes are not acts: a new note replaces the old one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations

from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import BadQuery, Event, EventKind, Review

Pair = tuple[str, str]
"""The ids of a query and a chunk."""

_MARKS = {EventKind.UNDO, EventKind.REDO}
_VERDICTS = {EventKind.ACCEPT_QUERY, EventKind.EDIT_QUERY, EventKind.REJECT_QUERY}
_ABOUT_QUERIES = _VERDICTS | {EventKind.BAD_QUERY}


@dataclass(slots=True)
class Stack:
    """The acts of one annotator: those done, in order, and those undone, the last one on top."""

    done: list[Event] = field(default_factory=list)
    undone: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> bool:
        """Add an event and return whether it changed anything."""
        if event.kind is EventKind.UNDO:
            return _move(event.undoes, self.done, self.undone)
        if event.kind is EventKind.REDO:
            return _move(event.undoes, self.undone, self.done)
        self.done.append(event)
        self.undone.clear()
        return True


def _move(client_id: str | None, source: list[Event], target: list[Event]) -> bool:
    index = next((i for i in range(len(source) - 1, -1, -1) if source[i].client_id == client_id), None)
    if index is None:
        return False
    target.append(source.pop(index))
    return True


def fold(events: Iterable[Event]) -> State:
    """Return the state after events, which come in the order of their numbers."""
    state = State()
    for event in events:
        state.add(event)
    return state


class State:
    """The current decisions. Only ``add`` changes it, by one event at a time."""

    def __init__(self) -> None:
        self.seq = 0
        """The number of the last event."""
        self.known: set[str] = set()
        """The client ids of all events."""
        self.stacks: defaultdict[str, Stack] = defaultdict(Stack)
        self._standing: set[str] = set()
        self._of_pair: defaultdict[Pair, defaultdict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
        self._of_query: defaultdict[str, list[Event]] = defaultdict(list)

    def add(self, event: Event) -> None:
        """Add the next event."""
        self.seq = event.seq or self.seq
        self.known.add(event.client_id)
        if event.kind is not EventKind.NOTE:
            stack = self.stacks[event.annotator]
            before = event.undoes if event.kind in _MARKS else event.client_id
            if stack.add(event) and before is not None:
                (self._standing.discard if event.kind is EventKind.UNDO else self._standing.add)(before)
        if event.kind in _MARKS:
            return
        if event.chunk_id is not None:
            self._of_pair[event.query_id, event.chunk_id][event.annotator].append(event)
        if event.kind in _ABOUT_QUERIES or (event.kind is EventKind.REOPEN and event.chunk_id is None):
            self._of_query[event.query_id].append(event)

    def stands(self, event: Event) -> bool:
        """Return whether an act is not undone."""
        return event.client_id in self._standing

    def acts_of(self, annotator: str) -> list[Event]:
        """Return a person's acts that are not undone, in their order."""
        return self.stacks[annotator].done if annotator in self.stacks else []

    def says(self, annotator: str, pair: Pair) -> Event | None:
        """Return a person's current decision on a pair (judge, later or cannot), or None."""
        for event in reversed(self._acts(annotator, pair)):
            if event.kind is EventKind.REOPEN and self.stands(event):
                return None
            if event.kind in {EventKind.JUDGE, EventKind.LATER, EventKind.CANNOT} and self._counts(event):
                return event
        return None

    def ever_judged(self, annotator: str, pair: Pair) -> bool:
        """Return whether a person has ever judged a pair, even if the judgment is undone."""
        return any(event.kind is EventKind.JUDGE for event in self._acts(annotator, pair))

    def judged_by(self, pair: Pair) -> list[str]:
        """Return the people with a current judgment of a pair, sorted."""
        names = sorted(self._of_pair[pair]) if pair in self._of_pair else []
        return [name for name in names if (event := self.says(name, pair)) and event.kind is EventKind.JUDGE]

    def deciders(self, pair: Pair) -> list[str]:
        """Return the people who judged a pair or cannot judge it, sorted."""
        names = sorted(self._of_pair[pair]) if pair in self._of_pair else []
        decisions = ((name, self.says(name, pair)) for name in names)
        return [name for name, event in decisions if event and event.kind is not EventKind.LATER]

    def review(self, annotator: str, pair: Pair) -> Review | None:
        """Return a person's current judgment of a pair, or None."""
        event = self.says(annotator, pair)
        if event is None or event.kind is not EventKind.JUDGE or event.grade is None:
            return None
        acts = [each for each in self._acts(annotator, pair) if not each.repeat]
        blind = [each for each in acts if each.kind is EventKind.JUDGE and not each.revealed and each.grade is not None]
        first = next((each for each in reversed(blind) if self.stands(each)), blind[-1] if blind else event)
        current = [each for each in acts if each.kind is EventKind.NOTE or self.stands(each)]
        return Review(
            query_id=pair[0],
            chunk_id=pair[1],
            annotator=annotator,
            grade=event.grade,
            first_grade=first.grade if first.grade is not None else event.grade,
            blind=bool(blind),
            lane=event.lane,
            inclusion=event.inclusion,
            evidence=next((each.evidence for each in reversed(current) if each.evidence is not None), ""),
            note=next((each.note for each in reversed(current) if each.note is not None), ""),
            ms=event.ms,
            revealed=event.revealed,
            highlights=event.highlights,
            rubric_sha=event.rubric_sha,
            adjudicated=self.adjudication(pair) is not None,
        )

    def reviews(self, query_id: str | None = None) -> list[Review]:
        """Return every current judgment, or those of one query, sorted by query, chunk and annotator."""
        pairs = sorted(pair for pair in self._of_pair if query_id in {None, pair[0]})
        names = ((pair, name) for pair in pairs for name in sorted(self._of_pair[pair]))
        return [review for pair, name in names if (review := self.review(name, pair))]

    def repeats(self) -> list[tuple[Review, Relevance]]:
        """Return the judgments of repeated pairs, each with the grade of the second look."""
        repeated = []
        for review in self.reviews():
            events = self._acts(review.annotator, (review.query_id, review.chunk_id))
            again = [each.grade for each in events if each.repeat and self.stands(each) and each.grade is not None]
            repeated += [(review, grade) for grade in again[-1:]]
        return repeated

    def repeated(self, annotator: str, pair: Pair) -> bool:
        """Return whether a person has judged a pair a second time."""
        return any(each.repeat and self.stands(each) for each in self._acts(annotator, pair))

    def adjudication(self, pair: Pair) -> Event | None:
        """Return the last adjudication of a pair, or None."""
        if pair not in self._of_pair:
            return None
        events = (each for acts in self._of_pair[pair].values() for each in acts)
        decided = [each for each in events if each.kind is EventKind.ADJUDICATE and self.stands(each)]
        return max(decided, key=lambda each: each.seq or 0, default=None)

    def adjudicated(self) -> dict[Pair, Relevance]:
        """Return the grade of every adjudicated pair."""
        decisions = ((pair, self.adjudication(pair)) for pair in sorted(self._of_pair))
        return {pair: event.grade for pair, event in decisions if event and event.grade is not None}

    def gold(self) -> dict[str, dict[str, Relevance]]:
        """Return one grade per pair, by query: the adjudicated, else the lower median, else the single one."""
        grades: defaultdict[str, dict[str, Relevance]] = defaultdict(dict)
        decided = self.adjudicated()
        for pair in sorted(self._of_pair):
            own = sorted(review.grade for name in self.judged_by(pair) if (review := self.review(name, pair)))
            if pair in decided:
                grades[pair[0]][pair[1]] = decided[pair]
            elif own:
                grades[pair[0]][pair[1]] = own[(len(own) - 1) // 2]
        return dict(grades)

    def disagreements(self) -> list[Pair]:
        """Return the disputed pairs that are not adjudicated yet."""
        return [pair for pair in sorted(self._of_pair) if self.adjudication(pair) is None and self.disputed(pair)]

    def disputed(self, pair: Pair) -> bool:
        """Return whether two people's grades of a pair differ by 2 or more, or on whether it is relevant."""
        grades = [review.grade for name in self.judged_by(pair) if (review := self.review(name, pair))]
        return any(abs(a - b) >= 2 or (a >= RELEVANT) != (b >= RELEVANT) for a, b in combinations(grades, 2))

    def cannot(self) -> set[tuple[str, str, str]]:
        """Return the pairs that people cannot judge: annotator, query, chunk."""
        decisions = ((name, pair, self.says(name, pair)) for pair, acts in self._of_pair.items() for name in acts)
        return {(name, *pair) for name, pair, event in decisions if event and event.kind is EventKind.CANNOT}

    def bad_queries(self) -> dict[str, dict[str, BadQuery]]:
        """Return the reasons why queries are bad, by query and person; reopened, edited or accepted ones have none."""
        return {query_id: bad for query_id in sorted(self._of_query) if (bad := self.bad(query_id))}

    def bad(self, query_id: str) -> dict[str, BadQuery]:
        """Return the reasons why one query is bad, by person."""
        reasons: dict[str, BadQuery] = {}
        for event in self._of_query.get(query_id, ()):
            if not self.stands(event):
                continue
            if event.kind is EventKind.BAD_QUERY and event.reason is not None:
                reasons[event.annotator] = event.reason
            elif event.kind in {EventKind.REOPEN, EventKind.EDIT_QUERY, EventKind.ACCEPT_QUERY}:
                reasons.clear()
        return reasons

    def parked(self, query_id: str) -> bool:
        """Return whether nobody should judge a query's pairs now: it is bad, edited or rejected."""
        verdict = self._verdict(query_id)
        return bool(self.bad(query_id)) or (verdict is not None and verdict.kind is not EventKind.ACCEPT_QUERY)

    def query_verdicts(self) -> dict[str, Event]:
        """Return the last verdict on each query that has one: accepted, edited (with the new ``text``) or rejected."""
        verdicts = ((query_id, self._verdict(query_id)) for query_id in sorted(self._of_query))
        return {query_id: verdict for query_id, verdict in verdicts if verdict}

    def _verdict(self, query_id: str) -> Event | None:
        acts = (each for each in reversed(self._of_query.get(query_id, ())) if self.stands(each))
        last = next((each for each in acts if each.kind in _VERDICTS or each.kind is EventKind.REOPEN), None)
        return None if last is None or last.kind is EventKind.REOPEN else last

    def annotators(self) -> list[str]:
        """Return the people with any act, sorted."""
        return sorted(self.stacks)

    def _acts(self, annotator: str, pair: Pair) -> list[Event]:
        return self._of_pair[pair].get(annotator, []) if pair in self._of_pair else []

    def _counts(self, event: Event) -> bool:
        return self.stands(event) and not event.repeat
