"""How far people agree with the model, with one another and with themselves, and whether they may stop: the report."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median
from typing import Any, TypeVar

import numpy as np

from goldbench.goldset.folder import GoldFolder
from goldbench.measures.statistics import agreement as kappa
from goldbench.measures.statistics.agreement import RESAMPLES, estimates, pair_figures, raters_alpha
from goldbench.measures.statistics.floats import Floats, inverse_weights
from goldbench.records.agreement_report import PairFigures
from goldbench.records.manifest import RubricChange
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import Lane, Review
from goldbench.records.review_report import Annotator, NotApplied, PeopleAgreement, ReviewReport, StopRule
from goldbench.review.people import Grades, Pair, ReviewedSet, complete_queries, current_ids, in_lanes
from goldbench.review.queue import QueueItem, stratum_of
from goldbench.review.sample import MIN_PAIRS, SampledPair, sampled
from goldbench.review.state import State
from goldbench.review.translation import Stray
from goldbench.text.display import amount

MAX_HALF_WIDTH = 0.1
"""Largest half-width of kappa's interval at which the agreement counts as known."""

LATEST = 30
"""Latest judgments of likely judge errors whose grades are compared with the judge's."""

MAX_CHANGED = 0.1
"""Share of these with another grade than the judge's below which people may stop looking for errors."""

TOO_FAST_MS = 700
"""Milliseconds that reading a passage takes at least; faster judgments are counted as too fast."""

Value = TypeVar("Value")

_GRADES = len(Relevance)
_SAMPLE = "Random sample"
_ERRORS = "Likely judge errors"

_KAPPAS: dict[str, Callable[[Floats], Floats]] = {
    "kappa": kappa.cohen_kappa,
    "kappa_quadratic": kappa.quadratic_kappa,
    "kappa_binary": lambda tables: kappa.cohen_kappa(kappa.binary(tables, int(RELEVANT))),
}


def report(reviewed: ReviewedSet, *, resamples: int = RESAMPLES, seed: int = 0) -> ReviewReport:
    """Return the report of a review.

    Args:
        reviewed: The data set and its ledger.
        resamples: Resamples of the queries for the intervals, at least 100.
        seed: Seed of the resamples, not negative.
    """
    state = reviewed.state
    material = reviewed.material
    now = current_ids(material)
    reviews = [each.model_copy(update={"query_id": now.get(each.query_id, each.query_id)}) for each in state.reviews()]
    present = [review for review in reviews if review.query_id in material.queries]
    judge = _by_pair(reviewed)
    complete = complete_queries(reviewed)
    in_complete = {review.query_id for review in reviews if review.lane is Lane.COMPLETE} & set(complete)
    random = [each for each in in_lanes(present, Lane.CALIBRATION, Lane.COMPLETE) if each.query_id in in_complete]
    sample = sample_agreement(sampled(present, state), judge, resamples=resamples, seed=seed)
    whole = figures_of(_first_grades(random), reviewed.judge, None, resamples=resamples, seed=seed)
    sample_judged = _sample_rule_of(reviewed, in_lanes(present, Lane.CALIBRATION))
    rules = [kappa_rule(sample), errors_rule(_changed_grades(state, judge, now))]
    return ReviewReport(
        queries=len(material.queries),
        pairs=len(material.pool),
        judged=len(material.pairs.keys() & {(review.query_id, review.chunk_id) for review in reviews}),
        judgments=len(reviews),
        adjudicated=len(state.adjudicated()),
        disputed=len(state.disagreements()),
        cannot=len(state.cannot()),
        bad_queries=_count(each.value for reasons in state.bad_queries().values() for each in reasons.values()),
        verdicts=_count(verdict.kind.value for verdict in state.query_verdicts().values()),
        by_lane=_count(review.lane.value if review.lane else "none" for review in reviews),
        sample=sample,
        complete=whole,
        complete_queries=len(complete),
        between=between_people(_shared(reviews), resamples=resamples, seed=seed),
        annotators=list(_annotators(state, reviews)),
        stop=[sample_judged, *(rules if reviewed.judge else [])],
        carried=reviewed.carried,
        not_applied=list(map(_not_applied, reviewed.strays)),
        rubric_change=_rubric_change(reviewed),
        remarks=list(_remarks(reviewed, sample, reviews)),
        resamples=resamples,
        seed=seed,
    )


# --- agreement --------------------------------------------------------------------------------------------------------


def sample_figures(pairs: Sequence[SampledPair], judge: Mapping[Pair, Relevance]) -> dict[str, Any]:
    """Return the agreement on judged pairs of the random sample: with the judge, and between people."""
    shared = {pair.pair: pair.grades for pair in pairs if len(pair.grades) > 1}
    return {
        "agreement": sample_agreement(pairs, judge, resamples=RESAMPLES, seed=0),
        "people": between_people(shared, resamples=RESAMPLES, seed=0),
    }


def sample_agreement(
    pairs: Sequence[SampledPair], judge: Mapping[Pair, Relevance], *, resamples: int, seed: int
) -> PairFigures | None:
    """Return the agreement of people and the judge on pairs of the random sample, weighted to the pool.

    Args:
        pairs: The judged pairs.
        judge: The judge's grade of each pair; pairs without one are left out.
        resamples: Resamples of the queries for the intervals, at least 100.
        seed: Seed of the resamples, not negative.
    """
    graded = [pair for pair in pairs if pair.pair in judge]
    weights = inverse_weights([pair.inclusion for pair in graded]).tolist()
    return figures_of(
        _by_query({pair.pair: int(pair.people) for pair in graded}),
        _by_query({pair.pair: int(judge[pair.pair]) for pair in graded}),
        _by_query({pair.pair: weight for pair, weight in zip(graded, weights, strict=True)}),
        resamples=resamples,
        seed=seed,
    )


def figures_of(
    people: Grades, judge: Grades, weights: Mapping[str, Mapping[str, float]] | None, *, resamples: int, seed: int
) -> PairFigures | None:
    """Return the agreement of people and the judge, or None if they share no pair.

    Args:
        people: People's grade of each chunk, by query.
        judge: The judge's grades, likewise.
        weights: The weight of each pair, or None for equal weights.
        resamples: Resamples of the queries for the intervals, at least 100.
        seed: Seed of the resamples, not negative.
    """
    highest = int(Relevance.ANSWERS)
    query_ids, counts = kappa.query_tables(people, judge, highest=highest)
    if not query_ids:
        return None
    tables = counts
    squares = None
    if weights is not None:
        _, tables = kappa.query_tables(people, judge, highest=highest, weights=weights, power=1)
        _, squares = kappa.query_tables(people, judge, highest=highest, weights=weights, power=2)
    return pair_figures(tables, counts, level=int(RELEVANT), resamples=resamples, seed=seed, squares=squares)


def between_people(
    shared: Mapping[Pair, Mapping[str, Relevance]], *, resamples: int, seed: int
) -> PeopleAgreement | None:
    """Return how far people agree among themselves, or None if no pair was judged twice.

    Args:
        shared: The grades of each pair that several people judged, by their names.
        resamples: Resamples of the queries for the intervals, at least 100.
        seed: Seed of the resamples, not negative.
    """
    if not shared:
        return None
    query_ids = sorted({query_id for query_id, _ in shared})
    numbers = {query_id: number for number, query_id in enumerate(query_ids)}
    names = sorted({name for grades in shared.values() for name in grades})
    counts = np.zeros((len(shared), _GRADES))
    tables = np.zeros((len(query_ids), _GRADES, _GRADES))
    for row, ((query_id, _), grades) in enumerate(shared.items()):
        for grade in grades.values():
            counts[row, grade] += 1
        for first, second in combinations([grades[name] for name in names if name in grades], 2):
            tables[numbers[query_id], first, second] += 0.5
            sides = (second, first) if len(names) > 2 else (first, second)  # two people keep their sides
            tables[numbers[query_id], *sides] += 0.5
    kappas = estimates(tables, {"exact": kappa.exact, **_KAPPAS}, resamples=resamples, seed=seed)
    groups = [numbers[query_id] for query_id, _ in shared]
    alpha = raters_alpha(counts, groups, len(query_ids), resamples=resamples, seed=seed)
    return PeopleAgreement(pairs=len(shared), alpha=alpha, **kappas)


def _shared(reviews: Sequence[Review]) -> dict[Pair, dict[str, Relevance]]:
    by_pair: defaultdict[Pair, dict[str, Relevance]] = defaultdict(dict)
    for review in in_lanes(reviews, Lane.CALIBRATION, Lane.COMPLETE):
        by_pair[review.query_id, review.chunk_id][review.annotator] = review.first_grade
    return {pair: grades for pair, grades in sorted(by_pair.items()) if len(grades) > 1}


def _first_grades(reviews: Iterable[Review]) -> Grades:
    """Return the lower median of the first grades of each pair."""
    by_pair: defaultdict[Pair, list[int]] = defaultdict(list)
    for review in reviews:
        by_pair[review.query_id, review.chunk_id].append(int(review.first_grade))
    return _by_query({pair: sorted(grades)[(len(grades) - 1) // 2] for pair, grades in sorted(by_pair.items())})


# --- when to stop -----------------------------------------------------------------------------------------------------


def stop_rules(
    state: State, items: Sequence[QueueItem], judge: Mapping[Pair, Relevance], figures: PairFigures | None
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
    of_judge = [kappa_rule(figures), errors_rule(_changed_grades(state, judge, {}))] if judge else []
    return [sample_rule(judged, len(drawn)), *of_judge]


def sample_rule(judged: int, drawn: int) -> StopRule:
    """Return whether the random sample is judged, given its judged and its drawn pairs; not known if none is drawn."""
    left = max(0, drawn - judged)
    text = f"{amount(left, 'pair')} left to judge" if left else f"all {amount(drawn, 'pair')} judged"
    return StopRule(rule=_SAMPLE, holds=left == 0 if drawn else None, found=text if drawn else "no pair drawn")


def kappa_rule(sample: PairFigures | None) -> StopRule:
    """Return whether kappa of people and the judge is known well enough."""
    rule = "Interval of kappa"
    value = sample.kappa if sample else None
    if sample is None or value is None or value.low is None or value.high is None:
        return StopRule(rule=rule, holds=None, found="none yet")
    half = (value.high - value.low) / 2
    if sample.pairs < MIN_PAIRS:
        text = f"±{half:.2f}, but from only {amount(sample.pairs, 'pair')}; {MIN_PAIRS} are needed"
        return StopRule(rule=rule, holds=None, found=text)
    text = f"±{half:.2f}, at most ±{MAX_HALF_WIDTH:.2f} is needed"
    return StopRule(rule=rule, holds=half <= MAX_HALF_WIDTH, found=text)


def errors_rule(changes: Sequence[bool]) -> StopRule:
    """Return whether looking for errors still finds any, by whether people changed the judge's grade, the last last."""
    latest = changes[-LATEST:]
    changed = sum(latest)
    if len(latest) < LATEST:
        text = f"{len(latest)} of the {LATEST} judgments needed, {amount(changed, 'grade')} changed"
        return StopRule(rule=_ERRORS, holds=None, found=text)
    few = MAX_CHANGED * LATEST
    text = f"people changed {changed} of the last {LATEST} grades, fewer than {few:.0f} are needed"
    return StopRule(rule=_ERRORS, holds=changed < few, found=text)


def _changed_grades(state: State, judge: Mapping[Pair, Relevance], now: Mapping[str, str]) -> list[bool]:
    """Return for each judgment of a likely error, in their order, whether its first grade differs from the judge's.

    Args:
        state: The decisions so far.
        judge: The judge's grade of each pair.
        now: The present id of each query; others have kept theirs.
    """
    judged = []
    for review in state.reviews():
        pair = now.get(review.query_id, review.query_id), review.chunk_id
        decision = state.says(review.annotator, (review.query_id, review.chunk_id))
        if review.lane is Lane.ERRORS and pair in judge and decision is not None:
            judged.append((decision.seq or 0, review.first_grade != judge[pair]))
    return [changed for _, changed in sorted(judged)]


def _sample_rule_of(reviewed: ReviewedSet, drawn: Sequence[Review]) -> StopRule:
    """Return whether the random sample is judged; its size follows from the probabilities, known for whole strata."""
    judge = _by_pair(reviewed)
    pooled = ((each.query_id, each.chunk_id) for each in reviewed.material.pool if each.shared_from is None)
    sizes = Counter(stratum_of(judge.get(pair)) for pair in pooled)
    shares = {
        stratum_of(judge.get((review.query_id, review.chunk_id))): review.inclusion
        for review in drawn
        if review.inclusion is not None
    }
    if sizes.keys() - shares.keys():
        text = f"{amount(len(drawn), 'judgment')} so far"
        return StopRule(rule=_SAMPLE, holds=False if drawn else None, found=text)
    pairs = {(review.query_id, review.chunk_id) for review in drawn}
    return sample_rule(len(pairs), round(sum(share * sizes[stratum] for stratum, share in shares.items())))


# --- counts and remarks -----------------------------------------------------------------------------------------------


def _rubric_change(reviewed: ReviewedSet) -> RubricChange | None:
    home = GoldFolder(reviewed.material.folder)
    grading = home.manifest().grading if home.is_finished() else None
    return None if grading is None else grading.rubric_change


def _not_applied(stray: Stray) -> NotApplied:
    event = stray.event
    passage = stray.passage
    return NotApplied(
        kind=event.kind.value,
        annotator=event.annotator,
        at=event.at,
        grade=None if event.grade is None else int(event.grade),
        query=stray.query,
        passage=passage.text if passage else None,
        source=passage.source if passage else None,
        reason=stray.reason,
    )


def _annotators(state: State, reviews: Sequence[Review]) -> Iterator[Annotator]:
    repeats = state.repeats()
    for name in sorted({review.annotator for review in reviews}):
        own = [review for review in reviews if review.annotator == name]
        times = [review.ms for review in own if review.ms is not None]
        apart = [abs(int(first.first_grade) - int(grade)) for first, grade in repeats if first.annotator == name]
        yield Annotator(
            name=name,
            judgments=len(own),
            timed=len(times),
            too_fast=sum(ms < TOO_FAST_MS for ms in times),
            median_ms=float(median(times)) if times else None,
            repeated=len(apart),
            same=apart.count(0),
            apart=sum(distance >= 2 for distance in apart),
        )


def _remarks(reviewed: ReviewedSet, sample: PairFigures | None, reviews: Sequence[Review]) -> Iterator[str]:
    if not reviewed.material.judgments:
        yield "no model graded this set: the model's grades here are the labels that the set came with"
    if sample is None:
        yield "no pair of the random sample is both judged and graded by the model, so their agreement is unknown"
    elif sample.pairs < MIN_PAIRS:
        yield f"agreement rests on {amount(sample.pairs, 'pair')} of the random sample: judge at least {MIN_PAIRS}"
    fast = sum(review.ms is not None and review.ms < TOO_FAST_MS for review in reviews)
    if fast:
        yield f"{amount(fast, 'judgment')} took less than {TOO_FAST_MS} ms, counted like the others"
    revealed = sum(review.revealed and review.lane is not Lane.ERRORS for review in reviews)
    if revealed:
        count = amount(revealed, "judgment")
        yield f"{count} given with the model's grade in sight; an earlier blind grade counts instead"


def _by_pair(reviewed: ReviewedSet) -> dict[Pair, Relevance]:
    judge = reviewed.judge.items()
    return {(query_id, chunk_id): Relevance(grade) for query_id, grades in judge for chunk_id, grade in grades.items()}


def _by_query(by_pair: Mapping[Pair, Value]) -> dict[str, dict[str, Value]]:
    by_query: defaultdict[str, dict[str, Value]] = defaultdict(dict)
    for (query_id, chunk_id), value in by_pair.items():
        by_query[query_id][chunk_id] = value
    return dict(by_query)


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
