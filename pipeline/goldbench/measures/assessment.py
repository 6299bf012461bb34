"""The value of every measure for every query, and counts of how the run met the judgments."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from goldbench.errors import InputError, Message, UsageError
from goldbench.measures.binary import ALL_NEEDED
from goldbench.measures.family import UNCUT, RankedQuery
from goldbench.measures.names import FAMILIES, Measure
from goldbench.measures.ranks.judged_ranks import JudgedColumns, Qrels
from goldbench.measures.result import Counts, Result

Missing = Literal["zero", "skip", "error"]
"""A judged query that the run lacks counts 0, is left out of the mean, or is an error."""

Kernel = Callable[[RankedQuery], float]

TOP = 10
"""Results of a query among which those without a judgment are counted, whatever the measures."""

_NOTHING = JudgedColumns(0, [], [], [], [])


def assess(
    qrels: Qrels,
    placed: Mapping[str, JudgedColumns],
    measures: Sequence[Measure],
    *,
    extra: int,
    missing: Missing,
    names: tuple[str, str] = ("qrels", "run"),
) -> Result:
    """Return the scores of one run.

    Args:
        qrels: The judgments.
        placed: The ranks of the judged documents, for each judged query that the run has, with results or without.
        measures: The measures to compute, at least 1.
        extra: Number of queries in the run that are not judged.
        missing: What a judged query that the run lacks counts.
        names: Names of the judgments and of the run in messages.

    Raises:
        UsageError: A measure is all@k, which judgments do not tell.
        InputError: No judgment is relevant, the run has no judged query, or it lacks one although ``missing`` is
            ``error``.
    """
    needing = next((measure for measure in measures if measure.family == ALL_NEEDED.name), None)
    if needing is not None:
        raise UsageError(f"{needing}: needs the passages that belong together; score a run on the folder of a gold set")
    level = min((m.rel for m in measures if m.family != "judged"), default=1)
    if not any(grade >= level for judged in qrels.values() for grade in judged.values()):
        raise InputError(names[0], f"holds no judgment of grade {level} or more, so every measure would be 0")
    if not placed and not extra:
        raise InputError(names[1], "holds no results; give a run with at least one result")
    if not placed:
        raise InputError(names[1], f"has none of the query ids of the judgments ({names[0]}); use the same ids in both")
    absent = sorted(qrels.keys() - placed.keys())
    if absent and missing == "error":
        more = f" and {len(absent) - 1:,} more" if len(absent) > 1 else ""
        lacks = f"lacks the judged query {absent[0]!r}{more}"
        raise InputError(names[1], Message("{}; add it, or use {missing='zero'} or {missing='skip'}", lacks))
    query_ids = sorted(placed if missing == "skip" else qrels)
    kernels = [measure.kernel() for measure in measures]
    deepest = max(_depth(measure) for measure in measures)
    rows = []
    no_relevant = tied = holes = top = unjudged = 0
    for query_id in query_ids:
        judged = sorted((grade for grade in qrels[query_id].values() if grade >= 0), reverse=True)
        no_relevant += not judged or judged[0] < level
        place = placed.get(query_id, _NOTHING)
        ranked = RankedQuery(place.ranks, place.grades, place.retrieved, judged)
        first = min(TOP, place.retrieved)
        top += first
        unjudged += first - bisect_right(place.ranks, TOP)
        holes += bisect_right(place.ranks, deepest) < min(deepest, place.retrieved)
        tied += _depends_on_ties(place, ranked, kernels, deepest)
        rows.append([kernel(ranked) for kernel in kernels])
    columns = map(list, zip(*rows, strict=True))
    values = {measure.name: column for measure, column in zip(measures, columns, strict=True)}
    counts = Counts(len(query_ids), len(absent), extra, no_relevant, tied, holes)
    empty = sum(not place.retrieved for place in placed.values())
    strange = empty < len(placed) and not any(place.ranks for place in placed.values())
    return Result(query_ids, values, counts, strange=strange, empty=empty, top=top, unjudged=unjudged)


def _depth(measure: Measure) -> int:
    """Return the rank below which nothing changes the value."""
    return measure.k if measure.k is not None and FAMILIES[measure.family].cutoff != "none" else UNCUT


def _depends_on_ties(placed: JudgedColumns, ranked: RankedQuery, kernels: Sequence[Kernel], deepest: int) -> bool:
    """Return whether a value differs between the best and the worst order of equal scores above ``deepest``."""
    end = bisect_left(placed.above, deepest)
    if max(placed.equal[:end], default=1) == 1:
        return False
    best, worst = (
        RankedQuery(*_reordered(placed, end, best_first=best_first), ranked.retrieved, ranked.judged)
        for best_first in (True, False)
    )
    return any(kernel(best) != kernel(worst) for kernel in kernels)


def _reordered(placed: JudgedColumns, end: int, *, best_first: bool) -> tuple[list[int], list[int]]:
    """Return ranks and grades with the equal scores of the first documents in the best or the worst order.

    Args:
        placed: The judged documents.
        end: How many of them are reordered.
        best_first: Whether equal scores stand by grade, unjudged last; or the other way round.
    """
    ranks = placed.ranks.copy()
    grades = placed.grades.copy()
    start = 0
    while start < end:
        above = placed.above[start]
        stop = bisect_right(placed.above, above, start)
        first = above + 1 if best_first else above + placed.equal[start] - (stop - start) + 1
        ranks[start:stop] = range(first, first + stop - start)
        grades[start:stop] = sorted(grades[start:stop], reverse=best_first)
        start = stop
    return ranks, grades
