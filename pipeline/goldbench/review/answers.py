"""The answers of the review page, which reveal no grade of the judge before a judgment is stored."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review.assignment import Assigner, PersonAssignment
from goldbench.review.findings import TOO_FAST_MS, sample_figures, stop_rules
from goldbench.review.ledger import LedgerConflict
from goldbench.review.page_server import InvalidRequest, UnknownItem
from goldbench.review.payload import Keys, clean, reveal, show_context, show_pair, show_query, show_row
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.sample import SampledPair, in_steps, sampled
from goldbench.review.sent_event import MAX_PAIRS, SentEvent, make_event, parse_event
from goldbench.review.state import Pair, Stack, State

_ABOUT_QUERIES = {EventKind.ACCEPT_QUERY, EventKind.EDIT_QUERY, EventKind.REJECT_QUERY, EventKind.REOPEN}
_ABOUT_PAIRS = {EventKind.JUDGE, EventKind.LATER, EventKind.CANNOT, EventKind.NOTE}
_OWN_DECISIONS = {EventKind.JUDGE, EventKind.CANNOT, EventKind.LATER}
_SETTLED = _ABOUT_QUERIES | {EventKind.ADJUDICATE}


class PageAnswers:
    """Answers from the assigner and the data set; figures that would influence a person are withheld for a while."""

    def __init__(self, assigner: Assigner, material: ReviewableSet) -> None:
        self.assigner = assigner
        self.material = material
        self.keys = Keys(assigner.items, queries=material.queries, corpus=material.corpus)
        self.judge = material.grades()
        self._figures: tuple[Sequence[SampledPair], dict[str, Any]] = ((), {})

    # --- judging ------------------------------------------------------------------------------------------------------

    def session(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the person's name, settings of the session, and counts."""
        with self.assigner.reading() as state:
            return {
                "annotator": annotator,
                "set": self.material.data_sha[:12],
                "count": self.assigner.total(annotator),
                "median_s": _median_s(state.acts_of(annotator)),
            }

    def upcoming(self, annotator: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the next ``n`` pairs, besides those that the page has, which pairs it lost, and counts."""
        count = _number(arguments.get("n"))
        have = self._known(arguments.get("have", "").split(","))
        assigned = self.assigner.claim(annotator, min(count, MAX_PAIRS), have=have)
        answer: dict[str, Any] = {"items": [self._show(annotator, each) for each in assigned]}
        return answer | self._news(annotator, have) if "have" in arguments else answer

    def item(self, annotator: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return one pair by its key."""
        pair, repeat = self._pair(arguments.get("pair"))
        return self._show(annotator, PersonAssignment(self.assigner.open(annotator, pair).item, repeat=repeat))

    def context(self, _: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the passages before and after a pair's passage."""
        return show_context(self.material, self._pair(arguments.get("pair"))[0][1])

    def overview(self, annotator: str, arguments: Mapping[str, str]) -> dict[str, Any]:
        """Return the pairs of a query with the person's decisions on them."""
        query_id = self._query(arguments.get("query"))
        with self.assigner.reading() as state:
            rows = [
                self._row(item.pair, state.says(annotator, item.pair))
                for item in self.assigner.items
                if item.query_id == query_id
            ]
        return {"asks": clean(self.material.asked[query_id].judged), "items": rows}

    def event(self, annotator: str, body: dict[str, Any]) -> dict[str, Any]:
        """Store a decision; return its number, the next pairs, counts and, in lane B, the judge's grade."""
        sent = parse_event(body)
        if sent.kind in {EventKind.UNDO, EventKind.REDO}:
            return self._move(annotator, sent)
        have = self._known(sent.have)
        stored, following = self.assigner.record(self._event(annotator, sent), want=sent.want or 0, have=have)
        answer: dict[str, Any] = {"seq": stored.seq}
        if stored.kind is EventKind.JUDGE and stored.lane is Lane.ERRORS and not stored.repeat:
            answer["revealed"] = reveal(self._judgments((stored.query_id, stored.chunk_id or "")))
        if stored.repeat:
            answer["again"] = True
        if sent.want is None:
            return answer
        items = [self._show(annotator, each) for each in following]
        return answer | self._news(annotator, have) | {"items": items}

    def _news(self, annotator: str, have: Sequence[tuple[Pair, bool]]) -> dict[str, Any]:
        """Return the keys of pairs that others have taken over, and what the page's counter shows."""
        lost = self.assigner.lost(annotator, have) if have else []
        with self.assigner.reading():
            return {"lost": [self.keys.of(pair) for pair in lost], "count": self.assigner.total(annotator)}

    def _known(self, keys: Sequence[str]) -> list[tuple[Pair, bool]]:
        return [self.keys.pairs[key] for key in keys if key in self.keys.pairs]

    def _show(self, annotator: str, assignment: PersonAssignment) -> dict[str, Any]:
        pair = assignment.item.pair
        with self.assigner.reading() as state:
            decision = state.says(annotator, pair)
            review = state.review(annotator, pair)
        return show_pair(assignment, self.material, self.keys, decision=decision, review=review)

    def _row(self, pair: Pair, decision: Event | None) -> dict[str, Any]:
        return show_row(self.assigner.by_pair[pair], self.material, self.keys, decision=decision)

    def _event(self, annotator: str, sent: SentEvent) -> Event:
        pair, repeat = self._pair(sent.pair) if sent.pair else (None, False)
        query_id = pair[0] if pair else self._query(sent.query)
        if pair is None and sent.kind not in _ABOUT_QUERIES | {EventKind.BAD_QUERY}:
            raise InvalidRequest(f"{sent.kind.value} needs a pair")
        item = self.assigner.by_pair[pair] if pair else None
        fields = {
            **sent.content,
            "query_id": query_id,
            "chunk_id": pair[1] if pair else None,
            "lane": item.lane if item else None,
            "inclusion": item.inclusion if item else None,
            "repeat": repeat and sent.kind in _ABOUT_PAIRS,
            "revealed": pair is not None and sent.kind is EventKind.JUDGE and self._has_seen(annotator, pair),
        }
        return make_event(self.material, annotator, fields)

    def _has_seen(self, annotator: str, pair: Pair) -> bool:
        """Return whether a person has seen the judge's grade of a pair."""
        if not self._judgments(pair):
            return False
        with self.assigner.reading() as state:
            return self.assigner.by_pair[pair].lane is Lane.ERRORS and state.ever_judged(annotator, pair)

    def _move(self, annotator: str, sent: SentEvent) -> dict[str, Any]:
        """Store an undo or a redo, of the last act unless it names another; return its number and its pair."""
        event = self.assigner.ledger.find(sent.client_id)
        if event is None:
            with self.assigner.reading() as state:
                stack = state.stacks.get(annotator, Stack())
                acts = stack.done if sent.kind is EventKind.UNDO else stack.undone
                target = next((act for act in reversed(acts) if sent.undoes in {None, act.client_id}), None)
            if target is None:
                raise InvalidRequest(f"There is nothing to {sent.kind.value}")
            about = {"query_id": target.query_id, "chunk_id": target.chunk_id, "repeat": target.repeat}
            fields = {"client_id": sent.client_id, "kind": sent.kind, "undoes": target.client_id, **about}
            event, _ = self.assigner.record(make_event(self.material, annotator, fields))
        elif (event.annotator, event.kind) != (annotator, sent.kind) or sent.undoes not in {None, event.undoes}:
            raise LedgerConflict("another event with this client_id is stored")
        answer: dict[str, Any] = {"seq": event.seq, "undoes": event.undoes}
        pair = (event.query_id, event.chunk_id or "")
        if pair in self.assigner.by_pair:
            answer["item"] = self._show(annotator, PersonAssignment(self.assigner.by_pair[pair], repeat=event.repeat))
        return answer

    def _judgments(self, pair: Pair) -> Sequence[Any]:
        return self.material.judged.get(pair, ())

    def _pair(self, key: str | None) -> tuple[Pair, bool]:
        if not key:
            raise InvalidRequest("a pair is missing")
        if key not in self.keys.pairs:
            raise UnknownItem("this passage is not in the set, or its text has changed")
        return self.keys.pairs[key]

    def _query(self, key: str | None) -> str:
        if not key:
            raise InvalidRequest("a pair or a query is missing")
        if key not in self.keys.queries:
            raise UnknownItem("this query is not in the set, or its text has changed")
        return self.keys.queries[key]

    # --- history ------------------------------------------------------------------------------------------------------

    def history(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return a person's current decisions; the page filters them."""
        with self.assigner.reading() as state:
            decisions = self._decisions(annotator, state)
            return {"items": [self._history_row(annotator, event, earlier, state) for event, earlier in decisions]}

    def _decisions(self, annotator: str, state: State) -> Iterator[tuple[Event, list[int]]]:
        """Yield a person's current decisions, newest first, each with the grades given before, the oldest first."""
        grades: dict[Pair, list[int]] = {}
        last: dict[Pair, tuple[Event, list[int]]] = {}
        for event in state.acts_of(annotator):
            pair = event.query_id, event.chunk_id or ""
            if event.kind not in _OWN_DECISIONS or event.repeat or pair not in self.assigner.by_pair:
                continue
            last.pop(pair, None)
            last[pair] = event, list(grades.get(pair, ()))
            if event.grade is not None:
                grades.setdefault(pair, []).append(int(event.grade))
        for pair, (event, earlier) in reversed(last.items()):
            if state.says(annotator, pair) is event:
                yield event, earlier

    def _history_row(self, annotator: str, event: Event, earlier: list[int], state: State) -> dict[str, Any]:
        pair = event.query_id, event.chunk_id or ""
        review = state.review(annotator, pair)
        return {
            **self._row(pair, event),
            "asks": clean(self.material.asked[event.query_id].judged),
            "at": event.at,
            "earlier": earlier,
            "note": clean(review.note) if review else "",
            "evidence": clean(review.evidence) if review else "",
        }

    # --- progress -----------------------------------------------------------------------------------------------------

    def progress(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return counts, and figures of agreement once enough of the random sample is judged."""
        assigner = self.assigner
        with assigner.reading() as state:
            items = assigner.items
            pairs = in_steps(sampled(state.reviews(), state), finished=self._is_sample_judged(annotator, state))
            if pairs != self._figures[0]:
                self._figures = (pairs, sample_figures(pairs, self.judge) if pairs else {})
            figures = self._figures[1]
            acts = state.acts_of(annotator)
            times = [event.ms for event in acts if event.kind is EventKind.JUDGE and event.ms is not None]
            again = [(review, grade) for review, grade in state.repeats() if review.annotator == annotator]
            rules = stop_rules(state, items, self.judge, figures.get("agreement"))
            return {
                "lanes": assigner.counts(annotator),
                "people": self._people(state),
                "judged": sum(event.kind is EventKind.JUDGE for event in acts),
                "median_s": _median_s(acts),
                "too_fast": sum(ms < TOO_FAST_MS for ms in times),
                "twice": sum(len(state.judged_by(item.pair)) > 1 for item in items if item.wanted > 1),
                "wanted_twice": sum(item.wanted > 1 for item in items),
                "disputed": len(state.disagreements()),
                "bad_queries": len(state.bad_queries()),
                "again": {"pairs": len(again), "same": sum(review.first_grade == grade for review, grade in again)},
                "shown": len(pairs),
                "rules": [rule.model_dump() for rule in rules],
                "figures": {name: each.model_dump(mode="json") if each else None for name, each in figures.items()},
            }

    def _is_sample_judged(self, annotator: str, state: State) -> bool:
        """Return whether all of the random sample is decided, and nothing of it is left for this person."""
        return all(
            state.parked(item.query_id)
            or ((names := state.deciders(item.pair)) and (annotator in names or len(names) >= item.wanted))
            for item in self.assigner.items
            if item.lane is Lane.CALIBRATION
        )

    def _people(self, state: State) -> list[dict[str, Any]]:
        """Return how many pairs each person decided, and was asked to decide."""
        team = self.assigner.team
        judged = {name: self.assigner.total(name)["mine"] for name in {*team.annotators, *state.annotators()}}
        return [
            {"name": clean(name), "judged": judged[name], "lead": name in team.leads}
            for name in sorted(judged)
            if judged[name] or name in team.annotators
        ]

    # --- disagreements ------------------------------------------------------------------------------------------------

    def disputes(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the disagreements that a person may settle, without names, and the queries reported as bad.

        Of the others only the number is told, and why the person does not settle them.
        """
        with self.assigner.reading() as state:
            pairs = [pair for pair in state.disagreements() if pair in self.assigner.by_pair]
            reasons = {pair: self.assigner.why_not_settled_by(annotator, pair) for pair in pairs}
            own = [pair for pair in pairs if reasons[pair] is None]
            if own:
                self.assigner.unblind(annotator, own)
            settled = (act for act in reversed(state.acts_of(annotator)) if act.kind in _SETTLED)
            last = next(settled, None)
            others = Counter(clean(reason) for reason in reasons.values() if reason is not None)
            return {
                "annotator": annotator,
                "items": [self._dispute(pair, state) for pair in own],
                "bad": list(self._bad_queries(state)),
                "others": [{"why": why, "pairs": count} for why, count in sorted(others.items())],
                "undo": last.client_id if last else None,
            }

    def _bad_queries(self, state: State) -> Iterator[dict[str, Any]]:
        keys = {query_id: key for key, query_id in self.keys.queries.items()}
        for query_id, reasons in state.bad_queries().items():
            if query_id in keys:
                names = sorted(reason.value for reason in reasons.values())
                yield {"query": keys[query_id], **show_query(self.material.asked[query_id]), "reasons": names}

    def _dispute(self, pair: Pair, state: State) -> dict[str, Any]:
        reviews = [review for name in state.judged_by(pair) if (review := state.review(name, pair))]
        random.Random(f"{self.material.data_sha} {pair}").shuffle(reviews)  # noqa: S311  hides the order of names
        assignment = PersonAssignment(self.assigner.by_pair[pair])
        shown = show_pair(assignment, self.material, self.keys, decision=None, review=None)
        opinions = [
            {"grade": int(review.grade), "note": clean(review.note), "evidence": clean(review.evidence)}
            for review in reviews
        ]
        return {**shown, "said": opinions}


def _median_s(acts: Sequence[Event]) -> float | None:
    times = [event.ms for event in acts if event.kind is EventKind.JUDGE and event.ms is not None]
    return round(median(times) / 1000, 1) if times else None


def _number(text: str | None) -> int:
    if text is None or not text.isdecimal() or len(text) > 3:
        raise InvalidRequest("a number is missing or not valid")
    return int(text)
