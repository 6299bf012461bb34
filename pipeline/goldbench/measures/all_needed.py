"""The measure all at k: whether every passage that a query needs is among the first k.

Other measures look at judgments alone, this one at the passages of a gold set that belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import nan

from goldbench.measures.binary import ALL_NEEDED, all_needed
from goldbench.measures.family import UNCUT, RankedQuery
from goldbench.measures.names import Measure
from goldbench.measures.ranks.judged_ranks import JudgedColumns
from goldbench.measures.result import Result


def with_all_needed(
    result: Result,
    measures: Sequence[Measure],
    together: Mapping[str, Sequence[Collection[str]]],
    placed: Mapping[str, JudgedColumns],
) -> Result:
    """Return a result with the values of all@k, NaN for the queries that do not need several passages.

    Args:
        result: The values of the other measures.
        measures: All measures that are asked for, in order.
        together: The needed documents of each query that needs several, each with what may stand in for it.
        placed: The ranks of these, for each query that the run has; the grade tells needed documents apart.
    """
    values = dict(result.values)
    for measure in measures:
        if measure.family == ALL_NEEDED.name:
            values[measure.name] = [
                _value(measure.k or UNCUT, together.get(query_id), placed.get(query_id))
                for query_id in result.query_ids
            ]
    return replace(result, values={measure.name: values[measure.name] for measure in measures})


def _value(k: int, needed: Sequence[Collection[str]] | None, placed: JudgedColumns | None) -> float:
    if needed is None:
        return nan
    best: dict[int, int] = {}
    for rank, grade in zip(placed.ranks, placed.grades, strict=True) if placed else ():
        best.setdefault(grade, rank)  # ranks ascend
    ranked = RankedQuery(sorted(best.values()), [1] * len(best), placed.retrieved if placed else 0, [1] * len(needed))
    return all_needed(ranked, k, 1, {})
