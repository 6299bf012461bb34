"""The smallest difference of two systems that a number of queries shows, under the error control of `compare`.

It is that of Student's test, and of McNemar's exact test for hits, whose differences are -1, 0 or 1. With fewer than 20
queries the sign-flip test of `compare` finds a little less: ``python -m tests.benchmarks.coverage 2000 "power at the
detectable"`` prints how often it finds what is computed here.
"""

from __future__ import annotations

from math import ceil, inf, sqrt
from statistics import NormalDist

import numpy as np
from scipy.optimize import brentq
from scipy.special import nctdtrinc
from scipy.stats import binom

from goldbench.measures.statistics.floats import upper_quantile

_NORMAL = NormalDist()

POWER = 0.8
"""The probability with which a detectable difference is found."""

_ALPHA = 0.05
"""Probability of any false claim unless told otherwise."""


def detectable_difference(deviation: float, queries: int, *, pairs: int = 1, alpha: float = _ALPHA) -> float:
    """Return the smallest true mean difference of a pair of systems that a paired test finds with `POWER`.

    With ``pairs`` above 1 the test is the first step of Holm's correction, which compares the smallest p-value with
    ``alpha / pairs``: one given pair differs, the others are equal. The later steps, with other pairs that differ too,
    find a little more. The result is ``inf`` if even equal signs on all queries, ``p = 2 ** (1 - queries)``, are not
    significant at that level.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        queries: Number of queries, at least 2.
        pairs: Number of comparisons that are corrected together: pairs of systems times measures.
        alpha: Probability of any false claim among the ``pairs``, above 0 and below `POWER`.

    Raises:
        ValueError: An argument is out of its range.

    Source: the power of Student's test is that of the noncentral t distribution, Owen, A survey of properties and
        applications of the noncentral t-distribution (Technometrics 10(3), 1968); the difference in standard errors is
        the multiplier of Bloom, Minimum detectable effects (Evaluation Review 19(5), 1995).
    """
    if queries < 2 or pairs < 1 or deviation < 0 or not 0 < alpha < POWER:
        raise ValueError("takes 2 queries and 1 pair or more, a deviation not below 0, and 0 < alpha < 0.8")
    level = alpha / pairs
    if 2.0 ** (1 - queries) > level:
        return inf
    critical = upper_quantile(level / 2, queries - 1)
    # The noncentrality, in standard errors, at which t exceeds the critical value with this power.
    return float(nctdtrinc(queries - 1, 1 - POWER, critical)) * deviation / sqrt(queries)


_MOST_EXACT = 1000
"""Number of queries up to which the power for hits is computed exactly; above, counts are continuous but for one."""


def detectable_hits(deviation: float, queries: int, *, pairs: int = 1, alpha: float = _ALPHA) -> float:
    """Return the smallest true difference of two shares of hits that a sign test finds with `POWER`; see above.

    The test is that of signs among the queries that differ. The spread is kept: with a true difference of d, a share
    ``deviation ** 2 + d ** 2`` of the queries differs, or d if that is more.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions (Psychometrika 12,
        1947); the unconditional power of the exact test of Duffy, Asymptotic and exact power for the McNemar test and
        its analogue with R controls per case (Biometrics 40(4), 1984); the correction by one query for many queries of
        Connett, Smith and McHugh, Sample size and power for pair-matched case-control studies (Statistics in Medicine
        6(1), 1987).
    """
    normal = detectable_difference(deviation, queries, pairs=pairs, alpha=alpha)
    if not deviation or normal == inf:
        return normal
    if queries > _MOST_EXACT:
        return normal + 1 / queries
    differing = np.arange(1, queries + 1)
    most_ties = binom.isf(alpha / pairs / 2, differing, 0.5)  # so many wins are not significant yet

    def power(difference: float) -> float:
        share = hit_share(deviation, difference)
        won = (share + difference) / 2 / share
        return float((binom.pmf(differing, queries, share) * binom.sf(most_ties, differing, won)).sum())

    return float(brentq(lambda difference: power(difference) - POWER, 1e-9, 1.0)) if power(1.0) >= POWER else inf


def hit_share(deviation: float, difference: float) -> float:
    """Return the share of queries on which two systems with this true difference of hits differ."""
    return min(1.0, max(difference, deviation**2 + difference**2))


def queries_needed(deviation: float, difference: float, *, pairs: int = 1) -> int:
    """Return the smallest number of queries whose `detectable_difference` is at most ``difference``.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        difference: The true mean difference to find, above 0.

    Raises:
        ValueError: An argument is out of its range.
    """
    if not difference > 0:
        raise ValueError(f"difference {difference} is not above 0")
    queries = max(2, ceil((errors_apart(pairs=pairs) * deviation / difference) ** 2))
    while detectable_difference(deviation, queries, pairs=pairs) > difference:
        queries += 1
    while queries > 2 and detectable_difference(deviation, queries - 1, pairs=pairs) <= difference:
        queries -= 1
    return queries


def errors_apart(*, pairs: int = 1) -> float:
    """Return the detectable difference in standard errors where these are known, as from very many queries."""
    return _NORMAL.inv_cdf(1 - _ALPHA / pairs / 2) + _NORMAL.inv_cdf(POWER)
