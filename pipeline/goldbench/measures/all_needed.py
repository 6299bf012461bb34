"""The measure all at k: whether every passage that a query needs is among the first k.

Other measures look at judgments alone, this one at the passages of a gold set that belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import nan

from goldbench.measures.family import UNCUT, Family, Options, Ranked
from goldbench.measures.ranks.judged_ranks import Placed


def all_needed(ranked: Ranked, k: int, rel: int, _: Options) -> float:
    """Return whether all relevant documents are among the first k, for judgments that hold the needed ones alone.

    Formula: 1 if every needed document, or a relevant near-duplicate of it, stands at a rank <= k, else 0.
    Range: 0 or 1; defined for queries that need two passages or more, and averaged over these alone.
    Source: the share of questions whose complete evidence is found, as multi-hop retrieval is measured (HotpotQA,
        MuSiQue).

    Args:
        ranked: The needed documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade of a needed document.
    """
    return 1.0 if ranked.hits(k, rel) == ranked.relevant(rel)[1] else 0.0


ALL_NEEDED = Family("all", ("allneeded", "allsupporting"), None, "required", all_needed, has_rel=False)


def values_at(
    k: int | None, query_ids: Sequence[str], needs: Mapping[str, Collection[object]], placed: Mapping[str, Placed]
) -> list[float]:
    """Return the value of each query, NaN for those that do not need several passages.

    Args:
        k: Cutoff, from 1, or None.
        query_ids: The queries.
        needs: The needed documents of each query that needs several, or what may stand in for each.
        placed: The ranks of these, for each query that the run has; the grade tells needed documents apart.
    """
    values = []
    for query_id in query_ids:
        best: dict[int, int] = {}
        place = placed.get(query_id, Placed(0, [], [], [], []))
        for rank, grade in zip(place.ranks, place.grades, strict=True):
            best.setdefault(grade, rank)  # ranks ascend
        needed = needs.get(query_id)
        ranked = Ranked(sorted(best.values()), [1] * len(best), place.retrieved, [1] * len(needed or ()))
        values.append(nan if needed is None else all_needed(ranked, k or UNCUT, 1, {}))
    return values
