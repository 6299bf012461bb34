"""The answers of the routes, which reveal no grade of the judge before a judgment is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from goldbench.records.review_event import BadQuery, Event, EventKind, Lane
from goldbench.review import payload
from goldbench.review.completion import counts
from goldbench.review.desk import Desk, Handed
from goldbench.review.ledger import LedgerConflict
from goldbench.review.overview import Refused, Standing, Unknown, number
from goldbench.review.own_judgments import OwnJudgments
from goldbench.review.payload import Keys
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import Pair

MOST = 20
"""Pairs that one answer holds at most; a page asks again until it has 50 in reserve."""

_OF_QUERIES = {EventKind.ACCEPT_QUERY, EventKind.EDIT_QUERY, EventKind.REJECT_QUERY, EventKind.REOPEN}
_OF_PAIRS = {EventKind.JUDGE, EventKind.LATER, EventKind.CANNOT, EventKind.NOTE}


class Sent(BaseModel):
    """An event as the page sends it; the server adds the other fields."""

    model_config = ConfigDict(extra="forbid")

    client_id: str = Field(min_length=8, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
    kind: EventKind
    pair: str | None = Field(default=None, max_length=40)
    query: str | None = Field(default=None, max_length=40)
    grade: int | None = Field(default=None, ge=0, le=3, strict=True)
    reason: BadQuery | None = None
    evidence: str | None = Field(default=None, max_length=20_000)
    note: str | None = Field(default=None, max_length=20_000)
    text: str | None = Field(default=None, max_length=2_000)
    ms: int | None = Field(default=None, ge=0, le=2**53, strict=True)
    highlights: bool = False
    undoes: str | None = Field(default=None, max_length=64)
    want: int | None = Field(default=None, ge=0, le=MOST)
    have: list[str] = Field(default_factory=list, max_length=99)


@dataclass
class Answers:
    """Answers from the desk and the data set.

    ``training`` shows the judge's grade first and marks every judgment.
    """

    desk: Desk
    material: ReviewableSet
    training: bool = False
    keys: Keys = field(init=False)
    standing: Standing = field(init=False)
    history: OwnJudgments = field(init=False)

    def __post_init__(self) -> None:
        """Make the keys of the pairs."""
        self.keys = Keys(self.desk.items, queries=self.material.queries, corpus=self.material.corpus)
        self.standing = Standing(self.desk, self.material, self.keys)
        self.history = OwnJudgments(self.desk, self.material, self.keys)

    def session(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the person's name, settings of the session, and counts."""
        with self.desk.reading() as state:
            acts = state.stacks.get(annotator)
            return {
                "annotator": annotator,
                "set": self.material.data_sha[:12],
                "training": self.training,
                "undo": bool(acts and acts.done),
                "redo": bool(acts and acts.undone),
                "target": self.desk.team.targets.get(annotator),
                "count": self._count(annotator),
                **counts(state, self.desk.items, self.desk.tally, annotator),
            }

    def upcoming(self, annotator: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the next ``n`` pairs, besides those that the page has, which pairs it lost, and counts."""
        count, have = number(asked.get("n")), self._known(asked.get("have", "").split(","))
        handed = self.desk.claim(annotator, min(count, MOST), have=have)
        answer: dict[str, Any] = {"items": [self._shown(annotator, one) for one in handed]}
        return answer | self._news(annotator, have) if "have" in asked else answer

    def item(self, annotator: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return one pair by its key."""
        pair, repeat = self._pair(asked.get("pair"))
        return self._shown(annotator, Handed(self.desk.open(annotator, pair).item, repeat=repeat))

    def context(self, _: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the passages before and after a pair's passage."""
        return payload.around(self.material, self._pair(asked.get("pair"))[0][1])

    def overview(self, annotator: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the pairs of a query with the person's decisions on them."""
        query_id = self._query(asked.get("query"))
        with self.desk.reading() as state:
            rows = [
                payload.row(item, self.material, self.keys, mine=state.says(annotator, item.pair))
                for item in self.desk.items
                if item.query_id == query_id
            ]
        return {"asks": payload.clean(self.material.asked[query_id].judged), "items": rows}

    def event(self, annotator: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store a decision; return its number, the next pairs, counts and, in lane B, the judge's grade."""
        sent = _sent(body)
        if sent.kind in {EventKind.UNDO, EventKind.REDO}:
            return self._moved(annotator, sent)
        event = self._event(annotator, sent)
        have = self._known(sent.have)
        stored, following = self.desk.record(event, want=sent.want or 0, have=have)
        answer: dict[str, Any] = {"seq": stored.seq}
        if stored.kind is EventKind.JUDGE and stored.lane is Lane.ERRORS and not stored.repeat:
            answer["revealed"] = payload.revealed(self._said((stored.query_id, stored.chunk_id or "")))
        if stored.repeat:
            answer["again"] = True
        if sent.want is None:
            return answer
        return answer | self._news(annotator, have) | {"items": [self._shown(annotator, one) for one in following]}

    def undo(self, annotator: str, body: dict[str, Any]) -> dict[str, Any]:
        """Undo the last act; return its pair."""
        return self._moved(annotator, _sent({**body, "kind": "undo"}))

    def redo(self, annotator: str, body: dict[str, Any]) -> dict[str, Any]:
        """Redo the act that was undone last; return its pair."""
        return self._moved(annotator, _sent({**body, "kind": "redo"}))

    def _news(self, annotator: str, have: Sequence[tuple[Pair, bool]]) -> dict[str, Any]:
        """Return the keys of pairs that others have taken over, and what the page's counter shows."""
        lost = self.desk.lost(annotator, have) if have else []
        with self.desk.reading():
            return {"lost": [self.keys.of(pair) for pair in lost], "count": self._count(annotator)}

    def _count(self, annotator: str) -> dict[str, int]:
        return self.desk.tally.whole(annotator)

    def _known(self, keys: Sequence[str]) -> list[tuple[Pair, bool]]:
        return [found for key in keys if (found := self.keys.pair(key)) is not None]

    def _shown(self, annotator: str, handed: Handed) -> dict[str, Any]:
        with self.desk.reading() as state:
            mine = state.says(annotator, handed.item.pair)
            review = state.review(annotator, handed.item.pair)
        found = payload.shown(handed, self.material, self.keys, mine=mine, review=review)
        if self.training:
            found["revealed"] = payload.revealed(self._said(handed.item.pair))
        return found

    def _event(self, annotator: str, sent: Sent) -> Event:
        pair, repeat = self._pair(sent.pair) if sent.pair else (None, False)
        query_id = pair[0] if pair else self._query(sent.query)
        of_query = sent.kind in _OF_QUERIES and sent.pair is None
        if pair is None and not of_query and sent.kind is not EventKind.BAD_QUERY:
            raise Refused(f"{sent.kind.value} needs a pair")
        if sent.kind is EventKind.BAD_QUERY and sent.reason is None:
            raise Refused("bad_query needs a reason")
        repeat = repeat and sent.kind in _OF_PAIRS
        item = self.desk.by_pair[pair] if pair else None
        fields = sent.model_dump(
            include={"client_id", "kind", "grade", "reason", "evidence", "note", "text", "ms", "highlights"}
        )
        return self._made(
            annotator,
            fields,
            query_id=query_id,
            chunk_id=pair[1] if pair else None,
            lane=item.lane if item else None,
            inclusion=item.inclusion if item else None,
            repeat=repeat,
            revealed=pair is not None and sent.kind is EventKind.JUDGE and self._saw(annotator, pair),
        )

    def _made(self, annotator: str, fields: Mapping[str, Any], **more: object) -> Event:
        """Return an event of now."""
        try:
            return Event.model_validate(
                {
                    **fields,
                    **more,
                    "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "annotator": annotator,
                    "rubric_sha": self.material.rubric.sha,
                    "data_sha": self.material.data_sha,
                }
            )
        except ValidationError as error:
            raise Refused(first_error(error)["msg"]) from None

    def _saw(self, annotator: str, pair: Pair) -> bool:
        """Return whether a person has seen the judge's grade of a pair."""
        if not self._said(pair):
            return False
        if self.training:
            return True
        with self.desk.reading() as state:
            if not state.ever_judged(annotator, pair):
                return False
            return self.desk.by_pair[pair].lane is Lane.ERRORS or self.standing.finished(annotator, state)

    def _moved(self, annotator: str, sent: Sent) -> dict[str, Any]:
        """Store an undo or a redo; return its number and its pair."""
        event = self.desk.ledger.find(sent.client_id)
        if event is not None and (
            (event.annotator, event.kind) != (annotator, sent.kind) or sent.undoes not in {None, event.undoes}
        ):
            raise LedgerConflict("another event with this client_id is stored")
        if event is None:
            with self.desk.reading() as state:
                stack = state.stacks.get(annotator)
                acts = (stack.done if sent.kind is EventKind.UNDO else stack.undone) if stack else []
                target = next((one for one in reversed(acts) if sent.undoes in {None, one.client_id}), None)
            if target is None:
                raise Refused(f"There is nothing to {sent.kind.value}")
            made = self._made(
                annotator,
                {"client_id": sent.client_id, "kind": sent.kind, "undoes": target.client_id},
                query_id=target.query_id,
                chunk_id=target.chunk_id,
                repeat=target.repeat,
            )
            event, _ = self.desk.record(made)
        answer: dict[str, Any] = {"seq": event.seq, "undoes": event.undoes}
        pair = (event.query_id, event.chunk_id or "")
        if pair in self.desk.by_pair:
            answer["item"] = self._shown(annotator, Handed(self.desk.by_pair[pair], repeat=event.repeat))
        return answer

    def _said(self, pair: Pair) -> Sequence[Any]:
        return self.material.judged.get(pair, ())

    def _pair(self, key: str | None) -> tuple[Pair, bool]:
        if not key:
            raise Refused("a pair is missing")
        found = self.keys.pair(key)
        if found is None:
            raise Unknown("this passage is not in the set, or its text has changed")
        return found

    def _query(self, key: str | None) -> str:
        if not key:
            raise Refused("a pair or a query is missing")
        found = self.keys.query(key)
        if found is None:
            raise Unknown("this query is not in the set, or its text has changed")
        return found


def _sent(body: dict[str, Any]) -> Sent:
    try:
        return Sent.model_validate({k: payload.clean(v) if isinstance(v, str) else v for k, v in body.items()})
    except ValidationError as error:
        first = first_error(error)
        where = ".".join(str(part) for part in first["loc"][:1] if str(part) in Sent.model_fields) or "body"
        raise Refused(f"{where}: {first['msg']}") from None


def first_error(error: ValidationError) -> ErrorDetails:
    """Return the first thing that is wrong, without what was sent."""
    return error.errors(include_url=False, include_input=False, include_context=False)[0]
