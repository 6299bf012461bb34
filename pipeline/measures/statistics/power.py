"""What a set of queries can tell apart: significantly different pairs of systems, and the smallest difference shown."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pipeline.measures.statistics.floats import ROUNDING, Floats
from pipeline.measures.statistics.randomization import sign_flip_p
from pipeline.measures.statistics.significance import detectable_difference, holm

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Power:
    """Numbers of pairs of systems, and how many of them the queries separate.

    ``separated`` of ``pairs`` differ after Holm, ``unadjusted`` before it; ``p_values`` are sorted, ``deviation`` is
    the median standard deviation of per-query differences, ``detectable`` the difference found with probability 0.8.
    """

    pairs: int
    separated: int
    unadjusted: int
    p_values: tuple[float, ...]
    deviation: float
    detectable: float


def power(scores: Floats, *, permutations: int = 10_000, seed: int = 0) -> Power:
    """Return which of these systems the queries tell apart.

    Args:
        scores: Shape (queries, systems), finite; at least 2 of each.
        permutations: Number of draws of the paired sign-flip test.
        seed: Not negative.

    Source: Sakai, Evaluating evaluation metrics based on the bootstrap (SIGIR 2006), for the curve of achieved
        significance levels.
    """
    pairs = list(combinations(range(scores.shape[1]), 2))
    p = sign_flip_p(scores[:, :, None], pairs, permutations=permutations, seed=seed)[:, 0].tolist()
    deviations = [float((scores[:, a] - scores[:, b]).std(ddof=1)) for a, b in pairs]
    deviation = float(np.median(deviations))
    deviation = deviation if deviation > ROUNDING else 0.0
    return Power(
        pairs=len(pairs),
        separated=sum(value <= ALPHA for value in holm(p)),
        unadjusted=sum(value <= ALPHA for value in p),
        p_values=tuple(sorted(p)),
        deviation=deviation,
        detectable=detectable_difference(deviation, len(scores), alpha=ALPHA),
    )
