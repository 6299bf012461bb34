"""From ranks to figures: the value of every measure for every query, and how the run met the judgments."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal

from pipeline.errors import InputError
from pipeline.measures.families import FAMILIES
from pipeline.measures.family import UNCUT, Kernel, Ranked
from pipeline.measures.names import Measure
from pipeline.measures.ranks.judged_ranks import Hit, Placed, Qrels
from pipeline.measures.result import Counts, Result

Missing = Literal["zero", "skip", "error"]
"""What a judged query that the run lacks counts: 0, nothing, or the end."""

_NOTHING = Placed(0, [])


def assess(
    qrels: Qrels,
    placed: Mapping[str, Placed],
    measures: Sequence[Measure],
    *,
    extra: int,
    missing: Missing,
    names: tuple[str, str] = ("qrels", "run"),
) -> Result:
    """Return the scores of one run.

    Args:
        qrels: the judgments.
        placed: the ranks of the judged documents, for each judged query that the run has.
        measures: what to measure.
        extra: how many queries of the run are not judged.
        missing: what a judged query that the run lacks counts.
        names: how the judgments and the run are called in messages.

    Raises:
        InputError: no judgment is positive, the run has no judged query, or lacks one and may not.
    """
    level = min((m.rel for m in measures), default=1)
    if not any(grade >= level for judged in qrels.values() for grade in judged.values()):
        raise InputError(names[0], f"holds no judgment of grade {level} or more: every figure would be 0")
    if not placed:
        raise InputError(names[1], f"holds no query of the judgments ({names[0]}): the query ids differ")
    absent = sorted(qrels.keys() - placed.keys())
    if absent and missing == "error":
        more = f" and {len(absent) - 1:,} more" if len(absent) > 1 else ""
        raise InputError(names[1], f"lacks the judged query {absent[0]!r}{more}; --missing zero or skip goes on")
    query_ids = sorted(placed if missing == "skip" else qrels)
    return _values(qrels, placed, query_ids, measures, Counting(level, len(absent), extra))


class Counting:
    """Counts what a reader must know beside the figures."""

    def __init__(self, level: int, missing: int, extra: int) -> None:
        self.level, self.missing, self.extra = level, missing, extra
        self.no_relevant = self.tied = self.holes = 0

    def counts(self, queries: int) -> Counts:
        """Return what was counted."""
        return Counts(queries, self.missing, self.extra, self.no_relevant, self.tied, self.holes)


def _values(
    qrels: Qrels,
    placed: Mapping[str, Placed],
    query_ids: Sequence[str],
    measures: Sequence[Measure],
    counting: Counting,
) -> Result:
    kernels = [measure.kernel() for measure in measures]
    deepest = max(_depth(measure) for measure in measures)
    known: dict[tuple[object, ...], tuple[list[float], bool, bool]] = {}  # many queries look alike to every measure
    rows = []
    for query_id in query_ids:
        judged = sorted(qrels[query_id].values(), reverse=True)
        while judged and judged[-1] < 0:
            judged.pop()
        counting.no_relevant += not judged or judged[0] < counting.level
        at = placed.get(query_id, _NOTHING)
        key = (at.retrieved, tuple(at.hits), *judged)
        seen = known.get(key)
        if seen is None:
            seen = known[key] = _one_query(at, judged, kernels, deepest)
        row, hole, tied = seen
        rows.append(row)
        counting.holes += hole
        counting.tied += tied
    columns = map(list, zip(*rows, strict=True))
    values = {measure.name: column for measure, column in zip(measures, columns, strict=True)}
    strange = not any(one.hits for one in placed.values())
    return Result(query_ids, values, counting.counts(len(query_ids)), strange)


def _one_query(
    at: Placed, judged: list[int], kernels: Sequence[Kernel], deepest: int
) -> tuple[list[float], bool, bool]:
    """Return the values of a query, whether an unjudged document stands above ``deepest``, whether ties matter."""
    ranked = Ranked([hit.rank for hit in at.hits], [hit.grade for hit in at.hits], at.retrieved, judged)
    hole = bisect_right(ranked.ranks, deepest) < min(deepest, at.retrieved)
    ties = any(hit.equal > 1 and hit.above < deepest for hit in at.hits)
    return [kernel(ranked) for kernel in kernels], hole, ties and _depends_on_ties(at.hits, ranked, kernels)


def _depth(measure: Measure) -> int:
    """Return the rank below which nothing changes the value."""
    return measure.k if measure.k is not None and FAMILIES[measure.family].cutoff != "none" else UNCUT


def _depends_on_ties(hits: Sequence[Hit], ranked: Ranked, kernels: Sequence[Kernel]) -> bool:
    """Return whether a value would be another if equal scores stood in the best order, or in the worst."""
    best, worst = (
        Ranked(*_reordered(hits, best_first=best_first), ranked.retrieved, ranked.judged)
        for best_first in (True, False)
    )
    return any(kernel(best) != kernel(worst) for kernel in kernels)


def _reordered(hits: Sequence[Hit], *, best_first: bool) -> tuple[list[int], list[int]]:
    """Return ranks and grades with equal scores in the best order (by grade, the unjudged last) or in the worst."""
    ranks: list[int] = []
    grades: list[int] = []
    for above, group in groupby(hits, key=lambda hit: hit.above):
        tied = list(group)
        first = above + 1 if best_first else above + tied[0].equal - len(tied) + 1
        ranks += range(first, first + len(tied))
        grades += sorted((hit.grade for hit in tied), reverse=best_first)
    return ranks, grades
