"""Two sets of labels compared on the pairs that both graded, and the assessors of one set with one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from goldbench import __version__
from goldbench.agreement.judgment_files import Labels
from goldbench.errors import InputError, Message, Parameter
from goldbench.formats.runs.judgments import Grades
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


@dataclass(frozen=True, slots=True)
class _Scale:
    """How labels are compared: grades from 0 to ``highest``, the smallest relevant one, and the resamples."""

    highest: int
    level: int
    resamples: int
    seed: int

    def figures(self, reference: Grades, judge: Grades, weights: Mapping[str, Mapping[str, float]]) -> PairFigures:
        """Return the figures of two assessors; pairs without a weight weigh 1."""
        _, counts = query_tables(reference, judge, highest=self.highest)
        tables = counts
        squares = None
        if weights:
            _, tables = query_tables(reference, judge, highest=self.highest, weights=weights)
            _, squares = query_tables(reference, judge, highest=self.highest, weights=weights, power=2)
        return pair_figures(tables, counts, level=self.level, resamples=self.resamples, seed=self.seed, squares=squares)

    def agreement(self, reference: Labels, judge: Labels, **figures: Any) -> Agreement:  # noqa: ANN401  fields of the record
        return Agreement(
            goldbench=__version__,
            reference=shown(reference.name),
            judge=shown(judge.name),
            grades=list(range(self.highest + 1)),
            level=self.level,
            resamples=self.resamples,
            seed=self.seed,
            **figures,
        )


@dataclass(frozen=True, slots=True)
class _Side:
    """One set of labels on the scale: a grade per pair, and how many grades were beyond it or negative."""

    labels: Labels
    grades: Grades
    beyond: int
    unjudged: int


def agree(
    reference: Labels,
    judge: Labels,
    *,
    level: int = 2,
    scale: int | None = None,
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
        resamples: Number of resamples of the queries, for the intervals.
        seed: Not negative.

    Raises:
        InputError: The scale has too many grades.
    """
    grading = _Scale(_highest_of([reference, judge], scale), level, resamples, seed)
    sides = [_Side(labels, *_on_scale(_one_grade(labels.raters), grading.highest)) for labels in (reference, judge)]
    figures = grading.figures(sides[0].grades, sides[1].grades, reference.weights or judge.weights)
    counts = [sum(map(len, side.grades.values())) for side in sides]
    return grading.agreement(
        reference,
        judge,
        only_reference=counts[0] - figures.pairs,
        only_judge=counts[1] - figures.pairs,
        clipped=sum(side.beyond for side in sides),
        unjudged=sum(side.unjudged for side in sides),
        overall=figures if figures.pairs else None,
        raters=[_raters(labels, grading) for labels in (reference, judge) if len(labels.raters) > 1],
        guardrails=guardrails(judge.planted),
        remarks=list(_remarks(sides[0], sides[1], figures, grading)),
    )


def _remarks(reference: _Side, judge: _Side, figures: PairFigures, grading: _Scale) -> Iterator[str]:
    """Yield what to know beside the figures."""
    sides = (reference, judge)
    yield from (remark for side in sides for remark in side.labels.remarks)
    yield from (remark for side in sides for remark in _too_many(side.labels))
    beyond = reference.beyond + judge.beyond
    if beyond:
        yield f"{beyond:,} grades are beyond the scale 0 to {grading.highest} and count as {grading.highest}"
    bound = max(FEWEST_HIGHEST, _highest(_one_grade(reference.labels.raters)))
    stray = sum(grade > bound for judged in judge.grades.values() for grade in judged.values())
    if stray:
        names = f"{judge.labels.name} are above every grade of {reference.labels.name}"
        above = f"{stray:,} grades of {names} and count as they are"
        yield Message("{}; {} would bound them", above, Parameter("scale", bound))
    if reference.unjudged + judge.unjudged:
        negative = reference.unjudged + judge.unjudged
        yield f"{negative:,} negative grades mean that nobody judged, and are left out"
    for side in sides:
        highest = _highest(side.grades)
        if side.grades and highest < grading.level:
            none = f"{side.labels.name} has no grade of {grading.level} or more; if its {highest} means relevant"
            yield Message("{}, give {}", none, Parameter("rel", max(1, highest)))
    if (figures.kappa_quadratic.value or 0) > 0.95 and figures.pairs >= 100:
        yield "independent judges never agree this well; check whether the labels were copied"


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
    grading = _Scale(_highest_of([labels], scale), level, resamples, seed)
    remarks = [*labels.remarks, *_too_many(labels)]
    return grading.agreement(labels, labels, raters=[_raters(labels, grading)], remarks=remarks)


def final_grades(labels: Labels) -> Grades:
    """Return one grade per pair: that of the only assessor, or the rounded mean of several."""
    kept, _, _ = _on_scale(_one_grade(labels.raters), MOST_GRADES * 10)
    return kept


def _one_grade(raters: Mapping[str, Grades]) -> Grades:
    if len(raters) == 1:
        return next(iter(raters.values()))
    panel: dict[str, dict[str, list[int]]] = {}
    for name in sorted(raters):
        for query_id, judged in raters[name].items():
            for doc_id, grade in judged.items():
                if grade >= 0:
                    panel.setdefault(query_id, {}).setdefault(doc_id, []).append(grade)
    return {
        query_id: {doc_id: combined(grades) for doc_id, grades in judged.items()} for query_id, judged in panel.items()
    }


def _on_scale(grades: Grades, highest: int) -> tuple[Grades, int, int]:
    """Return the grades from 0 to ``highest``, how many were beyond it, and how many were negative."""
    every = [grade for judged in grades.values() for grade in judged.values()]
    scaled = {
        query_id: {doc_id: min(grade, highest) for doc_id, grade in judged.items() if grade >= 0}
        for query_id, judged in grades.items()
    }
    scaled = {query_id: judged for query_id, judged in scaled.items() if judged}
    return scaled, sum(grade > highest for grade in every), sum(grade < 0 for grade in every)


def _too_many(labels: Labels) -> list[str]:
    if len(labels.raters) <= MOST_RATERS:
        return []
    return [f"{labels.name}: alpha covers all {len(labels.raters)} assessors, two by two the first {MOST_RATERS}"]


def _highest_of(sides: Sequence[Labels], scale: int | None) -> int:
    highest = max(_highest(grades) for labels in sides for grades in labels.raters.values())
    if scale is None and highest >= MOST_GRADES:
        problem = Message("grades go up to {}, which is not a scale of relevance; bound them with {scale=} N", highest)
        raise InputError(str(sides[0].path), problem)
    return scale if scale is not None else max(FEWEST_HIGHEST, highest)


def _highest(grades: Grades) -> int:
    return max((grade for judged in grades.values() for grade in judged.values()), default=0)


def _raters(labels: Labels, grading: _Scale) -> Raters:
    """Return the agreement of two or more assessors, without grades copied to near-duplicates, which always agree."""
    names = sorted(labels.raters)
    scaled = {}
    for name in names:
        own = {
            query_id: {doc_id: grade for doc_id, grade in judged.items() if (query_id, doc_id) not in labels.copies}
            for query_id, judged in labels.raters[name].items()
        }
        scaled[name] = _on_scale(own, grading.highest)[0]
    pairs = sorted({(q, d) for grades in scaled.values() for q, judged in grades.items() for d in judged})
    rows = {pair: row for row, pair in enumerate(pairs)}
    counts = np.zeros((len(pairs), grading.highest + 1))
    for grades in scaled.values():
        for query_id, judged in grades.items():
            for doc_id, grade in judged.items():
                counts[rows[query_id, doc_id], grade] += 1
    query_ids, query_of = np.unique([query_id for query_id, _ in pairs], return_inverse=True)
    between = []
    for first, second in combinations(names[:MOST_RATERS], 2):
        figures = grading.figures(scaled[first], scaled[second], {})
        values = figures.model_dump(include={"pairs", "kappa", "kappa_quadratic", "kappa_binary"})
        between.append(RaterPair(first=shown(first), second=shown(second), **values))
    return Raters(
        name=shown(labels.name),
        assessors=[shown(name) for name in names],
        pairs=int((counts.sum(axis=1) > 1).sum()),
        alpha=raters_alpha(counts, query_of.tolist(), len(query_ids), resamples=grading.resamples, seed=grading.seed),
        between=between,
    )
