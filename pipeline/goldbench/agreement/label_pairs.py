"""Two sets of labels compared on the pairs that both graded, and the assessors of one set with one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from goldbench import __version__
from goldbench.agreement.judgment_files import Labels
from goldbench.errors import InputError, Message, Parameter
from goldbench.formats.runs.judgments import Grades
from goldbench.goldset.file_names import QUERIES
from goldbench.goldset.gold_path import notes_of_queries
from goldbench.measures.statistics.agreement import RESAMPLES, combined, pair_figures, query_tables, raters_alpha
from goldbench.measures.statistics.guardrails import guardrails
from goldbench.records.agreement_report import Agreement, PairFigures, RaterPair, Raters
from goldbench.text.display import shown

FEWEST_HIGHEST = 3
"""The scale ends at this grade, the highest of the rubric, or above it."""
MOST_GRADES = 101
"""Labels with more grades than this are refused unless a scale bounds them."""
MOST_RATERS = 12
"""Of more assessors than this, only the first are compared two by two."""
TYPES = ("kind", "style", "language")


@dataclass(frozen=True, slots=True)
class _Grading:
    """How labels are compared: the scale from 0 to ``highest``, the smallest relevant grade, and the resamples."""

    highest: int
    level: int
    resamples: int
    seed: int

    def draws(self) -> dict[str, int]:
        return {"resamples": self.resamples, "seed": self.seed}

    def figures(self, one: Grades, other: Grades, weights: Mapping[str, Mapping[str, float]]) -> PairFigures:
        """Return the figures of two assessors.

        Args:
            one: Grades of one assessor, by query and document.
            other: Grades of the other assessor.
            weights: Weight of each pair, above 0; pairs without one weigh 1.
        """
        _, counts = query_tables(one, other, highest=self.highest)
        tables, squares = counts, None
        if weights:
            tables, squares = (
                query_tables(one, other, highest=self.highest, weights=weights, power=power)[1] for power in (1, 2)
            )
        return pair_figures(tables, counts, level=self.level, resamples=self.resamples, seed=self.seed, squares=squares)

    def agreement(self, reference: Labels, judge: Labels, **found: Any) -> Agreement:  # noqa: ANN401  fields of the record
        return Agreement(
            goldbench=__version__,
            reference=shown(reference.name),
            judge=shown(judge.name),
            grades=list(range(self.highest + 1)),
            level=self.level,
            **self.draws(),
            **found,
        )


@dataclass(frozen=True, slots=True)
class _Side:
    """One set of labels on the scale: a grade per pair, and how many grades were beyond it or negative."""

    labels: Labels
    grades: Grades
    beyond: int
    unjudged: int

    def count(self) -> int:
        return sum(len(judged) for judged in self.grades.values())


def agree(
    reference: Labels,
    judge: Labels,
    *,
    level: int = 2,
    scale: int | None = None,
    per_type: bool = False,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Return how far a judge agrees with a reference.

    If a side has several assessors, their rounded mean represents it, and they are compared with one another.

    Args:
        reference: Labels that are taken as right, mostly of people.
        judge: Labels to compare with them.
        level: The smallest grade that is relevant.
        scale: The highest grade; higher grades count as it. None takes the highest grade given, at least 3.
        per_type: Whether to add the figures of each type, style and language of query, if a build noted them.
        resamples: Number of resamples of the queries, for the intervals.
        seed: Not negative.

    Raises:
        InputError: The scale has too many grades, or no build noted the types of the queries.
    """
    grading = _Grading(_top([reference, judge], scale), level, resamples, seed)
    one, other = (_Side(side, *_on_scale(_one_grade(side.raters), grading.highest)) for side in (reference, judge))
    weights = reference.weights or judge.weights
    figures = grading.figures(one.grades, other.grades, weights)
    raters = [_raters(labels, grading) for labels in (reference, judge)]
    return grading.agreement(
        reference,
        judge,
        only_reference=one.count() - figures.pairs,
        only_judge=other.count() - figures.pairs,
        clipped=one.beyond + other.beyond,
        unjudged=one.unjudged + other.unjudged,
        overall=figures if figures.pairs else None,
        raters=[compared for compared in raters if compared is not None],
        by=_by_type(one, other, grading) if per_type else {},
        guardrails=guardrails(judge.planted),
        remarks=_remarks(one, other, figures, grading),
    )


def _remarks(one: _Side, other: _Side, figures: PairFigures, grading: _Grading) -> list[str]:
    reference, judge, level = one.labels, other.labels, grading.level
    remarks = [*reference.remarks, *judge.remarks, *_too_many(reference), *_too_many(judge)]
    if one.beyond + other.beyond:
        beyond, highest = one.beyond + other.beyond, grading.highest
        remarks.append(f"{beyond:,} grades are beyond the scale 0 to {highest} and count as {highest}")
    bound = max(FEWEST_HIGHEST, _highest(_one_grade(reference.raters)))
    stray = sum(grade > bound for judged in other.grades.values() for grade in judged.values())
    if stray:
        above = f"{stray:,} grades of {judge.name} are above every grade of {reference.name} and count as they are"
        remarks.append(Message("{}; {} would bound them", above, Parameter("scale", bound)))
    if one.unjudged + other.unjudged:
        remarks.append(f"{one.unjudged + other.unjudged:,} negative grades mean that nobody judged, and are left out")
    for side in (one, other):
        highest = _highest(side.grades)
        if side.grades and highest < level:
            told = f"{side.labels.name} has no grade of {level} or more; if its {highest} means relevant"
            remarks.append(Message("{}, give {}", told, Parameter("rel", max(1, highest))))
    if figures.kappa_quadratic.value is not None and figures.kappa_quadratic.value > 0.95 and figures.pairs >= 100:
        remarks.append("independent judges never agree this well; check whether the labels were copied")
    return remarks


def agree_within(
    labels: Labels, *, level: int = 2, scale: int | None = None, resamples: int = RESAMPLES, seed: int = 0
) -> Agreement:
    """Return how far the assessors of one file agree with one another.

    Args:
        labels: The labels.
        level: As in `agree`.
        scale: As in `agree`.
        resamples: As in `agree`.
        seed: As in `agree`.

    Raises:
        InputError: The file has the labels of one assessor only.
    """
    if len(labels.raters) < 2:
        raise InputError(str(labels.path), "has the labels of one assessor only; give a second file")
    grading = _Grading(_top([labels], scale), level, resamples, seed)
    within = _raters(labels, grading)
    remarks = [*labels.remarks, *_too_many(labels)]
    return grading.agreement(labels, labels, raters=[] if within is None else [within], remarks=remarks)


def final_grades(labels: Labels) -> Grades:
    """Return one grade per pair: that of the only assessor, or the rounded mean of several."""
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
    return [f"{labels.name}: alpha covers all {len(labels.raters)} assessors, two by two the first {MOST_RATERS}"]


def _top(sides: Sequence[Labels], scale: int | None) -> int:
    highest = max(_highest(grades) for labels in sides for grades in labels.raters.values())
    if scale is None and highest >= MOST_GRADES:
        problem = Message("grades go up to {}, which is not a scale of relevance; bound them with {scale=} N", highest)
        raise InputError(str(sides[0].path), problem)
    return scale if scale is not None else max(FEWEST_HIGHEST, highest)


def _highest(grades: Grades) -> int:
    return max((grade for judged in grades.values() for grade in judged.values()), default=0)


def _by_type(one: _Side, other: _Side, grading: _Grading) -> dict[str, dict[str, PairFigures]]:
    notes = notes_of_queries(one.labels.path) or notes_of_queries(other.labels.path)
    if not notes:
        problem = Message("{per_type} needs the folder of a build: no {} notes the types of the queries", QUERIES)
        raise InputError(str(other.labels.path), problem)
    weights = one.labels.weights or other.labels.weights
    found: dict[str, dict[str, PairFigures]] = {}
    for name in TYPES:
        values = {query_id: str(note[name]) for query_id, note in notes.items() if note.get(name) is not None}
        for value in sorted(set(values.values())):
            chosen = {query_id: judged for query_id, judged in one.grades.items() if values.get(query_id) == value}
            figures = grading.figures(chosen, other.grades, weights)
            if figures.pairs:
                found.setdefault(name, {})[shown(value)] = figures
    return found


def _own(labels: Labels, name: str) -> Grades:
    """Return what an assessor judged, without grades copied to near-duplicates, which always agree."""
    if not labels.copies:
        return labels.raters[name]
    return {
        query_id: {doc_id: grade for doc_id, grade in judged.items() if (query_id, doc_id) not in labels.copies}
        for query_id, judged in labels.raters[name].items()
    }


def _raters(labels: Labels, grading: _Grading) -> Raters | None:
    """Return the agreement of the assessors of one side, or None if it has fewer than two."""
    if len(labels.raters) < 2:
        return None
    names = sorted(labels.raters)
    scaled = {name: _on_scale(_own(labels, name), grading.highest)[0] for name in names}
    pairs = sorted({(q, d) for grades in scaled.values() for q, judged in grades.items() for d in judged})
    place = {pair: row for row, pair in enumerate(pairs)}
    counts = np.zeros((len(pairs), grading.highest + 1))
    for name in names:
        for query_id, judged in scaled[name].items():
            for doc_id, grade in judged.items():
                counts[place[query_id, doc_id], grade] += 1
    at = {query_id: position for position, query_id in enumerate(sorted({query_id for query_id, _ in pairs}))}
    return Raters(
        name=shown(labels.name),
        assessors=[shown(name) for name in names],
        pairs=int((counts.sum(axis=1) > 1).sum()),
        alpha=raters_alpha(counts, [at[query_id] for query_id, _ in pairs], len(at), **grading.draws()),
        between=[
            _compared(first, second, grading.figures(scaled[first], scaled[second], {}))
            for first, second in combinations(names[:MOST_RATERS], 2)
        ],
    )


def _compared(first: str, second: str, figures: PairFigures) -> RaterPair:
    return RaterPair(
        first=shown(first),
        second=shown(second),
        pairs=figures.pairs,
        kappa=figures.kappa,
        kappa_quadratic=figures.kappa_quadratic,
        kappa_binary=figures.kappa_binary,
    )
