"""The scorecard of several systems: means with intervals, comparisons of all pairs, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, fsum

import numpy as np

from goldbench.measures.result import Result
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import Intervals, bootstrap_intervals, score_of
from goldbench.measures.statistics.significance import compare
from goldbench.records.scorecard import Comparison, GoldReference, Method, RunCounts, Scorecard, SystemScores

JUDGED_GAP = 0.05
"""Warn if the judged shares of two systems' top results differ by more than this (0.05 = 5 %)."""

HOLE_RATE = 0.1
"""Warn if more than this share of the top results is unjudged (0.1 = 10 %)."""


@dataclass(frozen=True, slots=True)
class AlignedScores:
    """Scores of several systems on the queries that all of them have: shape (queries, systems, measures).

    ``undefined`` counts the queries left out because a measure is not defined for them.
    """

    query_ids: Sequence[str]
    scores: Floats
    undefined: int = 0


def aligned(results: Mapping[str, Result], measures: Sequence[str]) -> AlignedScores:
    """Return the scores of the queries that every result has and every measure is defined for, by code points."""
    common = set.intersection(*(set(result.query_ids) for result in results.values()))
    query_ids = sorted(common)
    scores = np.empty((len(query_ids), len(results), len(measures)))
    for column, result in enumerate(results.values()):
        positions = [position for position, query_id in enumerate(result.query_ids) if query_id in common]
        order = sorted(positions, key=result.query_ids.__getitem__)
        for depth, measure in enumerate(measures):
            scores[:, column, depth] = np.asarray(result.values[measure], dtype=np.float64)[order]
    known = ~np.isnan(scores).any(axis=(1, 2))
    if known.all():
        return AlignedScores(query_ids, scores)
    defined = [query_ids[row] for row in np.flatnonzero(known)]
    return AlignedScores(defined, scores[known], len(query_ids) - len(defined))


def scorecard(
    results: Mapping[str, Result],
    measures: Sequence[str],
    *,
    judged: str,
    gold: GoldReference,
    method: Method,
    goldbench: str,
    tested: Sequence[str] | None = None,
    baseline: str | None = None,
) -> Scorecard:
    """Return the scorecard, the best system by the first measure first.

    Args:
        results: Results by system, with values of ``measures`` and ``judged``.
        measures: Canonical names; the first one ranks.
        judged: Name of the measure of the share of top results that is judged, such as ``judged@10``.
        gold: The judgments.
        method: How intervals and tests are computed.
        goldbench: Version of goldbench.
        tested: The measures that systems are compared by; None for all, empty for no comparison.
        baseline: The system that every other is compared with; None compares all pairs.

    Raises:
        ValueError: The results share no query.
    """
    ranked = dict(sorted(results.items(), key=lambda item: (-item[1].mean(measures[0]), item[0])))
    names = list(ranked)
    both = aligned(ranked, measures)
    if not both.query_ids:
        raise ValueError("the runs share no query")
    ends, comparisons = _intervals(
        both.scores, names, measures, method, measures if tested is None else tested, baseline
    )
    systems = systems_of(ranked, measures, judged=judged, means=_means(both.scores), ends=ends)
    return Scorecard(
        goldbench=goldbench,
        gold=gold,
        measures=list(measures),
        systems=systems,
        comparisons=list(comparisons),
        warnings=[
            *_undefined(both, measures),
            *_too_few_draws(len(comparisons), method),
            *warnings(systems, judged, shared=len(both.query_ids) + both.undefined),
        ],
        method=method,
    )


def _undefined(both: AlignedScores, measures: Sequence[str]) -> Iterator[str]:
    """Yield a line if queries are left out because a measure is not defined for them."""
    if both.undefined:
        partial = ", ".join(measure for measure in measures if measure.startswith("all@"))
        count = len(both.query_ids)
        yield f"{partial} is defined for {count:,} of {count + both.undefined:,} queries; every figure is over these"


def _too_few_draws(comparisons: int, method: Method) -> Iterator[str]:
    """Yield a line if no comparison can be significant, because the smallest p-value of the draws is too large."""
    needed = ceil(comparisons / method.alpha) - 1
    if method.permutations < needed:
        yield (
            f"{method.permutations:,} permutations can separate none of {comparisons:,} comparisons after Holm: "
            f"compare fewer runs or measures, or use {needed:,} permutations"
        )


def _means(scores: Floats) -> Floats:
    """Return the means that `Result.mean` gives, to the last digit."""
    return np.array([[fsum(values) / len(scores) for values in system] for system in scores.transpose(1, 2, 0)])


def systems_of(
    ranked: Mapping[str, Result], measures: Sequence[str], *, judged: str, means: Floats, ends: Intervals | None
) -> list[SystemScores]:
    """Return the scores of every system, in the order of ``ranked``.

    Args:
        ranked: Results by system.
        measures: Canonical names.
        means: Means, shape (systems, measures).
        ends: Intervals of the means, or None without any.
    """
    return [
        SystemScores(
            system=name,
            scores={
                measure: score_of(float(means[row, column]), ends, row, column)
                for column, measure in enumerate(measures)
            },
            judged={judged: result.mean(judged)},
            counts=RunCounts(**asdict(result.counts)),
        )
        for row, (name, result) in enumerate(ranked.items())
    ]


def _intervals(
    scores: Floats,
    names: Sequence[str],
    measures: Sequence[str],
    method: Method,
    tested: Sequence[str],
    baseline: str | None,
) -> tuple[Intervals | None, Sequence[Comparison]]:
    """Return the intervals, or None for fewer than 2 queries, and the comparisons."""
    if len(scores) < 2:
        return None, []
    if len(names) == 1 or not tested or baseline not in {None, *names}:
        resamples = method.resamples
        seed = method.seed
        confidence = method.confidence
        return bootstrap_intervals(scores, [], resamples=resamples, seed=seed, confidence=confidence), []
    comparisons, ends = compare(scores, names, measures, method, tested=tested, baseline=baseline)
    return ends, comparisons


def warnings(systems: Sequence[SystemScores], judged: str, *, shared: int) -> Iterator[str]:
    """Yield one line for each reason not to take the scores at face value.

    Args:
        systems: The systems with their scores.
        shared: Number of queries that all systems have.
    """
    if shared < 2:
        yield "one query is too few for intervals and comparisons"
    for system in systems:
        counts = system.counts
        if counts.missing:
            yield f"{system.system}: judged queries missing from the run: {counts.missing:,}"
        if counts.tied:
            yield f"{system.system}: queries whose value depends on the order of equal scores: {counts.tied:,}"
        if shared < counts.queries:
            yield f"{system.system}: queries left out because not every run has them: {counts.queries - shared:,}"
    less, more = (end(systems, key=lambda system: (system.judged[judged], system.system)) for end in (min, max))
    if more.judged[judged] - less.judged[judged] > JUDGED_GAP and less.counts.holes:
        yield (
            f"{judged} is {less.judged[judged]:.2f} for {less.system} and {more.judged[judged]:.2f} for {more.system}: "
            f"unjudged results count as not relevant, so {less.system} may be better than it looks"
        )
    holes = [1 - system.judged[judged] if system.counts.holes else 0.0 for system in systems]
    if max(holes) > HOLE_RATE:
        yield f"{judged}: {_span(holes)} of the top results are unjudged and count as not relevant"


def _span(shares: Sequence[float]) -> str:
    low = f"{min(shares):.0%}"
    high = f"{max(shares):.0%}"
    return low if low == high else f"{low} to {high}"
