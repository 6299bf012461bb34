"""How far the judging is, how far people and the judge agree by now, and whether people may stop: numbers only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from goldbench.measures.statistics.agreement import RESAMPLES, pair_figures, query_tables, raters_alpha
from goldbench.measures.statistics.calibration import inverse_weights
from goldbench.records.agreement_report import PairFigures
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import EventKind, Lane, Review
from goldbench.records.review_report import StopRule
from goldbench.review.people import Grades
from goldbench.review.queue import Item
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import Pair, State
from goldbench.review.tally import Tally
from goldbench.text.display import amount

ENOUGH = 60
"""Fewer pairs of the random sample give no figures: an interval may be narrow by chance."""

STEP = 20
"""Pairs by which the figures on the page advance; pair by pair they would reveal the judge's grades."""

HALF_WIDTH = 0.1
"""Largest half-width of kappa's interval at which the agreement counts as known."""

LAST = 30
"""Latest pairs of the likely judge errors whose grades are compared with the judge's."""

CHANGED = 0.1
"""Share of these pairs with another grade than the judge's below which people may stop looking for errors."""

TOO_FAST_MS = 700
"""Milliseconds that reading a passage takes at least; faster judgments are counted as too fast."""

_HIGHEST = int(Relevance.ANSWERS)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A pair of the random sample with people's blind grades, in the order of their names."""

    pair: Pair
    inclusion: float
    grades: tuple[Relevance, ...]

    @property
    def people(self) -> Relevance:
        """The lower median of people's grades."""
        return sorted(self.grades)[(len(self.grades) - 1) // 2]


def sampled(reviews: Iterable[Review], state: State) -> list[Sampled]:
    """Return the judged pairs of the random sample, in the order of their judgments."""
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
    """Return the pairs whose figures may be shown now: all when finished, else in steps."""
    if finished:
        return pairs
    return pairs[: len(pairs) - len(pairs) % STEP] if len(pairs) >= ENOUGH else ()


def agreement(pairs: Sequence[Sampled], judge: Mapping[Pair, Relevance], *, resamples: int) -> PairFigures | None:
    """Return the agreement of people and the judge on the random sample, weighted to represent the pool.

    Args:
        pairs: The judged pairs of the sample; pairs without a grade of the judge are left out.
        judge: The judge's grade of each pair.
        resamples: Resamples of the queries for the intervals, at least 100.
    """
    both = [one for one in pairs if one.pair in judge]
    weights: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for one, weight in zip(both, inverse_weights([one.inclusion for one in both]).tolist(), strict=True):
        weights[one.pair[0]][one.pair[1]] = weight
    people = _by_query((one.pair, int(one.people)) for one in both)
    theirs = _by_query((one.pair, int(judge[one.pair])) for one in both)
    return figures_of(people, theirs, weights, resamples=resamples, seed=0)


def figures_of(
    people: Grades, judge: Grades, weights: Mapping[str, Mapping[str, float]] | None, *, resamples: int, seed: int
) -> PairFigures | None:
    """Return the agreement of people and the judge, or None if they share no pair.

    Args:
        people: People's grade of each chunk, by query.
        judge: The judge's grades, likewise.
        weights: The weight of each pair, or None for equal weights; pairs without a weight are left out.
        resamples: As in `agreement`.
        seed: Seed of the resamples, not negative.
    """
    if weights is not None:
        people = {q: {c: g for c, g in graded.items() if c in weights.get(q, {})} for q, graded in people.items()}
    query_ids, counts = query_tables(people, judge, highest=_HIGHEST)
    if not query_ids:
        return None
    tables, squares = counts, None
    if weights is not None:
        tables, squares = (
            query_tables(people, judge, highest=_HIGHEST, weights=weights, power=power)[1] for power in (1, 2)
        )
    return pair_figures(tables, counts, level=int(RELEVANT), resamples=resamples, seed=seed, squares=squares)


def between_people(pairs: Sequence[Sampled]) -> dict[str, Any] | None:
    """Return kappa of the first two people of each pair by name, alpha of all; None if no pair was judged twice."""
    import numpy as np

    twice = [one for one in pairs if len(one.grades) > 1]
    if not twice:
        return None
    first = _by_query((one.pair, int(one.grades[0])) for one in twice)
    second = _by_query((one.pair, int(one.grades[1])) for one in twice)
    query_ids, tables = query_tables(first, second, highest=_HIGHEST)
    figures = pair_figures(tables, tables, level=int(RELEVANT), resamples=RESAMPLES, seed=0)
    counts = np.array([[one.grades.count(grade) for grade in Relevance] for one in twice], dtype=np.float64)
    places = [query_ids.index(one.pair[0]) for one in twice]
    alpha = raters_alpha(counts, places, len(query_ids), resamples=RESAMPLES, seed=0)
    return {"figures": figures.model_dump(mode="json"), "alpha": alpha.model_dump(mode="json")}


def by_property(
    pairs: Sequence[Sampled], judge: Mapping[Pair, Relevance], material: ReviewableSet, name: str
) -> dict[str, dict[str, Any]]:
    """Return the agreement by a property of the queries.

    Args:
        pairs: As in `agreement`.
        judge: As in `agreement`.
        material: The data set, whose notes hold the property.
        name: ``kind`` or ``style``; queries without it are left out.
    """
    groups: defaultdict[str, list[Sampled]] = defaultdict(list)
    for one in pairs:
        value = material.notes.get(one.pair[0], {}).get(name)
        if isinstance(value, str):
            groups[value].append(one)
    figures = {value: agreement(groups[value], judge, resamples=100) for value in sorted(groups)}
    return {
        value: {"pairs": one.pairs, "exact": one.exact.value, "kappa": one.kappa_quadratic.value}
        for value, one in figures.items()
        if one is not None
    }


def counts(state: State, items: Sequence[Item], tally: Tally, annotator: str) -> dict[str, Any]:
    """Return the decided pairs of each lane, by anybody and by one person, and that person's speed.

    Args:
        state: The decisions so far.
        items: The queue.
        tally: Its decided pairs.
        annotator: The person.
    """
    acts = state.stacks[annotator].done if annotator in state.stacks else []
    times = [event.ms for event in acts if event.kind is EventKind.JUDGE and event.ms is not None]
    return {
        "lanes": tally.lanes(annotator),
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
) -> list[StopRule]:
    """Return the conditions under which people may stop; those about the judge only if it graded a pair.

    Args:
        state: The decisions so far.
        items: The queue.
        judge: The judge's grade of each pair.
        figures: The agreement on the random sample, or None if it is not known yet.
    """
    drawn = [item for item in items if item.lane is Lane.CALIBRATION]
    judged = sum(bool(state.deciders(item.pair)) or state.parked(item.query_id) for item in drawn)
    changed = _changes(state, items, judge)
    of_the_judge = [kappa_rule(figures), errors_rule(sum(changed), len(changed))] if judge else []
    return [sample_rule(judged, len(drawn)), *of_the_judge]


def sample_rule(judged: int, drawn: int) -> StopRule:
    """Return whether the random sample is judged, given its judged and its drawn pairs; not known if none is drawn."""
    left = max(0, drawn - judged)
    found = f"{amount(left, 'pair')} left to judge" if left else f"all {amount(drawn, 'pair')} judged"
    return StopRule(rule="Random sample", holds=left == 0 if drawn else None, found=found if drawn else "no pair drawn")


def kappa_rule(sample: PairFigures | None) -> StopRule:
    """Return whether kappa of people and the judge is known well enough."""
    rule, kappa = "Interval of kappa", sample.kappa if sample else None
    if sample is None or kappa is None or kappa.low is None or kappa.high is None:
        return StopRule(rule=rule, holds=None, found="none yet")
    half = (kappa.high - kappa.low) / 2
    if sample.pairs < ENOUGH:
        found = f"±{half:.2f}, but from only {amount(sample.pairs, 'pair')}; {ENOUGH} are needed"
        return StopRule(rule=rule, holds=None, found=found)
    return StopRule(rule=rule, holds=half <= HALF_WIDTH, found=f"±{half:.2f}, at most ±{HALF_WIDTH:.2f} is needed")


def errors_rule(changed: int, judged: int) -> StopRule:
    """Return whether looking for errors still finds any, given the changed grades among the latest judged pairs."""
    rule = "Likely judge errors"
    if judged < LAST:
        found = f"{judged} of the {LAST} judgments needed, {amount(changed, 'grade')} changed"
        return StopRule(rule=rule, holds=None, found=found)
    found = f"people changed {changed} of the last {LAST} grades, fewer than {CHANGED * LAST:.0f} are needed"
    return StopRule(rule=rule, holds=changed < CHANGED * LAST, found=found)


def _changes(state: State, items: Sequence[Item], judge: Mapping[Pair, Relevance]) -> list[bool]:
    """Return for the latest judged pairs of the likely errors whether people's grade differs from the judge's."""
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
