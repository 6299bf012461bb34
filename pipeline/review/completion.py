"""How far the judging is, and how far people and the judge agree by now: numbers only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from pipeline.measures.statistics.agreement_intervals import pair_figures, raters_alpha
from pipeline.measures.statistics.calibration import inverse_weights
from pipeline.measures.statistics.kappa import query_tables
from pipeline.review.queue import Item
from pipeline.review.reviewable_set import ReviewableSet
from pipeline.review.state import Pair, State
from pipeline.review.stop_rule import CHANGED, LAST, narrow_enough
from schemas.agreement_report import PairFigures
from schemas.judgment import RELEVANT, Relevance
from schemas.review_event import EventKind, Lane, Review

SHOWN_FROM, STEP = 60, 20
"""Figures appear after so many pairs of lane A and go on in steps: pair by pair they would tell the judge's grades."""

TOO_FAST_MS = 700
_RESAMPLES = 1000
_HIGHEST = int(Relevance.ANSWERS)

Grades = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A pair of lane A with what people said of it blind, in the order of their names."""

    pair: Pair
    inclusion: float
    grades: tuple[Relevance, ...]

    @property
    def people(self) -> Relevance:
        """The lower median of what people said."""
        return sorted(self.grades)[(len(self.grades) - 1) // 2]


def sampled(reviews: Iterable[Review], state: State) -> list[Sampled]:
    """Return the pairs of lane A that people judged, the first judged first."""
    found: defaultdict[Pair, list[Review]] = defaultdict(list)
    for review in reviews:
        if review.lane is Lane.CALIBRATION and review.inclusion is not None and review.blind:
            found[review.query_id, review.chunk_id].append(review)

    def when(pair: Pair) -> int:
        said = (state.says(review.annotator, pair) for review in found[pair])
        return min((event.seq or 0 for event in said if event), default=0)

    return [
        Sampled(pair, found[pair][0].inclusion or 1.0, tuple(review.first_grade for review in found[pair]))
        for pair in sorted(found, key=when)
    ]


def in_steps(pairs: Sequence[Sampled], *, finished: bool) -> Sequence[Sampled]:
    """Return the pairs whose figures may be shown by now."""
    if finished:
        return pairs
    return pairs[: len(pairs) - len(pairs) % STEP] if len(pairs) >= SHOWN_FROM else ()


def agreement(pairs: Sequence[Sampled], judge: Mapping[Pair, Relevance], *, resamples: int = _RESAMPLES) -> PairFigures:
    """Return how far people and the judge agree on lane A, each pair weighted to the pool it was drawn from.

    Args:
        pairs: Lane A as judged by people; pairs without a grade of the judge are left out.
        judge: The judge's grade of each pair.
        resamples: For the intervals, over queries.
    """
    both = [one for one in pairs if one.pair in judge]
    people = _by_query((one.pair, int(one.people)) for one in both)
    theirs = _by_query((one.pair, int(judge[one.pair])) for one in both)
    weights: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one, weight in zip(both, inverse_weights([one.inclusion for one in both]).tolist(), strict=True):
        weights[one.pair[0]][one.pair[1]] = weight
    _, tables = query_tables(people, theirs, highest=_HIGHEST, weights=weights)
    _, counts = query_tables(people, theirs, highest=_HIGHEST)
    each = [1 / one.inclusion for one in both]
    effective = sum(each) ** 2 / sum(w * w for w in each) if each else 0.0
    return pair_figures(tables, counts, level=int(RELEVANT), resamples=resamples, seed=0, effective=effective)


def between_people(pairs: Sequence[Sampled]) -> dict[str, Any] | None:
    """Return how far people agree: kappa of the first two of each pair by name, alpha of all; None where none met."""
    import numpy as np

    twice = [one for one in pairs if len(one.grades) > 1]
    if not twice:
        return None
    first = _by_query((one.pair, int(one.grades[0])) for one in twice)
    second = _by_query((one.pair, int(one.grades[1])) for one in twice)
    query_ids, tables = query_tables(first, second, highest=_HIGHEST)
    figures = pair_figures(tables, tables, level=int(RELEVANT), resamples=_RESAMPLES, seed=0)
    counts = np.array([[one.grades.count(grade) for grade in Relevance] for one in twice], dtype=np.float64)
    places = [query_ids.index(one.pair[0]) for one in twice]
    alpha = raters_alpha(counts, places, len(query_ids), resamples=_RESAMPLES, seed=0)
    return {"figures": figures.model_dump(mode="json"), "alpha": alpha.model_dump(mode="json")}


def by_property(
    pairs: Sequence[Sampled], judge: Mapping[Pair, Relevance], material: ReviewableSet, name: str
) -> dict[str, dict[str, Any]]:
    """Return agreement by a property of the queries (``kind``, ``style``), where they have it."""
    groups: defaultdict[str, list[Sampled]] = defaultdict(list)
    for one in pairs:
        value = material.notes.get(one.pair[0], {}).get(name)
        if isinstance(value, str):
            groups[value].append(one)
    found = {}
    for value in sorted(groups):
        figures = agreement(groups[value], judge, resamples=100)
        found[value] = {
            "pairs": figures.pairs,
            "exact": figures.exact.value,
            "kappa": figures.kappa_quadratic.value,
        }
    return found


def counts(state: State, items: Sequence[Item], annotator: str) -> dict[str, Any]:
    """Return how many pairs of each lane are decided, by anybody and by one person, and how quickly he judges."""
    lanes = {lane.value: {"total": 0, "done": 0, "mine": 0} for lane in Lane}
    for item in items:
        lane = lanes[item.lane.value]
        lane["total"] += 1
        said = state.deciders(item.pair)
        lane["done"] += bool(said)
        lane["mine"] += annotator in said
    acts = state.stacks[annotator].done if annotator in state.stacks else []
    times = [event.ms for event in acts if event.kind is EventKind.JUDGE and event.ms is not None]
    return {
        "lanes": {name: lane for name, lane in lanes.items() if lane["total"]},
        "median_s": round(median(times) / 1000, 1) if times else None,
        "too_fast": sum(ms < TOO_FAST_MS for ms in times),
        "judged": sum(event.kind is EventKind.JUDGE for event in acts),
        "twice": sum(len(state.judged_by(item.pair)) > 1 for item in items if item.wanted > 1),
        "wanted_twice": sum(item.wanted > 1 for item in items),
        "disputed": len(state.disagreements()),
        "bad_queries": len(state.bad_queries()),
    }


def stop_rules(
    state: State, items: Sequence[Item], judge: Mapping[Pair, Relevance], figures: PairFigures | None
) -> list[dict[str, Any]]:
    """Return when one may stop: each rule with whether it holds (None where nothing can be said yet)."""
    lane_a = [item for item in items if item.lane is Lane.CALIBRATION]
    open_ = sum(not state.deciders(item.pair) and not state.parked(item.query_id) for item in lane_a)
    narrow = narrow_enough(figures)
    changed = _changes(state, items, judge)
    return [
        {"rule": "lane A is judged", "holds": open_ == 0 if lane_a else None, "now": f"{open_} left"},
        {"rule": narrow.rule, "holds": narrow.holds, "now": narrow.found},
        {
            "rule": f"people change fewer than {CHANGED:.0%} of the last {LAST} of lane B",
            "holds": sum(changed) < CHANGED * LAST if len(changed) == LAST else None,
            "now": f"{sum(changed)} of {len(changed)}",
        },
    ]


def _changes(state: State, items: Sequence[Item], judge: Mapping[Pair, Relevance]) -> list[bool]:
    """Return of the last judged pairs of lane B whether people say something else than the judge did."""
    said = []
    for item in items:
        if item.lane is Lane.ERRORS and item.pair in judge:
            for name in state.judged_by(item.pair):
                event, review = state.says(name, item.pair), state.review(name, item.pair)
                if event and review:
                    said.append((event.seq or 0, review.first_grade != judge[item.pair]))
    return [differs for _, differs in sorted(said)[-LAST:]]


def _by_query(graded: Iterable[tuple[Pair, int]]) -> Grades:
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (query_id, chunk_id), grade in graded:
        found[query_id][chunk_id] = grade
    return found
