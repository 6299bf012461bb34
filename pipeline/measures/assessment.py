"""The value of every measure for every query, and counts of how the run met the judgments."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Literal

from goldbench.pipeline.errors import InputError, UsageError
from goldbench.pipeline.measures.all_needed import ALL_NEEDED
from goldbench.pipeline.measures.family import UNCUT, Ranked
from goldbench.pipeline.measures.names import FAMILIES, Measure
from goldbench.pipeline.measures.ranks.judged_ranks import Hit, Placed, Qrels
from goldbench.pipeline.measures.result import Counts, Result

Missing = Literal["zero", "skip", "error"]
"""A judged query that the run lacks counts 0, is left out of the mean, or is an error."""

Kernel = Callable[[Ranked], float]

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
    level = min((m.rel for m in measures), default=1)
    if not any(grade >= level for judged in qrels.values() for grade in judged.values()):
        raise InputError(names[0], f"holds no judgment of grade {level} or more, so every measure would be 0")
    if not placed and not extra:
        raise InputError(names[1], "holds no results")
    if not placed:
        raise InputError(names[1], f"has none of the query ids of the judgments ({names[0]}); use the same ids in both")
    absent = sorted(qrels.keys() - placed.keys())
    if absent and missing == "error":
        more = f" and {len(absent) - 1:,} more" if len(absent) > 1 else ""
        raise InputError(
            names[1], f"lacks the judged query {absent[0]!r}{more}; add it, or use --missing zero or --missing skip"
        )
    query_ids = sorted(placed if missing == "skip" else qrels)
    kernels = [measure.kernel() for measure in measures]
    deepest = max(_depth(measure) for measure in measures)
    known: dict[tuple[object, ...], tuple[list[float], bool, bool]] = {}  # many queries look alike to every measure
    rows = []
    no_relevant = tied = holes = 0
    for query_id in query_ids:
        judged = sorted(qrels[query_id].values(), reverse=True)
        while judged and judged[-1] < 0:
            judged.pop()
        no_relevant += not judged or judged[0] < level
        at = placed.get(query_id, _NOTHING)
        key = (at.retrieved, tuple(at.hits), *judged)
        seen = known.get(key)
        if seen is None:
            seen = known[key] = _one_query(at, judged, kernels, deepest)
        row, hole, depends = seen
        rows.append(row)
        holes += hole
        tied += depends
    columns = map(list, zip(*rows, strict=True))
    values = {measure.name: column for measure, column in zip(measures, columns, strict=True)}
    counts = Counts(len(query_ids), len(absent), extra, no_relevant, tied, holes)
    empty = sum(not one.retrieved for one in placed.values())
    strange = empty < len(placed) and not any(one.hits for one in placed.values())
    return Result(query_ids, values, counts, strange=strange, empty=empty)


def _one_query(
    at: Placed, judged: list[int], kernels: Sequence[Kernel], deepest: int
) -> tuple[list[float], bool, bool]:
    """Return the values of a query, whether an unjudged document ranks above ``deepest``, and whether ties matter."""
    ranked = Ranked([hit.rank for hit in at.hits], [hit.grade for hit in at.hits], at.retrieved, judged)
    hole = bisect_right(ranked.ranks, deepest) < min(deepest, at.retrieved)
    ties = any(hit.equal > 1 and hit.above < deepest for hit in at.hits)
    return [kernel(ranked) for kernel in kernels], hole, ties and _depends_on_ties(at.hits, ranked, kernels, deepest)


def _depth(measure: Measure) -> int:
    """Return the rank below which nothing changes the value."""
    return measure.k if measure.k is not None and FAMILIES[measure.family].cutoff != "none" else UNCUT


def _depends_on_ties(hits: Sequence[Hit], ranked: Ranked, kernels: Sequence[Kernel], deepest: int) -> bool:
    """Return whether a value differs between the best and the worst order of equal scores above ``deepest``."""
    end = bisect_left(hits, deepest, key=attrgetter("above"))
    best, worst = (
        Ranked(ranks + ranked.ranks[end:], grades + ranked.grades[end:], ranked.retrieved, ranked.judged)
        for ranks, grades in (_reordered(hits[:end], best_first=best_first) for best_first in (True, False))
    )
    return any(kernel(best) != kernel(worst) for kernel in kernels)


def _reordered(hits: Sequence[Hit], *, best_first: bool) -> tuple[list[int], list[int]]:
    """Return ranks and grades with equal scores in the best order (by grade, unjudged last) or in the worst."""
    ranks: list[int] = []
    grades: list[int] = []
    for above, group in groupby(hits, key=attrgetter("above")):
        tied = list(group)
        first = above + 1 if best_first else above + tied[0].equal - len(tied) + 1
        ranks += range(first, first + len(tied))
        grades += sorted((hit.grade for hit in tied), reverse=best_first) if len(tied) > 1 else [tied[0].grade]
    return ranks, grades
