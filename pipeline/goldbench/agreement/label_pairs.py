"""Two sets of labels compared: on the pairs that both graded, and on the order of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from goldbench import __version__
from goldbench.agreement.judgment_files import Labels
from goldbench.errors import InputError, Message, Parameter
from goldbench.formats.runs.judgments import Grades
from goldbench.measures.names import Measure
from goldbench.measures.statistics.agreement import RESAMPLES, pair_figures, query_tables
from goldbench.measures.statistics.guardrails import guardrails
from goldbench.measures.statistics.rank_correlation import tau_b_rows
from goldbench.records.agreement_report import Agreement, Estimate, PairFigures, RankedSystem, Ranking
from goldbench.score.runs import Gold, Run, score_run
from goldbench.text.display import shown

FEWEST_HIGHEST = 3
"""The scale ends at this grade, the highest of the rubric, or above it."""
MOST_GRADES = 101
"""Labels with more grades than this are refused unless a scale bounds them."""
FEWEST_SYSTEMS = 3
"""A rank correlation needs at least this number of systems."""


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
    highest = max(_highest(reference.grades), _highest(judge.grades))
    if scale is None and highest >= MOST_GRADES:
        problem = Message("grades go up to {}, which is not a scale of relevance; bound them with {scale=} N", highest)
        raise InputError(str(reference.path), problem)
    highest = scale if scale is not None else max(FEWEST_HIGHEST, highest)
    first, second = (_on_scale(labels.grades, highest) for labels in (reference, judge))
    weights = reference.weights or judge.weights
    _, counts = query_tables(first, second, highest=highest)
    tables = counts
    squares = None
    if weights:
        _, tables = query_tables(first, second, highest=highest, weights=weights)
        _, squares = query_tables(first, second, highest=highest, weights=weights, power=2)
    figures = pair_figures(tables, counts, level=level, resamples=resamples, seed=seed, squares=squares)
    all_grades = [
        grade for labels in (reference, judge) for judged in labels.grades.values() for grade in judged.values()
    ]
    beyond = sum(grade > highest for grade in all_grades)
    unjudged = sum(grade < 0 for grade in all_grades)
    return Agreement(
        goldbench=__version__,
        reference=shown(reference.name),
        judge=shown(judge.name),
        grades=list(range(highest + 1)),
        level=level,
        only_reference=sum(map(len, first.values())) - figures.pairs,
        only_judge=sum(map(len, second.values())) - figures.pairs,
        clipped=beyond,
        unjudged=unjudged,
        overall=figures if figures.pairs else None,
        guardrails=guardrails(judge.planted),
        remarks=[
            *reference.remarks,
            *judge.remarks,
            *([f"{beyond:,} grades are beyond the scale 0 to {highest} and count as {highest}"] if beyond else []),
            *_remarks(reference, judge, figures, level=level, highest=highest),
            *([f"{unjudged:,} negative grades mean that nobody judged, and are left out"] if unjudged else []),
        ],
        resamples=resamples,
        seed=seed,
    )


def _remarks(reference: Labels, judge: Labels, figures: PairFigures, *, level: int, highest: int) -> Iterator[str]:
    """Yield what to know beside the figures."""
    bound = max(FEWEST_HIGHEST, _highest(reference.grades))
    stray = sum(bound < min(grade, highest) for judged in judge.grades.values() for grade in judged.values())
    if stray:
        names = f"{judge.name} are above every grade of {reference.name}"
        above = f"{stray:,} grades of {names} and count as they are"
        yield Message("{}; {} would bound them", above, Parameter("scale", bound))
    for labels in (reference, judge):
        most = min(_highest(labels.grades), highest)
        if 0 <= most < level:
            none = f"{labels.name} has no grade of {level} or more; if its {most} means relevant"
            yield Message("{}, give {}", none, Parameter("rel", max(1, most)))
    if (figures.kappa_quadratic.value or 0) > 0.95 and figures.pairs >= 100:
        yield "independent judges never agree this well; check whether the labels were copied"


def _on_scale(grades: Grades, highest: int) -> Grades:
    """Return the grades from 0 to ``highest``; higher ones count as it."""
    scaled = {
        query_id: {doc_id: min(grade, highest) for doc_id, grade in judged.items() if grade >= 0}
        for query_id, judged in grades.items()
    }
    return {query_id: judged for query_id, judged in scaled.items() if judged}


def _highest(grades: Grades) -> int:
    return max((grade for judged in grades.values() for grade in judged.values()), default=0)


def rank_runs(reference: Grades, judge: Grades, runs: Mapping[str, Run], *, measure: Measure) -> Ranking:
    """Return how alike two sets of labels order runs, over the queries that both sets grade.

    Args:
        reference: Grade by query and document.
        judge: The other set.
        runs: The runs by name.
        measure: The measure that orders them.

    Raises:
        InputError: The sets share no query, a run cannot be read, or no document reaches the measure's grade.
    """
    # A query whose grades are all negative is not judged.
    reference, judge = (_on_scale(grades, _highest(grades)) for grades in (reference, judge))
    shared = sorted(reference.keys() & judge.keys())
    if not shared:
        raise InputError(Message("{run}"), "the two sets of labels share no query; give labels of the same queries")
    means = []
    for name, grades in (("the reference", reference), ("the judge", judge)):
        gold = Gold(Path(name), {query_id: grades[query_id] for query_id in shared}, measure.rel)
        means.append({run: score_run(gold, runs[run], [measure]).mean(measure.name) for run in runs})
    by_reference, by_judge = means
    best_first = sorted(runs, key=lambda run: (-by_reference[run], run))
    return Ranking(
        measure=measure.name,
        queries=len(shared),
        systems=[
            RankedSystem(system=shown(run), reference=by_reference[run], judge=by_judge[run]) for run in best_first
        ],
        tau=_correlation([by_reference[run] for run in best_first], [by_judge[run] for run in best_first]),
    )


def _correlation(reference: list[float], judge: list[float]) -> Estimate:
    if len(reference) < FEWEST_SYSTEMS:
        few = f"{len(reference)} systems are too few to compare their order"
        return Estimate(reason=f"{few}; at least {FEWEST_SYSTEMS} are needed")
    value = float(tau_b_rows(np.array([reference]), np.array([judge]))[0])
    if np.isnan(value):
        return Estimate(reason="one of the two orders gives all systems the same score")
    return Estimate(value=value)
