"""Two sets of labels compared on the pairs both graded, and the assessors of one set with one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import combinations

import numpy as np

from pipeline.agreement.judgment_files import Labels
from pipeline.errors import InputError
from pipeline.formats.runs.judgments import Grades
from pipeline.goldset.file_names import QUERIES
from pipeline.goldset.gold_path import notes_of_queries
from pipeline.measures.statistics.agreement_intervals import pair_figures, raters_alpha
from pipeline.measures.statistics.kappa import combined, query_tables
from pipeline.text.display import shown
from schemas.agreement_report import Agreement, PairFigures, RaterPair, Raters

FEWEST_HIGHEST = 3
"""The scale goes at least to the highest grade of the rubric, whatever was given."""
MOST_GRADES = 101
"""A scale of more grades is no scale of relevance."""
MOST_RATERS = 12
"""Two by two, no more assessors are compared."""
TYPES = ("kind", "style", "language")


def agree(
    reference: Labels,
    judge: Labels,
    *,
    level: int = 2,
    scale: int | None = None,
    per_type: bool = False,
    resamples: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Return how far a judge agrees with a reference.

    Several assessors of one side stand for that side by their rounded mean, and are compared with one another.

    Args:
        reference: people, or whatever is taken for right.
        judge: who is compared with them.
        level: the smallest grade that is relevant.
        scale: the highest grade; grades beyond count as it. None takes the highest that was given, at least 3.
        per_type: whether to add the figures of each type and style of query, where a build noted them.
        resamples: of the queries, for the intervals.
        seed: not negative.

    Raises:
        InputError: The scale has too many grades, or no build noted the types of the queries.
    """
    one, other = _one_grade(reference.raters), _one_grade(judge.raters)
    highest = _top([reference, judge], scale)
    kept, beyond_one, unjudged_one = _on_scale(one, highest)
    other_kept, beyond_other, unjudged_other = _on_scale(other, highest)
    weights = reference.weights or judge.weights
    figures = _figures(kept, other_kept, weights, highest=highest, level=level, resamples=resamples, seed=seed)
    shared, beyond = figures.pairs, beyond_one + beyond_other
    remarks = [*reference.remarks, *judge.remarks, *_too_many(reference), *_too_many(judge)]
    if beyond:
        remarks.append(f"{beyond:,} grades are beyond the scale 0 to {highest} and count as {highest}")
    bound = max(FEWEST_HIGHEST, _highest(one))
    stray = sum(grade > bound for judged in other_kept.values() for grade in judged.values())
    if stray:
        remarks.append(
            f"{stray:,} grades of {judge.name} are above any of {reference.name}, and count as they are; "
            f"--scale {bound} would bound them"
        )
    if unjudged_one + unjudged_other:
        remarks.append(f"{unjudged_one + unjudged_other:,} negative grades say that nobody judged, and are left out")
    for labels, grades in ((reference, kept), (judge, other_kept)):
        if grades and _highest(grades) < level:
            remarks.append(
                f"{labels.name} holds no grade of {level} or more: if its {_highest(grades)} means relevant, "
                f"give --rel {max(1, _highest(grades))}"
            )
    if figures.kappa_quadratic.value is not None and figures.kappa_quadratic.value > 0.95 and shared >= 100:
        remarks.append("agreement this high is not known between independent judges: have the labels been copied?")
    return Agreement(
        goldset=version("goldset"),
        reference=shown(reference.name),
        judge=shown(judge.name),
        grades=list(range(highest + 1)),
        level=level,
        only_reference=_count(kept) - shared,
        only_judge=_count(other_kept) - shared,
        clipped=beyond,
        unjudged=unjudged_one + unjudged_other,
        overall=figures if shared else None,
        raters=[
            compared
            for labels in (reference, judge)
            if (compared := _raters(labels, highest, level=level, resamples=resamples, seed=seed)) is not None
        ],
        by=_by_type(reference, judge, kept, other_kept, highest, level, resamples, seed) if per_type else {},
        remarks=remarks,
        resamples=resamples,
        seed=seed,
    )


def agree_within(
    labels: Labels, *, level: int = 2, scale: int | None = None, resamples: int = 1000, seed: int = 0
) -> Agreement:
    """Return how far the assessors of one file agree with one another.

    Raises:
        InputError: It holds the labels of one assessor only.
    """
    if len(labels.raters) < 2:
        raise InputError(str(labels.path), "holds the labels of one assessor only; name a second file")
    highest = _top([labels], scale)
    within = _raters(labels, highest, level=level, resamples=resamples, seed=seed)
    return Agreement(
        goldset=version("goldset"),
        reference=shown(labels.name),
        judge=shown(labels.name),
        grades=list(range(highest + 1)),
        level=level,
        raters=[] if within is None else [within],
        remarks=[*labels.remarks, *_too_many(labels)],
        resamples=resamples,
        seed=seed,
    )


def final_grades(labels: Labels) -> Grades:
    """Return one grade per pair: that of the one assessor, or the rounded mean of several."""
    kept, _, _ = _on_scale(_one_grade(labels.raters), MOST_GRADES * 10)
    return kept


def _one_grade(raters: Mapping[str, Grades]) -> Grades:
    if len(raters) == 1:
        return next(iter(raters.values()))
    given: dict[str, dict[str, list[int]]] = {}
    for name in sorted(raters):
        for query_id, judged in raters[name].items():
            for doc_id, grade in judged.items():
                if grade >= 0:
                    given.setdefault(query_id, {}).setdefault(doc_id, []).append(grade)
    return {
        query_id: {doc_id: combined(grades) for doc_id, grades in judged.items()} for query_id, judged in given.items()
    }


def _on_scale(grades: Grades, highest: int) -> tuple[Grades, int, int]:
    """Return the grades from 0 to ``highest``, how many were beyond it, and how many were negative."""
    kept: Grades = {}
    beyond = unjudged = 0
    for query_id, judged in grades.items():
        found = {}
        for doc_id, grade in judged.items():
            unjudged += grade < 0
            beyond += grade > highest
            if grade >= 0:
                found[doc_id] = min(grade, highest)
        if found:
            kept[query_id] = found
    return kept, beyond, unjudged


def _too_many(labels: Labels) -> list[str]:
    if len(labels.raters) <= MOST_RATERS:
        return []
    return [f"{labels.name}: alpha is over all {len(labels.raters)} assessors, two by two the first {MOST_RATERS}"]


def _top(sides: Sequence[Labels], scale: int | None) -> int:
    highest = max(_highest(grades) for labels in sides for grades in labels.raters.values())
    if scale is None and highest >= MOST_GRADES:
        raise InputError(
            str(sides[0].path), f"grades go up to {highest}, which is no scale of relevance; --scale N bounds them"
        )
    return scale if scale is not None else max(FEWEST_HIGHEST, highest)


def _highest(grades: Grades) -> int:
    return max((grade for judged in grades.values() for grade in judged.values()), default=0)


def _count(grades: Grades) -> int:
    return sum(len(judged) for judged in grades.values())


def _figures(
    one: Grades,
    other: Grades,
    weights: Mapping[str, Mapping[str, float]],
    *,
    highest: int,
    level: int,
    resamples: int,
    seed: int,
) -> PairFigures:
    _, counts = query_tables(one, other, highest=highest)
    if not weights:
        return pair_figures(counts, counts, level=level, resamples=resamples, seed=seed)
    _, tables = query_tables(one, other, highest=highest, weights=weights)
    each = np.array(
        [
            weights.get(query_id, {}).get(doc_id, 1.0)
            for query_id in one.keys() & other.keys()
            for doc_id in one[query_id].keys() & other[query_id].keys()
        ]
    )
    effective = float(np.sort(each).sum() ** 2 / (np.sort(each) ** 2).sum()) if len(each) else 0.0
    return pair_figures(tables, counts, level=level, resamples=resamples, seed=seed, effective=effective)


def _by_type(
    reference: Labels, judge: Labels, one: Grades, other: Grades, highest: int, level: int, resamples: int, seed: int
) -> dict[str, dict[str, PairFigures]]:
    notes = notes_of_queries(reference.path) or notes_of_queries(judge.path)
    if not notes:
        raise InputError(
            str(judge.path), f"--per-type needs the folder of a build: no {QUERIES} notes the types of the queries"
        )
    found: dict[str, dict[str, PairFigures]] = {}
    for name in TYPES:
        values = {query_id: str(note[name]) for query_id, note in notes.items() if note.get(name) is not None}
        for value in sorted(set(values.values())):
            chosen = {query_id: judged for query_id, judged in one.items() if values.get(query_id) == value}
            figures = _figures(
                chosen,
                other,
                reference.weights or judge.weights,
                highest=highest,
                level=level,
                resamples=resamples,
                seed=seed,
            )
            if figures.pairs:
                found.setdefault(name, {})[shown(value)] = figures
    return found


def _own(labels: Labels, name: str) -> Grades:
    """Return what an assessor judged, without what near-duplicates have of it: copies agree as often as originals."""
    if not labels.copies:
        return labels.raters[name]
    return {
        query_id: {doc_id: grade for doc_id, grade in judged.items() if (query_id, doc_id) not in labels.copies}
        for query_id, judged in labels.raters[name].items()
    }


def _raters(labels: Labels, highest: int, *, level: int, resamples: int, seed: int) -> Raters | None:
    if len(labels.raters) < 2:
        return None
    names = sorted(labels.raters)
    scaled = {name: _on_scale(_own(labels, name), highest)[0] for name in names}
    pairs = sorted({(q, d) for grades in scaled.values() for q, judged in grades.items() for d in judged})
    place = {pair: row for row, pair in enumerate(pairs)}
    counts = np.zeros((len(pairs), highest + 1))
    for name in names:
        for query_id, judged in scaled[name].items():
            for doc_id, grade in judged.items():
                counts[place[query_id, doc_id], grade] += 1
    queries = sorted({query_id for query_id, _ in pairs})
    at = {query_id: position for position, query_id in enumerate(queries)}
    alpha = raters_alpha(counts, [at[query_id] for query_id, _ in pairs], len(queries), resamples=resamples, seed=seed)
    return Raters(
        name=shown(labels.name),
        assessors=[shown(name) for name in names],
        pairs=int((counts.sum(axis=1) > 1).sum()),
        alpha=alpha,
        between=_between(names[:MOST_RATERS], scaled, highest, level=level, resamples=resamples, seed=seed),
    )


def _between(
    names: Sequence[str], scaled: Mapping[str, Grades], highest: int, *, level: int, resamples: int, seed: int
) -> list[RaterPair]:
    found = []
    for first, second in combinations(names, 2):
        figures = _figures(
            scaled[first], scaled[second], {}, highest=highest, level=level, resamples=resamples, seed=seed
        )
        found.append(
            RaterPair(
                first=shown(first),
                second=shown(second),
                pairs=figures.pairs,
                kappa=figures.kappa,
                kappa_quadratic=figures.kappa_quadratic,
                kappa_binary=figures.kappa_binary,
            )
        )
    return found
