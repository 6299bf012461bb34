"""How the review stands: its progress, the pairs behind a figure, what people disagree on."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.errors import GoldsetError
from pipeline.review import payload
from pipeline.review.completion import (
    Sampled,
    agreement,
    between_people,
    by_property,
    counts,
    in_steps,
    sampled,
    stop_rules,
)
from pipeline.review.leases import Desk, Handed
from pipeline.review.payload import Keys
from pipeline.review.reviewable_set import ReviewableSet
from pipeline.review.state import Pair, State
from schemas.agreement_report import PairFigures
from schemas.review_event import Lane


class Refused(GoldsetError):
    """A request makes no sense."""


class Standing:
    """What is told of the review as a whole, nothing of it before it may be known."""

    def __init__(self, desk: Desk, material: ReviewableSet, keys: Keys) -> None:
        self.desk, self.material, self.keys = desk, material, keys
        self.judge = material.grades()
        self._figures: tuple[object, PairFigures | None, dict[str, Any] | None] = (None, None, None)

    def progress(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return counts, and after 60 pairs of lane A the figures of agreement."""
        with self.desk.reading() as state:
            finished = self.finished(annotator, state)
            pairs = in_steps(sampled(state.reviews(), state), finished=finished)
            again = state.repeats()
            told = counts(state, self.desk.items, annotator)
        figures, shown = self._of(pairs)
        with self.desk.reading() as state:
            rules = stop_rules(state, self.desk.items, self.judge, figures)
        same = sum(review.first_grade == grade for review, grade in again)
        return {
            **told,
            "shown": len(pairs),
            "finished": finished,
            "rules": rules,
            "again": {"pairs": len(again), "same": same},
            "figures": shown,
        }

    def _of(self, pairs: Sequence[Sampled]) -> tuple[PairFigures | None, dict[str, Any] | None]:
        """Return the figures of these pairs, computed once for as long as they stay the same."""
        key = tuple((one.pair, one.grades) for one in pairs)
        if key != self._figures[0]:
            figures = agreement(pairs, self.judge) if pairs else None
            shown = {
                "agreement": figures.model_dump(mode="json") if figures and figures.pairs else None,
                "people": between_people(pairs),
                "kinds": by_property(pairs, self.judge, self.material, "kind"),
                "styles": by_property(pairs, self.judge, self.material, "style"),
            }
            self._figures = (key, figures, shown if pairs else None)
        return self._figures[1:]

    def cell(self, annotator: str, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return the pairs behind a cell of the confusion that one judged oneself; only when lane A is finished."""
        human, judge = number(asked.get("human")), number(asked.get("judge"))
        with self.desk.reading() as state:
            if not self.finished(annotator, state):
                raise Refused("lane A is not finished: until then nobody sees what the judge said of its pairs")
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
                    "asks": payload.clean(self.material.queries[pair[0]]),
                    "revealed": payload.revealed(self.material.judged.get(pair, ())),
                }
                for pair in found
                if pair in self.desk.by_pair
            ]
        return {"items": rows}

    def disputes(self, annotator: str, _: Mapping[str, str]) -> dict[str, Any]:
        """Return what people disagree on, their answers without their names, and the queries somebody calls bad."""
        with self.desk.reading() as state:
            pairs = [pair for pair in state.disagreements() if pair in self.desk.by_pair]
            found = [self._dispute(annotator, pair, state) for pair in pairs]
            bad = [
                {
                    "query": self.keys.of_query(query_id),
                    "asks": payload.clean(self.material.queries[query_id]),
                    "reasons": sorted(reason.value for reason in reasons.values()),
                }
                for query_id, reasons in state.bad_queries().items()
                if query_id in self.material.queries and self.keys.query(self.keys.of_query(query_id))
            ]
        return {"items": found, "bad": bad}

    def _dispute(self, annotator: str, pair: Pair, state: State) -> dict[str, Any]:
        given = [review for name in state.judged_by(pair) if (review := state.review(name, pair))]
        random.Random(f"{self.material.data_sha} {pair}").shuffle(given)  # noqa: S311  hides the order of names
        handed = Handed(self.desk.by_pair[pair])
        shown = payload.shown(handed, self.material, self.keys, mine=None, review=None)
        said = [
            {"grade": int(one.grade), "note": payload.clean(one.note), "evidence": payload.clean(one.evidence)}
            for one in given
        ]
        return {**shown, "said": said, "mine": annotator in state.judged_by(pair)}

    def finished(self, annotator: str, state: State) -> bool:
        """Whether lane A is finished: everything in it decided, and nothing left in it for this person."""
        return all(
            state.parked(item.query_id)
            or ((said := state.deciders(item.pair)) and (annotator in said or len(said) >= item.wanted))
            for item in self.desk.items
            if item.lane is Lane.CALIBRATION
        )

    def undecided(self, annotator: str, state: State) -> set[Pair]:
        """Return the pairs this person may still be asked for: what others said of them is not for him yet."""
        return {
            item.pair
            for item in self.desk.items
            if annotator not in state.deciders(item.pair)
            and len(state.judged_by(item.pair)) < item.wanted
            and state.adjudication(item.pair) is None
        }


def number(text: str | None) -> int:
    """Return a small number that an address holds.

    Raises:
        Refused: It is none.
    """
    if text is None or not text.isdecimal() or len(text) > 3:
        raise Refused("a number is missing")
    return int(text)
