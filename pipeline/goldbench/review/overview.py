"""The state of the review for the page: its progress, the pairs behind a figure, and disagreements."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from goldbench.errors import GoldbenchError
from goldbench.measures.statistics.agreement import RESAMPLES
from goldbench.records.agreement_report import PairFigures
from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review import payload
from goldbench.review.completion import (
    Sampled,
    agreement,
    between_people,
    by_property,
    counts,
    in_steps,
    sampled,
    stop_rules,
)
from goldbench.review.desk import Desk, Handed
from goldbench.review.learnt_order import basis_of
from goldbench.review.payload import Keys
from goldbench.review.queue import Item
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import Pair, State

_SETTLED = {
    EventKind.ADJUDICATE,
    EventKind.ACCEPT_QUERY,
    EventKind.EDIT_QUERY,
    EventKind.REJECT_QUERY,
    EventKind.REOPEN,
}


class Refused(GoldbenchError):
    """The request is not valid."""


class Unknown(Refused):
    """The request is about a passage or a query that the set does not hold."""


class Standing:
    """The state of the whole review; figures that would influence a person are withheld until they cannot."""

    def __init__(self, desk: Desk, material: ReviewableSet, keys: Keys) -> None:
        self.desk, self.material, self.keys = desk, material, keys
        self.judge = material.grades()
        self._figures: tuple[object, PairFigures | None, dict[str, Any] | None] = (None, None, None)

    def progress(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return counts, and figures of agreement once enough of the random sample is judged."""
        with self.desk.reading() as state:
            finished = self.finished(annotator, state)
            pairs = in_steps(sampled(state.reviews(), state), finished=finished)
            again = [(review, grade) for review, grade in state.repeats() if review.annotator == annotator]
            told = counts(state, self.desk.items, self.desk.tally, annotator)
            people = self._people(state)
            basis = len(basis_of(state, self.desk.items))
        figures, shown = self._of(pairs)
        with self.desk.reading() as state:
            rules = stop_rules(state, self.desk.items, self.judge, figures)
        same = sum(review.first_grade == grade for review, grade in again)
        return {
            **told,
            "people": people,
            "order_rests_on": basis,
            "shown": len(pairs),
            "finished": finished,
            "rules": [{"rule": one.rule, "holds": one.holds, "now": one.found} for one in rules],
            "again": {"pairs": len(again), "same": same},
            "figures": shown,
        }

    def _people(self, state: State) -> list[dict[str, Any]]:
        """Return how many pairs each person decided, and was asked to decide."""
        team, tally = self.desk.team, self.desk.tally
        names = {*team.annotators, *(name for name in state.annotators() if tally.mine(name))}
        return [
            {
                "name": payload.clean(name),
                "judged": tally.mine(name),
                "target": team.targets.get(name),
                "lead": name in team.leads,
            }
            for name in sorted(names)
        ]

    def _of(self, pairs: Sequence[Sampled]) -> tuple[PairFigures | None, dict[str, Any] | None]:
        """Return the figures of these pairs, computed again only when the pairs have changed."""
        key = tuple((one.pair, one.grades) for one in pairs)
        if key != self._figures[0]:
            figures = agreement(pairs, self.judge, resamples=RESAMPLES) if pairs else None
            shown = {
                "agreement": figures.model_dump(mode="json") if figures else None,
                "people": between_people(pairs),
                "kinds": by_property(pairs, self.judge, self.material, "kind"),
                "styles": by_property(pairs, self.judge, self.material, "style"),
            }
            self._figures = (key, figures, shown if pairs else None)
        return self._figures[1:]

    def cell(self, annotator: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the person's own pairs behind a cell of the confusion table, once the random sample is finished."""
        human, judge = number(asked.get("human")), number(asked.get("judge"))
        with self.desk.reading() as state:
            if not self.finished(annotator, state):
                raise Refused("the judge's grades of the random sample are hidden until it is finished")
            found = [
                one.pair
                for one in sampled(state.reviews(), state)
                if int(one.people) == human
                and self.judge.get(one.pair) == judge
                and annotator in state.judged_by(one.pair)
            ]
            rows = [
                {
                    **payload.row(self.desk.by_pair[pair], self.material, self.keys, mine=state.says(annotator, pair)),
                    "asks": payload.clean(self.material.asked[pair[0]].judged),
                    "revealed": payload.revealed(self.material.judged.get(pair, ())),
                }
                for pair in found
                if pair in self.desk.by_pair
            ]
        return {"items": rows}

    def disputes(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return the disagreements that a person may settle, without names, and the queries reported as bad.

        Of the others only the number is told, and why the person does not settle them.
        """
        with self.desk.reading() as state:
            pairs = [pair for pair in state.disagreements() if pair in self.desk.by_pair]
            reasons = {pair: self.desk.not_settled_by(annotator, pair) for pair in pairs}
            told = [pair for pair in pairs if reasons[pair] is None]
            if told:
                self.desk.show_others(annotator, told)
            found = [self._dispute(pair, state) for pair in told]
            last = last_settled(annotator, state)
            bad = [
                {
                    "query": self.keys.of_query(query_id),
                    **payload.asks(self.material.asked[query_id]),
                    "reasons": sorted(reason.value for reason in given.values()),
                }
                for query_id, given in state.bad_queries().items()
                if query_id in self.material.queries and self.keys.query(self.keys.of_query(query_id))
            ]
        others = Counter(payload.clean(reason) for reason in reasons.values() if reason is not None)
        return {
            "annotator": annotator,
            "items": found,
            "bad": bad,
            "others": [{"why": why, "pairs": n} for why, n in sorted(others.items())],
            "undo": last.client_id if last else None,
        }

    def _dispute(self, pair: Pair, state: State) -> dict[str, Any]:
        given = [review for name in state.judged_by(pair) if (review := state.review(name, pair))]
        random.Random(f"{self.material.data_sha} {pair}").shuffle(given)  # noqa: S311  hides the order of names
        shown = payload.shown(Handed(self.desk.by_pair[pair]), self.material, self.keys, mine=None, review=None)
        said = [
            {"grade": int(one.grade), "note": payload.clean(one.note), "evidence": payload.clean(one.evidence)}
            for one in given
        ]
        return {**shown, "said": said}

    def finished(self, annotator: str, state: State) -> bool:
        """Return whether the random sample is finished: all of it decided, and nothing of it left for this person."""
        return all(
            state.parked(item.query_id)
            or ((said := state.deciders(item.pair)) and (annotator in said or len(said) >= item.wanted))
            for item in self.desk.items
            if item.lane is Lane.CALIBRATION
        )

    def undecided(self, annotator: str, state: State) -> set[Pair]:
        """Return the pairs that this person may still judge, whose other judgments are hidden until then.

        These are pairs that need more people, that the person postponed or has on a page, and those that share a grade
        with one of them.
        """
        lent = self.desk.lent(annotator)
        found = {
            item.pair
            for item in self.desk.items
            if annotator not in state.deciders(item.pair)
            and (item.pair in lent or state.says(annotator, item.pair) or self._wants_more(item, state))
        }
        shared = {
            (one.query_id, one.chunk_id) for one in self.material.pool if (one.query_id, one.shared_from) in found
        }
        return found | shared

    def _wants_more(self, item: Item, state: State) -> bool:
        return len(state.judged_by(item.pair)) < item.wanted and state.adjudication(item.pair) is None


def last_settled(annotator: str, state: State) -> Event | None:
    """Return a person's last decision on a disagreement or a bad query, which can be undone; None without one."""
    acts = state.stacks[annotator].done if annotator in state.stacks else []
    return next((act for act in reversed(acts) if act.kind in _SETTLED), None)


def number(text: str | None) -> int:
    """Return a number of at most three digits from the address.

    Raises:
        Refused: It is missing or not such a number.
    """
    if text is None or not text.isdecimal() or len(text) > 3:
        raise Refused("a number is missing or not valid")
    return int(text)
