"""all@k of a gold set: other measures look at judgments alone, this one at the passages that belong together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from goldbench.errors import InputError
from goldbench.measures.all_needed import ALL_NEEDED, values_at
from goldbench.measures.names import Measure
from goldbench.measures.ranks.judged_ranks import Placed, Qrels
from goldbench.measures.result import Result


def with_all_needed(
    needs: Callable[[], Mapping[str, Sequence[Collection[str]]]],
    where: Path,
    measures: Sequence[Measure],
    assessed: Callable[[Sequence[Measure]], Result],
    place: Callable[[Qrels], Mapping[str, Placed]],
) -> Result:
    """Return the result of some measures, all@k among them or not.

    Args:
        needs: Returns the passages that belong together, by query, each with those that may stand in for it.
        where: The gold set in messages.
        measures: The measures, at least 1.
        assessed: Returns the result of measures that look at judgments alone.
        place: Returns the ranks of the documents in other judgments.

    Raises:
        InputError: all@k is asked for, and no query that is scored needs several passages.
    """
    needing = [measure for measure in measures if measure.family == ALL_NEEDED.name]
    if not needing:
        return assessed(measures)
    others = [measure for measure in measures if measure not in needing]
    result = assessed(others or [Measure("hit", needing[0].k)])  # of the latter only counts are kept
    together = needs()
    if not together.keys() & set(result.query_ids):
        problem = f"{needing[0]}: no query that is scored needs several passages; name another measure"
        raise InputError(where, problem)
    numbered = {
        query_id: {doc_id: number for number, group in enumerate(groups, 1) for doc_id in group}
        for query_id, groups in together.items()
    }
    placed = place(numbered)  # the grade of a hit tells which of the needed passages it is
    own = {measure.name: values_at(measure.k, result.query_ids, together, placed) for measure in needing}
    values = {**result.values, **own}
    return replace(result, values={measure.name: values[measure.name] for measure in measures})
