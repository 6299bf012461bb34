"""R-precision: the precision at R, the number of relevant documents of the query.

Formula: |relevant in the first R| / R, 0 where R is 0. Range: 0 to 1.
Source: trec_eval ``Rprec``.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(_: int, rel: int, __: Mapping[str, str]) -> Kernel:
    def r_precision(ranked: Ranked) -> float:
        total = ranked.relevant(rel)[1]
        return ranked.hits(total, rel) / total if total else 0.0

    return r_precision


R_PRECISION = Family("rprec", ("rprecision",), "Rprec", "none", _kernel)
