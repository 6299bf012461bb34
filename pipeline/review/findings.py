"""How far people agree with the model, with one another and with themselves, and whether there is more to do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median

import numpy as np

from pipeline.measures.statistics import kappa
from pipeline.measures.statistics.agreement_intervals import estimates, pair_figures, raters_alpha
from pipeline.measures.statistics.calibration import effective_size, inverse_weights
from pipeline.measures.statistics.floats import Floats
from pipeline.review.people import Grades, Pair, Reviewed, blind, complete_queries, current_ids
from pipeline.review.stop_rule import FEW, errors_dried_up, narrow_enough, sample_done
from schemas.agreement_report import PairFigures, RaterPair
from schemas.judgment import RELEVANT, Relevance
from schemas.review_event import Lane, Review
from schemas.review_report import Annotator, Between, ReviewReport

TOO_FAST_MS = 700
"""Nobody reads a passage in less."""

RESAMPLES = 1000
_SIZE = len(Relevance)
_SLICES = ("kind", "style")


def report(reviewed: Reviewed, *, resamples: int = RESAMPLES, seed: int = 0) -> ReviewReport:
    """Return what a review has shown so far.

    Args:
        reviewed: the data set and its ledger.
        resamples: how many resamples of the queries the intervals rest on, at least 100.
        seed: not negative.
    """
    reviews = reviewed.state.reviews()
    drawn = _first_grades(reviewed, blind(reviews, Lane.CALIBRATION))
    done = complete_queries(reviewed)
    sample = _figures(reviewed, drawn, _weights(reviewed, reviews), resamples=resamples, seed=seed)
    return ReviewReport(
        queries=len(reviewed.material.queries),
        pairs=len(reviewed.material.pool),
        judged=len(reviewed.material.pairs.keys() & _pairs(reviewed, reviews)),
        judgments=len(reviews),
        adjudicated=len(reviewed.state.adjudicated()),
        disputed=len(reviewed.state.disagreements()),
        cannot=len(reviewed.state.cannot()),
        bad_queries=_counted(r.value for said in reviewed.state.bad_queries().values() for r in said.values()),
        verdicts=_counted(verdict.kind.value for verdict in reviewed.state.query_verdicts().values()),
        by_lane=_counted(review.lane.value if review.lane else "none" for review in reviews),
        sample=sample,
        complete=_figures(reviewed, _of(reviewed, reviews, done), None, resamples=resamples, seed=seed),
        complete_queries=len(done),
        by=_slices(reviewed, drawn, _weights(reviewed, reviews), resamples=resamples, seed=seed),
        between=_between(reviewed, reviews, resamples=resamples, seed=seed),
        annotators=list(_annotators(reviewed, reviews)),
        stop=[sample_done(reviewed, reviews), narrow_enough(sample), errors_dried_up(reviewed)],
        remarks=list(_remarks(reviewed, sample, reviews)),
        resamples=resamples,
        seed=seed,
    )


def _pairs(reviewed: Reviewed, reviews: Iterable[Review]) -> set[Pair]:
    now = current_ids(reviewed.material)
    return {(now.get(review.query_id, review.query_id), review.chunk_id) for review in reviews}


def _first_grades(reviewed: Reviewed, reviews: Iterable[Review]) -> Grades:
    """Return the lower median of the first grades of each pair, by the ids that queries have now."""
    now = current_ids(reviewed.material)
    said: defaultdict[Pair, list[int]] = defaultdict(list)
    for review in reviews:
        if review.query_id in now:
            said[now[review.query_id], review.chunk_id].append(int(review.first_grade))
    grades: Grades = {}
    for (query_id, chunk_id), given in sorted(said.items()):
        grades.setdefault(query_id, {})[chunk_id] = sorted(given)[(len(given) - 1) // 2]
    return grades


def _of(reviewed: Reviewed, reviews: Sequence[Review], queries: Iterable[str]) -> Grades:
    now = current_ids(reviewed.material)
    wanted = set(queries) & {now.get(review.query_id) for review in reviews if review.lane is Lane.COMPLETE}
    random = blind(reviews, Lane.CALIBRATION, Lane.COMPLETE)
    return _first_grades(reviewed, (review for review in random if now.get(review.query_id) in wanted))


def _weights(reviewed: Reviewed, reviews: Iterable[Review]) -> dict[str, dict[str, float]]:
    """Return what each pair of lane A stands for, the mean being 1; a pair of unknown probability is left out."""
    now = current_ids(reviewed.material)
    chance = {
        (now[review.query_id], review.chunk_id): review.inclusion
        for review in blind(reviews, Lane.CALIBRATION)
        if review.query_id in now and review.inclusion is not None
    }
    pairs = sorted(pair for pair in chance if pair[1] in reviewed.judge.get(pair[0], {}))
    found: dict[str, dict[str, float]] = {}
    for pair, weight in zip(pairs, inverse_weights([chance[pair] for pair in pairs]).tolist(), strict=True):
        found.setdefault(pair[0], {})[pair[1]] = weight
    return found


def _figures(
    reviewed: Reviewed,
    people: Grades,
    weights: Mapping[str, Mapping[str, float]] | None,
    *,
    resamples: int,
    seed: int,
) -> PairFigures | None:
    """Return the agreement of people and model, None where they share no pair."""
    if weights is not None:
        people = {q: {c: g for c, g in graded.items() if c in weights.get(q, {})} for q, graded in people.items()}
    highest = max(Relevance)
    query_ids, tables = kappa.query_tables(people, reviewed.judge, highest=highest, weights=weights)
    if not query_ids:
        return None
    _, counts = kappa.query_tables(people, reviewed.judge, highest=highest)
    used = [
        weights[query_id][chunk_id]
        for query_id in query_ids
        for chunk_id in people[query_id]
        if weights is not None and chunk_id in reviewed.judge[query_id]
    ]
    return pair_figures(
        tables,
        counts,
        level=int(RELEVANT),
        resamples=resamples,
        seed=seed,
        effective=effective_size(used) if weights is not None else None,
    )


def _slices(
    reviewed: Reviewed, people: Grades, weights: Mapping[str, Mapping[str, float]], *, resamples: int, seed: int
) -> dict[str, dict[str, PairFigures]]:
    """Return the agreement by what is known of each query: its kind and its style."""
    found: dict[str, dict[str, PairFigures]] = {}
    for slice_ in _SLICES:
        groups: defaultdict[str, Grades] = defaultdict(dict)
        for query_id, graded in people.items():
            name = reviewed.material.notes.get(query_id, {}).get(slice_)
            if isinstance(name, str):
                groups[name][query_id] = graded
        figures = {
            name: _figures(reviewed, groups[name], weights, resamples=resamples, seed=seed) for name in sorted(groups)
        }
        if kept := {name: one for name, one in figures.items() if one is not None}:
            found[slice_] = kept
    return found


def _between(reviewed: Reviewed, reviews: Sequence[Review], *, resamples: int, seed: int) -> Between | None:
    """Return how far people agree among themselves; None where no pair was judged twice."""
    now = current_ids(reviewed.material)
    said: defaultdict[Pair, dict[str, int]] = defaultdict(dict)
    for review in blind(reviews, Lane.CALIBRATION, Lane.COMPLETE):
        said[now.get(review.query_id, review.query_id), review.chunk_id][review.annotator] = int(review.first_grade)
    shared = {pair: given for pair, given in sorted(said.items()) if len(given) > 1}
    if not shared:
        return None
    query_ids = sorted({query_id for query_id, _ in shared})
    place = {query_id: position for position, query_id in enumerate(query_ids)}
    counts = np.zeros((len(shared), _SIZE))
    tables = np.zeros((len(query_ids), _SIZE, _SIZE))
    for row, ((query_id, _), given) in enumerate(shared.items()):
        for grade in given.values():
            counts[row, grade] += 1
        for one, other in combinations(given.values(), 2):
            tables[place[query_id], one, other] += 0.5
            tables[place[query_id], other, one] += 0.5
    found = estimates(tables, _KAPPAS, resamples=resamples, seed=seed)
    alpha = raters_alpha(counts, [place[q] for q, _ in shared], len(query_ids), resamples=resamples, seed=seed)
    names = sorted({name for given in shared.values() for name in given})
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
        yield "no model graded this set: what is called the model here are the labels the set came with"
    if sample is None:
        yield "no pair of lane A is judged and graded by the model, so nothing can be said of their agreement"
    elif sample.pairs < FEW:
        yield f"agreement rests on {sample.pairs} pairs of lane A: judge at least {FEW}"
    fast = sum(review.ms is not None and review.ms < TOO_FAST_MS for review in reviews)
    if fast:
        yield f"{fast} judgments took less than {TOO_FAST_MS} ms; they are counted like the others"
    told = sum(review.revealed and review.lane is not Lane.ERRORS for review in reviews)
    if told:
        yield f"{told} judgments were given with the model's grade in sight; the first grade counts where there is one"


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
