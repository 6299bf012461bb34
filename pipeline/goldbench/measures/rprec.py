"""The measure R-precision."""

from __future__ import annotations

from goldbench.measures.family import Family, Options, Ranked


def r_precision(ranked: Ranked, _: int, rel: int, __: Options) -> float:
    """Return the precision at R, the number of relevant documents of the query.

    Formula: |relevant in the first R| / R, 0 where R is 0.
    Range: 0 to 1.
    Source: trec_eval ``Rprec``.
    """
    total = ranked.relevant(rel)[1]
    return ranked.hits(total, rel) / total if total else 0.0


R_PRECISION = Family("rprec", ("rprecision",), "Rprec", "none", r_precision)
