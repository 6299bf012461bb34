"""Figures of counts and their shares: the interval of a share, unevenness, the distance of two histograms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import log2, sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np

T = TypeVar("T", bound=Hashable)


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of the share of successes in independent trials (above 0).

    Source: Wilson, Probable inference, the law of succession, and statistical inference (JASA, 1927).
    """
    z = NormalDist().inv_cdf(0.975)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    width = 1 + z * z / trials
    low = 0.0 if successes == 0 else (centre - reach) / width
    high = 1.0 if successes == trials else (centre + reach) / width
    return low, high


def gini(counts: Sequence[float]) -> float | None:
    """Return Gini's coefficient of counts, 0 if all are equal, near 1 if one has everything; None if all are 0.

    Source: Gini, Variabilità e mutabilità (1912), as half the relative mean absolute difference.
    """
    ordered = sorted(counts)
    total = sum(ordered)
    if not total:
        return None
    weighted = sum(rank * count for rank, count in enumerate(ordered, start=1))
    return 2 * weighted / (len(ordered) * total) - (len(ordered) + 1) / len(ordered)


def jensen_shannon(one: Mapping[T, float], other: Mapping[T, float]) -> float:
    """Return the Jensen-Shannon divergence of two histograms in bits, 0 (equal) to 1 (nothing in common).

    Args:
        one: Count by value, not negative.
        other: As in ``one``.

    Raises:
        ValueError: A histogram is empty.

    Source: Lin, Divergence measures based on the Shannon entropy (IEEE Trans. Inf. Theory 37(1), 1991), with
        logarithms to base 2 and equal weights.
    """
    first, second = sum(one.values()), sum(other.values())
    if not first or not second:
        raise ValueError("an empty histogram has no divergence")
    total = 0.0
    for value in sorted(one.keys() | other.keys(), key=repr):
        p, q = one.get(value, 0) / first, other.get(value, 0) / second
        middle = (p + q) / 2
        total += sum(share / 2 * log2(share / middle) for share in (p, q) if share)
    return min(max(total, 0.0), 1.0)


def divergence_by_chance(
    one: Mapping[str, int], other: Mapping[str, int], *, seed: int, draws: int = 200, quantile: float = 0.95
) -> float:
    """Return the divergence that two samples of these sizes reach by chance if both are of one distribution.

    Args:
        one: Count by class, at least one item in all.
        other: As in ``one``.
        seed: Seed of the draws, not negative.
        draws: How often the pooled items are divided anew.
        quantile: Quantile of the divergences to return, 0 to 1.
    """
    names = sorted(one.keys() | other.keys())
    pooled = np.array([one.get(name, 0) + other.get(name, 0) for name in names], dtype=np.int64)
    size = sum(one.values())
    generator = np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        drawn = generator.multivariate_hypergeometric(pooled, size, method="marginals")
        ours = dict(zip(names, drawn.tolist(), strict=True))
        theirs = dict(zip(names, (pooled - drawn).tolist(), strict=True))
        found.append(jensen_shannon(ours, theirs))
    return float(np.quantile(found, quantile))
