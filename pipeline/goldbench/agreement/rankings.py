"""How alike two sets of labels order systems, beside how alike two sets of queries of the same sizes order them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from goldbench.errors import InputError, Message
from goldbench.formats.runs.judgments import Grades
from goldbench.formats.runs.score_tables import ScoreTable
from goldbench.measures.names import Measure
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import (
    Rows,
    order_interval,
    split_halves,
    tau_ap_rows,
    tau_b_rows,
    two_sets,
)
from goldbench.records.agreement_report import Estimate, RankedSystem, Ranking
from goldbench.score.runs import Gold, Run, score_run
from goldbench.text.display import shown

FEWEST_SYSTEMS = 3
"""A rank correlation needs at least this number of systems."""
TOP = 10
SPLITS = 200
"""Number of random halvings of the queries, and of pairs of sets for the ceiling."""
RESAMPLES = 1000
"""Number of resamples of the queries for the interval of a correlation."""
FEWEST_QUERIES = 4
LEVEL_SYSTEMS = "one of the two orders gives all systems the same score"


def rank_runs(reference: Grades, judge: Grades, runs: Mapping[str, Run], *, measure: Measure, seed: int = 0) -> Ranking:
    """Return how alike two sets of labels order runs, over the queries that both sets grade.

    Args:
        reference: Grade by query and document.
        judge: As in ``reference``, of the other set.
        runs: The runs by name.
        measure: The measure that orders them.
        seed: Seed of the halves, not negative.

    Raises:
        InputError: The sets share no query, a run cannot be read, or no document reaches the measure's grade.
    """
    shared = sorted(reference.keys() & judge.keys())
    if not shared:
        raise InputError(Message("{run}"), "the two sets of labels share no query; give labels of the same queries")
    sides = []
    for name, grades in (("the reference", reference), ("the judge", judge)):
        gold = Gold(Path(name), {query_id: grades[query_id] for query_id in shared}, measure.rel)
        results = [score_run(gold, run, [measure]) for run in runs.values()]
        sides.append(np.stack([np.asarray(r.values[measure.name], dtype=np.float64) for r in results], axis=1))
    counts = (len(shared), len(shared), len(shared))
    return ranking(list(runs), sides[0], sides[1], measure=measure.name, counts=counts, seed=seed)


def rank_scores(table: ScoreTable, first: str, second: str, *, measure: str, seed: int = 0) -> Ranking:
    """Return how alike two sets of labels order systems with given scores, each set over its own queries.

    Args:
        table: The scores.
        first: Name of the set of labels that is taken as right.
        second: Name of the other set.
        measure: One of ``table.measures``.

    Raises:
        InputError: The sets have fewer than two systems in common.
    """
    one, other = table.scores(first, measure), table.scores(second, measure)
    systems = sorted(one.keys() & other.keys())
    if len(systems) < 2:
        raise InputError(table.name, f"{first} and {second} have fewer than two systems in common")
    sides, queries = [], []
    for side in (one, other):
        common = sorted(set.intersection(*({*side[system]} for system in systems)))
        if not common:
            raise InputError(table.name, "the systems have no query in common")
        sides.append(np.array([[side[system][query_id] for system in systems] for query_id in common]))
        queries.append(set(common))
    shared = len(queries[0] & queries[1])
    counts = (len(queries[0]), len(queries[1]), shared) if table.has_queries else (0, 0, 0)
    paired = queries[0] == queries[1]
    return ranking(systems, sides[0], sides[1], measure=measure, counts=counts, seed=seed, own=True, paired=paired)


def ranking(
    systems: list[str],
    reference: Floats,
    judge: Floats,
    *,
    measure: str,
    counts: tuple[int, int, int],
    seed: int,
    own: bool = False,
    paired: bool = True,
) -> Ranking:
    """Return the correlation of two orders of systems.

    Args:
        systems: Names of the systems.
        reference: Scores under the labels taken as right, shape (queries, systems).
        judge: Scores under the other labels, shape (their queries, systems).
        measure: Name of the measure of the scores.
        counts: Numbers of queries of the reference, of the judge, and of both; 0 if only means were given.
        own: Whether each side has queries of its own.
        paired: Whether the queries of both sides are the same, in the same order.
    """
    means = reference.mean(axis=0), judge.mean(axis=0)
    best = sorted(range(len(systems)), key=lambda number: (-means[0][number], systems[number]))
    ceiling, ceiling_ap = _ceilings(reference if counts[0] else reference[:0], counts[:2], seed)
    top = best[:TOP]

    def correlation(rows: Rows, places: list[int]) -> Estimate:
        sides = reference[:, places], judge[:, places]
        return _correlation(*sides, rows, paired=paired, known=counts[0] > 0, seed=seed)

    return Ranking(
        measure=measure,
        systems=[
            RankedSystem(system=shown(systems[place]), reference=float(means[0][place]), judge=float(means[1][place]))
            for place in best
        ],
        queries_reference=counts[0],
        queries_judge=counts[1],
        queries_shared=counts[2],
        own_queries=own,
        tau=correlation(tau_b_rows, best),
        tau_ap=correlation(tau_ap_rows, best),
        top=TOP,
        tau_top=correlation(tau_b_rows, top)
        if len(systems) > TOP
        else Estimate(reason=f"there are no more than {TOP} systems"),
        ceiling=ceiling,
        ceiling_ap=ceiling_ap,
        splits=SPLITS,
    )


def _ceilings(scores: Floats, sizes: tuple[int, int], seed: int) -> tuple[Estimate, Estimate]:
    """Return tau and tau_AP of two sets of queries like the reference's, as large as the sets that are compared."""
    reason = _too_few(*scores.shape)
    if reason is not None:
        return Estimate(reason=reason), Estimate(reason=reason)
    one, other = two_sets(scores, sizes, draws=SPLITS, seed=seed)
    return _middle(tau_b_rows(one, other)), _middle(tau_ap_rows(one, other))


def halves(scores: Floats, *, seed: int) -> tuple[Estimate, Estimate, int]:
    """Return tau and tau_AP between disjoint draws of the queries (mean, middle 95 % of the splits), and their size.

    Args:
        scores: Shape (queries, systems); no query if only means are known.
    """
    queries, systems = scores.shape
    half = queries // 2
    reason = _too_few(queries if half > 1 else 1, systems)
    if reason is not None:
        return Estimate(reason=reason), Estimate(reason=reason), half
    one, other = split_halves(scores, size=half, splits=SPLITS, seed=seed)
    return _middle(tau_b_rows(one, other)), _middle(tau_ap_rows(one, other)), half


def _too_few(queries: int, systems: int) -> str | None:
    """Return why the queries cannot be compared with queries like them, or None if they can."""
    if queries == 0:
        return "only means over queries were given"
    if queries < FEWEST_QUERIES:
        return f"{queries} {'query is' if queries == 1 else 'queries are'} too few to compare with others like them"
    return _few(systems) if systems < FEWEST_SYSTEMS else None


def _few(systems: int) -> str:
    return f"{systems} systems are too few to compare their order; at least {FEWEST_SYSTEMS} are needed"


def _middle(values: Floats) -> Estimate:
    defined = np.sort(values[~np.isnan(values)])
    if len(defined) < len(values) / 2:
        return Estimate(reason="in most draws of queries all systems have the same score")
    cut = int(0.025 * len(defined))
    return Estimate(value=float(defined.mean()), low=float(defined[cut]), high=float(defined[len(defined) - 1 - cut]))


def _correlation(reference: Floats, judge: Floats, rows: Rows, *, paired: bool, known: bool, seed: int) -> Estimate:
    """Return a correlation with its interval over queries; ``known`` tells whether single queries are known."""
    if reference.shape[1] < FEWEST_SYSTEMS:
        return Estimate(reason=_few(reference.shape[1]))
    value = float(rows(reference.mean(axis=0)[None], judge.mean(axis=0)[None])[0])
    if np.isnan(value):
        return Estimate(reason=LEVEL_SYSTEMS)
    ends = order_interval(reference, judge, rows, paired=paired, resamples=RESAMPLES, seed=seed) if known else None
    low, high = ends or (None, None)
    return Estimate(value=value, low=low, high=high)
