"""The measures discounted cumulated gain (DCG), its ideal (IDCG), and their quotient nDCG.

The gain of a grade is the grade itself, or 2^grade - 1 with ``gain=exp`` (Burges et al. 2005); of a document that is
not judged, 0. The measures take no ``rel``: every grade above 0 gains.
Source: Järvelin and Kekäläinen 2002 with the discount of trec_eval ``ndcg_cut`` and ``ndcg``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from math import log2

from goldbench.measures.family import Family, Options, RankedQuery


def _discounted(ranked_grades: Iterable[tuple[int, int]], options: Options) -> float:
    """Return the sum of the gain of each grade over log2(rank + 1)."""
    if options.get("gain") == "exp":
        return sum((2.0**grade - 1) / log2(rank + 1) for rank, grade in ranked_grades if grade > 0)
    return sum(grade / log2(rank + 1) for rank, grade in ranked_grades if grade > 0)


def dcg(ranked: RankedQuery, k: int, _: int, options: Options) -> float:
    """Return the discounted cumulated gain of the first k documents.

    Formula: DCG@k = sum over ranks r <= k of gain(grade) / log2(r + 1).
    Range: 0 or more.
    Source: as above.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        options: Options of the measure.
    """
    cut = bisect_right(ranked.ranks, k)
    return _discounted(zip(ranked.ranks[:cut], ranked.grades, strict=False), options)


def ideal_dcg(ranked: RankedQuery, k: int, _: int, options: Options) -> float:
    """Return the DCG that the best order of the judged documents would have.

    Formula: DCG@k of the judged documents in the order of their grades. ``ideal=judged`` takes all judged documents of
    the query, cut at k. ``ideal=retrieved`` takes only those retrieved at any rank, cut at k (scikit-learn on the
    retrieved list, many RAG codes). ``ideal=uncut`` does not cut (LlamaIndex; ``-M k -m ndcg`` of trec_eval).
    Range: 0 or more.
    Source: as above.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        options: Options of the measure.
    """
    ideal = options.get("ideal")
    grades = sorted(ranked.grades, reverse=True) if ideal == "retrieved" else ranked.judged
    return _discounted(enumerate(grades if ideal == "uncut" else grades[:k], 1), options)


def ndcg(ranked: RankedQuery, k: int, rel: int, options: Options) -> float:
    """Return the discounted cumulated gain over its ideal.

    Formula: nDCG@k = DCG@k / IDCG@k, 0 where the ideal is 0; the options are those of both.
    Range: 0 to 1.
    Source: as above.

    Args:
        ranked: Judged documents of the query.
        k: Cutoff, from 1.
        rel: Smallest grade that counts as relevant.
        options: Options of the measure.
    """
    reached = dcg(ranked, k, rel, options)
    return reached / ideal_dcg(ranked, k, rel, options) if reached else 0.0


_GAINS = ("linear", "exp")
_IDEALS = ("judged", "retrieved", "uncut")
DCG = Family("dcg", (), None, "optional", dcg, {"gain": _GAINS}, has_rel=False)
IDEAL_DCG = Family(
    "idcg", ("idealdcg",), None, "optional", ideal_dcg, {"gain": _GAINS, "ideal": _IDEALS[:2]}, has_rel=False
)
NDCG = Family("ndcg", ("ndcgcut",), "nDCG", "optional", ndcg, {"gain": _GAINS, "ideal": _IDEALS}, has_rel=False)
