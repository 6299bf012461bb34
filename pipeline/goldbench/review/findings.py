"""The report of a review: how far people agree with the model, with one another and with themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median

import numpy as np

from goldbench.goldset.folder import GoldFolder
from goldbench.measures.statistics import agreement as kappa
from goldbench.measures.statistics.agreement import RESAMPLES, estimates, raters_alpha
from goldbench.measures.statistics.calibration import inverse_weights
from goldbench.measures.statistics.floats import Floats
from goldbench.records.agreement_report import PairFigures, RaterPair
from goldbench.records.manifest import RubricChange
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import EventKind, Lane, Review
from goldbench.records.review_report import Annotator, Between, LikelyErrors, NotApplied, ReviewReport, StopRule
from goldbench.review.completion import (
    ENOUGH,
    LAST,
    TOO_FAST_MS,
    errors_rule,
    figures_of,
    in_steps,
    kappa_rule,
    sample_rule,
    sampled,
)
from goldbench.review.learnt_order import likely_errors
from goldbench.review.people import Grades, Pair, Reviewed, blind, complete_queries, current_ids
from goldbench.review.queue import stratum_of
from goldbench.review.translation import Stray
from goldbench.text.display import amount

_SIZE = len(Relevance)
_SLICES = ("kind", "style")


def report(reviewed: Reviewed, *, resamples: int = RESAMPLES, seed: int = 0) -> ReviewReport:
    """Return the report of a review.

    Args:
        reviewed: The data set and its ledger.
        resamples: Resamples of the queries for the intervals, at least 100.
        seed: Seed of the resamples, not negative.
    """
    now = current_ids(reviewed.material)
    given = reviewed.state.reviews()
    reviews = [one.model_copy(update={"query_id": now.get(one.query_id, one.query_id)}) for one in given]
    drawn = _first_grades(reviewed, blind(reviews, Lane.CALIBRATION))
    weights = _weights(reviewed, reviews)
    done = complete_queries(reviewed)
    sample = figures_of(drawn, reviewed.judge, weights, resamples=resamples, seed=seed)
    whole = _completely_judged(reviewed, reviews, done)
    judged = {(review.query_id, review.chunk_id) for review in reviews}
    return ReviewReport(
        queries=len(reviewed.material.queries),
        pairs=len(reviewed.material.pool),
        judged=len(reviewed.material.pairs.keys() & judged),
        judgments=len(reviews),
        adjudicated=len(reviewed.state.adjudicated()),
        disputed=len(reviewed.state.disagreements()),
        cannot=len(reviewed.state.cannot()),
        bad_queries=_counted(r.value for said in reviewed.state.bad_queries().values() for r in said.values()),
        verdicts=_counted(verdict.kind.value for verdict in reviewed.state.query_verdicts().values()),
        by_lane=_counted(review.lane.value if review.lane else "none" for review in reviews),
        sample=sample,
        complete=figures_of(whole, reviewed.judge, None, resamples=resamples, seed=seed),
        complete_queries=len(done),
        by=_slices(reviewed, drawn, weights, resamples=resamples, seed=seed),
        between=_between(reviews, resamples=resamples, seed=seed),
        annotators=list(_annotators(reviewed, reviews)),
        stop=[_sample_done(reviewed, reviews), *_of_the_judge(reviewed, sample, now)],
        likely_errors=_order(reviewed, reviews),
        carried=reviewed.carried,
        not_applied=list(map(not_applied, reviewed.strays)),
        rubrics=_rubrics(reviewed, reviews),
        rubric_change=_rubric_change(reviewed),
        remarks=list(_remarks(reviewed, sample, reviews)),
        resamples=resamples,
        seed=seed,
    )


def _rubrics(reviewed: Reviewed, reviews: Iterable[Review]) -> dict[str, dict[str, int]]:
    people = (review.rubric_sha for review in reviews if review.rubric_sha)
    model = (item.rubric for item in reviewed.material.judgments if item.rubric and item.shared_from is None)
    counts = {"people": _counted(people), "model": _counted(model)}
    return {name: count for name, count in counts.items() if count}


def _rubric_change(reviewed: Reviewed) -> RubricChange | None:
    home = GoldFolder(reviewed.material.folder)
    grading = home.manifest().grading if home.is_finished() else None
    return None if grading is None else grading.rubric_change


def not_applied(stray: Stray) -> NotApplied:
    """Return a decision that does not apply, with its texts."""
    event, passage = stray.event, stray.passage
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


def _first_grades(reviewed: Reviewed, reviews: Iterable[Review]) -> Grades:
    """Return the lower median of the first grades of each pair of a query that is still in the set."""
    said: defaultdict[Pair, list[int]] = defaultdict(list)
    for review in reviews:
        if review.query_id in reviewed.material.queries:
            said[review.query_id, review.chunk_id].append(int(review.first_grade))
    grades: Grades = {}
    for (query_id, chunk_id), given in sorted(said.items()):
        grades.setdefault(query_id, {})[chunk_id] = sorted(given)[(len(given) - 1) // 2]
    return grades


def _completely_judged(reviewed: Reviewed, reviews: Sequence[Review], queries: Iterable[str]) -> Grades:
    wanted = set(queries) & {review.query_id for review in reviews if review.lane is Lane.COMPLETE}
    random = blind(reviews, Lane.CALIBRATION, Lane.COMPLETE)
    return _first_grades(reviewed, (review for review in random if review.query_id in wanted))


def _weights(reviewed: Reviewed, reviews: Iterable[Review]) -> dict[str, dict[str, float]]:
    """Return the weight of each pair of the random sample, 1 on average; a pair of unknown probability has none."""
    chance = {
        (review.query_id, review.chunk_id): review.inclusion
        for review in blind(reviews, Lane.CALIBRATION)
        if review.query_id in reviewed.material.queries and review.inclusion is not None
    }
    pairs = sorted(pair for pair in chance if pair[1] in reviewed.judge.get(pair[0], {}))
    found: dict[str, dict[str, float]] = {}
    for pair, weight in zip(pairs, inverse_weights([chance[pair] for pair in pairs]).tolist(), strict=True):
        found.setdefault(pair[0], {})[pair[1]] = weight
    return found


def _slices(
    reviewed: Reviewed, people: Grades, weights: Mapping[str, Mapping[str, float]], *, resamples: int, seed: int
) -> dict[str, dict[str, PairFigures]]:
    """Return the agreement by kind and by style of the queries."""
    found: dict[str, dict[str, PairFigures]] = {}
    for slice_ in _SLICES:
        groups: defaultdict[str, Grades] = defaultdict(dict)
        for query_id, graded in people.items():
            name = reviewed.material.notes.get(query_id, {}).get(slice_)
            if isinstance(name, str):
                groups[name][query_id] = graded
        for name in sorted(groups):
            figures = figures_of(groups[name], reviewed.judge, weights, resamples=resamples, seed=seed)
            if figures is not None:
                found.setdefault(slice_, {})[name] = figures
    return found


def _sample_done(reviewed: Reviewed, reviews: Sequence[Review]) -> StopRule:
    """Return whether the random sample is judged; its size follows from the probabilities, known for whole strata."""
    drawn = blind(reviews, Lane.CALIBRATION)
    sizes = Counter(
        stratum_of(_judged(reviewed, (one.query_id, one.chunk_id)))
        for one in reviewed.material.pool
        if one.shared_from is None
    )
    pairs = {(one.query_id, one.chunk_id) for one in drawn if one.query_id in reviewed.material.queries}
    chance = {
        stratum_of(_judged(reviewed, (one.query_id, one.chunk_id))): one.inclusion
        for one in drawn
        if one.query_id in reviewed.material.queries and one.inclusion is not None
    }
    if sizes.keys() - chance.keys():
        found = f"{amount(len(drawn), 'judgment')} so far"
        return StopRule(rule=sample_rule(0, 0).rule, holds=False if drawn else None, found=found)
    return sample_rule(len(pairs), round(sum(inclusion * sizes[stratum] for stratum, inclusion in chance.items())))


def _of_the_judge(reviewed: Reviewed, sample: PairFigures | None, now: Mapping[str, str]) -> list[StopRule]:
    """Return the rules about the judge; none if nothing was graded before people judged."""
    return [kappa_rule(sample), _errors_dried_up(reviewed, now)] if reviewed.judge else []


def _errors_dried_up(reviewed: Reviewed, now: Mapping[str, str]) -> StopRule:
    """Return whether looking for errors still finds any, by the latest judgment of each likely error."""
    last: dict[Pair, int] = {}
    for event in reviewed.events:
        if event.kind is EventKind.JUDGE and event.lane is Lane.ERRORS and reviewed.state.stands(event):
            pair = now.get(event.query_id, event.query_id), event.chunk_id or ""
            last.pop(pair, None)
            last[pair] = int(event.grade or 0)
    compared = [(grade, _judged(reviewed, pair)) for pair, grade in list(last.items())[-LAST:]]
    return errors_rule(sum(model is not None and grade != model for grade, model in compared), len(compared))


def _order(reviewed: Reviewed, reviews: Sequence[Review]) -> LikelyErrors:
    """Return what the order of the likely errors rests on; how large the sample is, the ledger alone does not tell."""
    drawn = (review for review in reviews if review.query_id in reviewed.material.queries)
    basis = in_steps(sampled(drawn, reviewed.state), finished=_sample_done(reviewed, reviews).holds is True)
    judge = {(q, c): Relevance(grade) for q, graded in reviewed.judge.items() for c, grade in graded.items()}
    return likely_errors(basis, judge)


def _judged(reviewed: Reviewed, pair: Pair) -> Relevance | None:
    grade = reviewed.judge.get(pair[0], {}).get(pair[1])
    return None if grade is None else Relevance(grade)


def _between(reviews: Sequence[Review], *, resamples: int, seed: int) -> Between | None:
    """Return how far people agree among themselves, or None if no pair was judged twice."""
    said: defaultdict[Pair, dict[str, int]] = defaultdict(dict)
    for review in blind(reviews, Lane.CALIBRATION, Lane.COMPLETE):
        said[review.query_id, review.chunk_id][review.annotator] = int(review.first_grade)
    shared = {pair: given for pair, given in sorted(said.items()) if len(given) > 1}
    if not shared:
        return None
    query_ids = sorted({query_id for query_id, _ in shared})
    place = {query_id: position for position, query_id in enumerate(query_ids)}
    counts = np.zeros((len(shared), _SIZE))
    tables = np.zeros((len(query_ids), _SIZE, _SIZE))
    names = sorted({name for given in shared.values() for name in given})
    for row, ((query_id, _), given) in enumerate(shared.items()):
        for grade in given.values():
            counts[row, grade] += 1
        for one, other in combinations([given[name] for name in names if name in given], 2):
            tables[place[query_id], one, other] += 0.5
            swapped = (other, one) if len(names) > 2 else (one, other)  # two people keep their sides
            tables[place[query_id], *swapped] += 0.5
    found = estimates(tables, _KAPPAS, resamples=resamples, seed=seed)
    alpha = raters_alpha(counts, [place[q] for q, _ in shared], len(query_ids), resamples=resamples, seed=seed)
    two_by_two = [_pair_of(shared, pair, resamples=resamples, seed=seed) for pair in combinations(names, 2)]
    return Between(pairs=len(shared), alpha=alpha, two_by_two=[one for one in two_by_two if one.pairs], **found)


def _binary_kappa(tables: Floats) -> Floats:
    return kappa.cohen_kappa(kappa.binary(tables, int(RELEVANT)))


_KAPPAS: dict[str, Callable[[Floats], Floats]] = {
    "exact": kappa.exact,
    "kappa": kappa.cohen_kappa,
    "kappa_quadratic": kappa.quadratic_kappa,
    "kappa_binary": _binary_kappa,
}


def _pair_of(
    shared: Mapping[Pair, Mapping[str, int]], names: tuple[str, str], *, resamples: int, seed: int
) -> RaterPair:
    first, second = names
    one, other = ({}, {})  # type: tuple[Grades, Grades]
    for (query_id, chunk_id), given in shared.items():
        if first in given and second in given:
            one.setdefault(query_id, {})[chunk_id] = given[first]
            other.setdefault(query_id, {})[chunk_id] = given[second]
    _, tables = kappa.query_tables(one, other, highest=max(Relevance))
    kappas = {name: statistic for name, statistic in _KAPPAS.items() if name != "exact"}
    found = estimates(tables, kappas, resamples=resamples, seed=seed)
    return RaterPair(first=first, second=second, pairs=int(tables.sum()), **found)


def _annotators(reviewed: Reviewed, reviews: Sequence[Review]) -> Iterator[Annotator]:
    again = reviewed.state.repeats()
    for name in sorted({review.annotator for review in reviews}):
        own = [review for review in reviews if review.annotator == name]
        times = [review.ms for review in own if review.ms is not None]
        apart = [abs(int(first.first_grade) - int(grade)) for first, grade in again if first.annotator == name]
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


def _remarks(reviewed: Reviewed, sample: PairFigures | None, reviews: Sequence[Review]) -> Iterator[str]:
    if not reviewed.material.judgments:
        yield "no model graded this set: the model's grades here are the labels that the set came with"
    if sample is None:
        yield "no pair of the random sample is both judged and graded by the model, so their agreement is unknown"
    elif sample.pairs < ENOUGH:
        yield f"agreement rests on {amount(sample.pairs, 'pair')} of the random sample: judge at least {ENOUGH}"
    fast = sum(review.ms is not None and review.ms < TOO_FAST_MS for review in reviews)
    if fast:
        yield f"{amount(fast, 'judgment')} took less than {TOO_FAST_MS} ms, counted like the others"
    told = sum(review.revealed and review.lane is not Lane.ERRORS for review in reviews)
    if told:
        yield f"{amount(told, 'judgment')} given with the model's grade in sight; an earlier blind grade counts instead"


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
