"""What one person judged, newest first, as the page lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from goldbench.records.review_event import Event, EventKind
from goldbench.review import payload
from goldbench.review.desk import Desk
from goldbench.review.overview import Refused
from goldbench.review.payload import Keys
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import Pair, State

PAGE = 50
"""Judgments in one answer."""

_DECISIONS = {EventKind.JUDGE, EventKind.CANNOT, EventKind.LATER}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter: words of the query, a grade or another decision, a lane, and the times between which it was said."""

    words: tuple[str, ...] = ()
    said: str = ""
    lane: str = ""
    since: datetime | None = None
    before: datetime | None = None

    @classmethod
    def of(cls, asked: Mapping[str, str]) -> Wanted:
        """Return the filter of an address.

        Raises:
            Refused: A time is not valid.
        """
        return cls(
            tuple(asked.get("q", "")[:1000].casefold().split()),
            asked.get("said", ""),
            asked.get("lane", ""),
            _time(asked.get("since")),
            _time(asked.get("before")),
        )

    def holds(self, event: Event, query: str) -> bool:
        """Return whether a decision on a query passes the filter."""
        at = _moment(event.at)
        return (
            self.said in {"", _said(event)}
            and self.lane in {"", event.lane or ""}
            and (self.since is None or (at is not None and at >= self.since))
            and (self.before is None or (at is not None and at < self.before))
            and all(word in query.casefold() for word in self.words)
        )


class OwnJudgments:
    """The decisions of each person on pairs, with the grades given before."""

    def __init__(self, desk: Desk, material: ReviewableSet, keys: Keys) -> None:
        self._desk, self._material, self._keys = desk, material, keys

    def page(self, annotator: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return a person's current decisions that pass a filter, 50 from a place on, and how many there are."""
        wanted = Wanted.of(asked)
        place = asked.get("from", "0")
        if not place.isdecimal() or len(place) > 9:
            raise Refused("a number is missing or not valid")
        with self._desk.reading() as state:
            found = [
                (event, earlier)
                for event, earlier in self._decisions(annotator, state)
                if wanted.holds(event, self._material.asked[event.query_id].judged)
            ]
            shown = found[int(place) : int(place) + PAGE]
            rows = [self._row(annotator, event, earlier, state) for event, earlier in shown]
        return {"items": rows, "total": len(found)}

    def _decisions(self, annotator: str, state: State) -> Iterator[tuple[Event, list[int]]]:
        """Yield a person's current decisions, newest first, each with the grades given before, the oldest first."""
        acts = state.stacks[annotator].done if annotator in state.stacks else []
        grades: dict[Pair, list[int]] = {}
        last: dict[Pair, tuple[Event, list[int]]] = {}
        for event in acts:
            pair = event.query_id, event.chunk_id or ""
            if event.kind not in _DECISIONS or event.repeat or pair not in self._desk.by_pair:
                continue
            last.pop(pair, None)
            last[pair] = event, list(grades.get(pair, ()))
            if event.grade is not None:
                grades.setdefault(pair, []).append(int(event.grade))
        for pair, (event, earlier) in reversed(last.items()):
            if state.says(annotator, pair) is event:
                yield event, earlier

    def _row(self, annotator: str, event: Event, earlier: list[int], state: State) -> dict[str, Any]:
        pair = event.query_id, event.chunk_id or ""
        review = state.review(annotator, pair)
        return {
            **payload.row(self._desk.by_pair[pair], self._material, self._keys, mine=event),
            "asks": payload.clean(self._material.asked[event.query_id].judged),
            "at": event.at,
            "earlier": earlier,
            "note": payload.clean(review.note) if review else "",
            "evidence": payload.clean(review.evidence) if review else "",
        }


def _said(event: Event) -> str:
    return str(int(event.grade)) if event.grade is not None else event.kind.value


def _time(text: str | None) -> datetime | None:
    """Return a time with its zone, as a page sends it; None for none."""
    if not text:
        return None
    found = _moment(text)
    if found is None:
        raise Refused("a date is not valid")
    return found


def _moment(text: str) -> datetime | None:
    """Return a time, UTC unless it has a zone of its own; None if it is not valid."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
