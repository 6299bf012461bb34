"""The measure bpref."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def bpref(ranked: Ranked, _: int, rel: int, __: Options) -> float:
    """Return how seldom a document judged not relevant ranks above a relevant one; unjudged documents do not count.

    Formula: 1/R times the sum over retrieved relevant documents of 1 - min(n, R) / min(N, R), where n is the number of
    documents judged not relevant before it, N of all judged not relevant, R of all relevant; 0 where R is 0.
    Range: 0 to 1.
    Source: Buckley and Voorhees 2004 as corrected in trec_eval ``bpref``.
    """
    total = ranked.relevant(rel)[1]
    bound = min(len(ranked.judged) - total, total)
    value, before = 0.0, 0
    for grade in ranked.grades:
        if grade < rel:
            before += 1
        elif before:
            value += 1.0 - min(before, total) / bound
        else:
            value += 1.0
    return value / total if total else 0.0


BPREF = Family("bpref", ("binarypreference",), "Bpref", "none", bpref)
