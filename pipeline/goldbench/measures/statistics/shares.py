"""Figures of counts and their shares: the interval of a share, unevenness, the distance of two histograms."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import sqrt
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from scipy.spatial.distance import jensenshannon

from goldbench.measures.statistics.floats import effective_size, upper_quantile

T = TypeVar("T", bound=Hashable)


USUAL_LIKENESS = 0.15
"""Correlation of two pairs of one query where the queries at hand say little: the median of 34 judges and their grades.

``python -m tests.benchmarks.coverage_likeness`` measures it on TREC Deep Learning 2023 and LLMJudge.
"""

_PRIOR_QUERIES = 5
"""Number of queries with a success (or a failure) from which on the queries' own design effect counts more.

Half of the judges of ``coverage_likeness`` have a correlation of .12 to .18. A chi-square as certain has 20 degrees
of freedom; 5 leave room for other judges.
"""
_LEAST_SURPLUS = 0.01
"""Least share of the variance that counts as estimated: t has at most 10,000 times the degrees of freedom."""


def wilson(successes: float, trials: float, z: float | None = None) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of the share of successes in independent trials (above 0).

    Args:
        successes: Number of successes.
        trials: Number of trials.
        z: Quantile that replaces the normal one, 1.96.

    Source: Wilson, Probable inference, the law of succession, and statistical inference (JASA, 1927).
    """
    z = NormalDist().inv_cdf(0.975) if z is None else z
    share = successes / trials
    centre = share + z * z / (2 * trials)
    reach = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    width = 1 + z * z / trials
    low = 0.0 if successes == 0 else max(0.0, (centre - reach) / width)
    high = 1.0 if successes == trials else min(1.0, (centre + reach) / width)
    return low, high


def clustered_share(successes: Sequence[float], trials: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the share of successes if the trials of one query are alike; None for one query.

    Wilson's interval with the number of independent trials that these are worth, and with Student's t. The design
    effect is the jackknife variance of the share over that of independent trials. The latter is known, so only the
    surplus is as uncertain as few queries make it (Satterthwaite's degrees of freedom): one trial for each query has
    Wilson's own interval. Few queries with a success (or a failure), or one that holds most of them, hardly show how
    alike the trials of a query are. There the design effect is drawn towards that of a correlation of
    ``USUAL_LIKENESS``, if that is larger, and a share of 0 or 1 has an interval too. What is usual counts as
    ``_PRIOR_QUERIES`` further queries, in the degrees of freedom as well.

    Args:
        successes: Successes of each query, not negative.
        trials: Trials of each query, not below its successes; queries without trials do not count.

    Source: Korn and Graubard, Confidence intervals for proportions with small expected number of positive counts
        estimated from survey data (Survey Methodology 24(2), 1998), for the effective number with t; Kish, Survey
        sampling (1965), sections 5.4 and 8.2, for the design effect of clusters; Satterthwaite, An approximate
        distribution of estimates of variance components (Biometrics Bulletin 2, 1946); Smyth, Linear models and
        empirical Bayes methods (Statistical Applications in Genetics and Molecular Biology 3(1), 2004), for a variance
        drawn towards a usual one, whose degrees of freedom add up. The larger of the two is our own.
    """
    sizes = [size for size in trials if size]
    hits = [hit for hit, size in zip(successes, trials, strict=True) if size]
    queries = len(sizes)
    total = sum(sizes)
    if queries < 2:
        return None
    share = sum(hits) / total
    mean_size = sum(size * size for size in sizes) / total
    usual = 1 + (mean_size - 1) * USUAL_LIKENESS
    seen = usual
    if 0 < share < 1:
        residuals = [(hit - share * size) / (1 - size / total) for hit, size in zip(hits, sizes, strict=True)]
        variance = (queries - 1) / queries * sum(residual * residual for residual in residuals) / total**2
        seen = variance * total / (share * (1 - share))
    misses = [size - hit for hit, size in zip(hits, sizes, strict=True)]
    informed = min(effective_size(hits), effective_size(misses))
    weight = informed / (informed + _PRIOR_QUERIES)
    effect = max(1.0, weight * seen + (1 - weight) * max(seen, usual))
    surplus = max(1 - 1 / effect, _LEAST_SURPLUS)
    freedom = (max(1.0, total / mean_size - 1) + _PRIOR_QUERIES) / surplus**2
    worth = total / effect
    return wilson(share * worth, worth, upper_quantile(0.025, freedom))


def jensen_shannon(left: Mapping[T, float], right: Mapping[T, float]) -> float:
    """Return the Jensen-Shannon divergence of two histograms in bits, 0 (equal) to 1 (nothing in common).

    Args:
        left: Count by value, not negative.
        right: The other one.

    Raises:
        ValueError: A histogram is empty.

    Source: Lin, Divergence measures based on the Shannon entropy (IEEE Trans. Inf. Theory 37(1), 1991), with
        logarithms to base 2 and equal weights.
    """
    if not any(left.values()) or not any(right.values()):
        raise ValueError("an empty histogram has no divergence")
    names = sorted(left.keys() | right.keys(), key=repr)
    first, second = ([histogram.get(name, 0) for name in names] for histogram in (left, right))
    return float(jensenshannon(first, second, base=2)) ** 2


def divergence_by_chance(
    first: Mapping[str, int], second: Mapping[str, int], *, seed: int, draws: int = 200, quantile: float = 0.95
) -> float:
    """Return the divergence that two samples of these sizes reach by chance if both are of one distribution.

    Args:
        first: Count by class, at least one item in all.
        second: The other one.
        seed: Seed of the draws, not negative.
        draws: How often the pooled items are divided anew.
        quantile: Quantile of the divergences to return, 0 to 1.
    """
    names = sorted(first.keys() | second.keys())
    pooled = np.array([first.get(name, 0) + second.get(name, 0) for name in names], dtype=np.int64)
    size = sum(first.values())
    generator = np.random.default_rng(seed)
    divergences = []
    for _ in range(draws):
        drawn = generator.multivariate_hypergeometric(pooled, size, method="marginals")
        ours = dict(zip(names, drawn.tolist(), strict=True))
        theirs = dict(zip(names, (pooled - drawn).tolist(), strict=True))
        divergences.append(jensen_shannon(ours, theirs))
    return float(np.quantile(divergences, quantile))
