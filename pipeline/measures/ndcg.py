"""Discounted cumulated gain, its ideal, and their quotient nDCG.

Formulas: DCG@k = sum over ranks r <= k of gain(grade) / log2(r + 1); IDCG@k the same for the judged documents in the
order of their grades; nDCG@k = DCG@k / IDCG@k, 0 where the ideal is 0. The gain of a grade is the grade itself, or
2^grade - 1 with ``gain=exp`` (Burges et al. 2005); of a document that is not judged, 0. The measures take no ``rel``:
every grade above 0 gains. Ranges: DCG 0 or more, nDCG 0 to 1.

``ideal=judged`` takes all judged documents of the query, cut at k. ``ideal=retrieved`` takes only those retrieved at
any rank, cut at k (scikit-learn on the retrieved list, many RAG codes). ``ideal=uncut`` does not cut (LlamaIndex;
``-M k -m ndcg`` of trec_eval).
Source: Järvelin and Kekäläinen 2002 with the discount of trec_eval ``ndcg_cut`` and ``ndcg``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from math import log2

from pipeline.measures.family import UNCUT, Family, Kernel, Ranked


@cache
def _discount(rank: int) -> float:
    return log2(rank + 1)


def _gain_of(options: Mapping[str, str]) -> str:
    return options.get("gain", "linear")


def _dcg(ranks: Sequence[int], grades: Sequence[int], k: int, gain: str) -> float:
    total = 0.0
    for rank, grade in zip(ranks, grades, strict=True):
        if rank > k:
            break
        if grade > 0:
            total += (grade if gain == "linear" else 2.0**grade - 1) / log2(rank + 1)
    return total


def _ideal(grades: Sequence[int], k: int, gain: str) -> float:
    """Return the DCG of ``grades``, which descend."""
    total = 0.0
    for rank, grade in enumerate(islice(grades, min(k, len(grades))), 1):
        if grade <= 0:
            break
        total += (grade if gain == "linear" else 2.0**grade - 1) / _discount(rank)
    return total


def _ideal_of(ranked: Ranked, k: int, options: Mapping[str, str], gain: str) -> float:
    kind = options.get("ideal", "judged")
    grades = sorted(ranked.grades, reverse=True) if kind == "retrieved" else ranked.judged
    return _ideal(grades, UNCUT if kind == "uncut" else k, gain)


def _dcg_kernel(k: int, _: int, options: Mapping[str, str]) -> Kernel:
    gain = _gain_of(options)
    return lambda ranked: _dcg(ranked.ranks, ranked.grades, k, gain)


def _ideal_kernel(k: int, _: int, options: Mapping[str, str]) -> Kernel:
    gain = _gain_of(options)
    return lambda ranked: _ideal_of(ranked, k, options, gain)


def _ndcg_kernel(k: int, _: int, options: Mapping[str, str]) -> Kernel:
    gain = _gain_of(options)

    def ndcg(ranked: Ranked) -> float:
        reached = _dcg(ranked.ranks, ranked.grades, k, gain)
        return reached / _ideal_of(ranked, k, options, gain) if reached else 0.0

    return ndcg


_GAINS = ("linear", "exp")
_IDEALS = ("judged", "retrieved", "uncut")
DCG = Family("dcg", (), None, "optional", _dcg_kernel, {"gain": _GAINS}, has_rel=False)
IDEAL_DCG = Family(
    "idcg", ("idealdcg",), None, "optional", _ideal_kernel, {"gain": _GAINS, "ideal": _IDEALS[:2]}, has_rel=False
)
NDCG = Family("ndcg", ("ndcgcut",), "nDCG", "optional", _ndcg_kernel, {"gain": _GAINS, "ideal": _IDEALS}, has_rel=False)
