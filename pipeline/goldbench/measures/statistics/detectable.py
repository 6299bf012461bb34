"""The smallest difference of two systems that a number of queries shows, under the error control of `compare`."""

from __future__ import annotations

from math import ceil, inf, sqrt
from statistics import NormalDist

from goldbench.measures.statistics.sign_flip_limit import chance_to_find, critical_t, drawn_level

POWER = 0.8
"""The probability with which a detectable difference is found."""

PERMUTATIONS = 10_000
"""Random signs of `compare` unless told otherwise."""

_NORMAL = NormalDist()


def detectable_difference(
    deviation: float,
    queries: int,
    *,
    pairs: int = 1,
    power: float = POWER,
    alpha: float = 0.05,
    permutations: int = PERMUTATIONS,
) -> float:
    """Return the smallest true mean difference of a pair of systems that the sign-flip test finds with ``power``.

    The power is that of Student's test with the critical value that the sign-flip test of so few queries has.

    With ``pairs`` above 1 the test is the first step of Holm's correction, which compares the smallest p-value with
    ``alpha / pairs``: one given pair differs, the others are equal. The later steps, with other pairs that differ too,
    find a little more. The result is ``inf`` if even equal signs on all queries, ``p = 2 ** (1 - queries)``, are not
    found at that level with ``power``.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        queries: Number of queries, at least 2.
        pairs: Number of comparisons that are corrected together: pairs of systems times measures.
        power: Probability to find the difference, in (0, 1), above ``alpha``.
        alpha: Probability of any false claim among the ``pairs``, in (0, 1).
        permutations: Random signs of the test, at least 1. Where they are too few to find anything (`compare` says so),
            the result is that of as many as it takes.

    Raises:
        ValueError: An argument is out of its range.

    Source: the power of Student's test is that of the noncentral t distribution, Owen, A survey of properties and
        applications of the noncentral t-distribution (Technometrics 10(3), 1968); the difference in standard errors is
        the multiplier of Bloom, Minimum detectable effects (Evaluation Review 19(5), 1995).
    """
    if queries < 2 or pairs < 1 or deviation < 0 or not 0 < alpha < power < 1:
        raise ValueError("takes 2 queries and 1 pair or more, a deviation not below 0, and 0 < alpha < power < 1")
    from scipy.special import nctdtrinc

    level = alpha / pairs
    if chance_to_find(2.0 ** (1 - queries), level, permutations) < power:
        return inf
    critical = critical_t(queries, drawn_level(level, permutations))
    if critical is None:
        return inf
    # The noncentrality, in standard errors, at which t exceeds the critical value with this power.
    return float(nctdtrinc(queries - 1, 1 - power, critical)) * deviation / sqrt(queries)


def adjusted_difference(
    alone: float | None, queries: int, *, pairs: int, alpha: float, permutations: int = PERMUTATIONS
) -> float | None:
    """Return the detectable difference after Holm from that of one comparison; None if the queries can show none.

    Args:
        alone: `detectable_difference` of one pair, or None if the queries can show none.
        queries: As in `detectable_difference`.
        pairs: As in `detectable_difference`.
        alpha: As in `detectable_difference`.
        permutations: As in `detectable_difference`.
    """
    adjusted = detectable_difference(1.0, queries, pairs=pairs, alpha=alpha, permutations=permutations)
    if alone is None or adjusted == inf:
        return None
    return alone * adjusted / detectable_difference(1.0, queries, alpha=alpha, permutations=permutations)


def queries_needed(
    deviation: float, difference: float, *, pairs: int = 1, power: float = POWER, alpha: float = 0.05
) -> int:
    """Return the smallest number of queries whose `detectable_difference` is at most ``difference``.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        difference: The true mean difference to find, above 0.
        pairs: As in `detectable_difference`.
        power: As in `detectable_difference`.
        alpha: As in `detectable_difference`.

    Raises:
        ValueError: An argument is out of its range.
    """
    if not difference > 0:
        raise ValueError(f"difference {difference} is not above 0")

    def shows(queries: int) -> bool:
        return detectable_difference(deviation, queries, pairs=pairs, power=power, alpha=alpha) <= difference

    reach = errors_apart(pairs=pairs, power=power, alpha=alpha)
    queries = max(2, ceil((reach * deviation / difference) ** 2))
    while not shows(queries):
        queries += 1
    while queries > 2 and shows(queries - 1):
        queries -= 1
    return queries


def errors_apart(
    *, pairs: int = 1, power: float = POWER, alpha: float = 0.05, permutations: int = PERMUTATIONS
) -> float:
    """Return the detectable difference in standard errors where these are known, as from very many queries.

    Args:
        pairs: As in `detectable_difference`.
        power: As in `detectable_difference`.
        alpha: As in `detectable_difference`.
        permutations: As in `detectable_difference`.
    """
    return _NORMAL.inv_cdf(1 - drawn_level(alpha / pairs, permutations) / 2) + _NORMAL.inv_cdf(power)
