"""How alike two sets of labels order systems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from goldbench.errors import InputError, Message
from goldbench.formats.runs.judgments import Grades
from goldbench.measures.names import Measure
from goldbench.measures.statistics.rank_correlation import tau_b_rows
from goldbench.records.agreement_report import Estimate, RankedSystem, Ranking
from goldbench.score.runs import Gold, Run, score_run
from goldbench.text.display import shown

FEWEST_SYSTEMS = 3
"""A rank correlation needs at least this number of systems."""


def rank_runs(reference: Grades, judge: Grades, runs: Mapping[str, Run], *, measure: Measure) -> Ranking:
    """Return how alike two sets of labels order runs, over the queries that both sets grade.

    Args:
        reference: Grade by query and document.
        judge: As in ``reference``, of the other set.
        runs: The runs by name.
        measure: The measure that orders them.

    Raises:
        InputError: The sets share no query, a run cannot be read, or no document reaches the measure's grade.
    """
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
