"""The measure all at k: whether every passage that a query needs is among the first k."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import nan

from goldbench.measures.family import Family, Options, Ranked
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
    k: int, query_ids: Sequence[str], needs: Mapping[str, Collection[object]], placed: Mapping[str, Placed]
) -> list[float]:
    """Return the value of each query, NaN for those that do not need several passages.

    Args:
        k: Cutoff, from 1.
        query_ids: The queries.
        needs: The needed documents of each query that needs several, or what may stand in for each.
        placed: The ranks of these, for each query that the run has; the grade tells needed documents apart.
    """
    return [_value(k, needs[query_id], placed.get(query_id)) if query_id in needs else nan for query_id in query_ids]


def _value(k: int, needed: Collection[object], placed: Placed | None) -> float:
    best: dict[int, int] = {}
    for rank, grade in zip(placed.ranks, placed.grades, strict=True) if placed else ():
        best.setdefault(grade, rank)  # ranks ascend
    ranks = sorted(best.values())
    ranked = Ranked(ranks, [1] * len(ranks), placed.retrieved if placed else 0, [1] * len(needed))
    return all_needed(ranked, k, 1, {})
