"""Judged: how far the first k documents were judged at all; what the other measures stand on.

Formula: |judged among the first k| / min(k, retrieved), 0 where nothing was retrieved. Range: 0 to 1.
Source: ir_measures ``Judged``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from pipeline.measures.family import Family, Kernel, Ranked


def _kernel(k: int, _: int, __: Mapping[str, str]) -> Kernel:
    def judged(ranked: Ranked) -> float:
        size = min(k, ranked.retrieved)
        return bisect_right(ranked.ranks, k) / size if size else 0.0

    return judged


JUDGED = Family("judged", ("judgedrate", "judgmentrate"), "Judged", "optional", _kernel, has_rel=False)
