"""The smallest difference of two systems that a number of queries shows, under the error control of `compare`.

The sign-flip test asks more of few queries than Student's t. Differences of hits are -1, 0 or 1: the test then has few
p-values, counts only the queries that differ, and finds less than it does for normal differences;
`python -m tests.benchmarks.coverage 2000 "power at the detectable"` prints how often it finds what is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, inf, lgamma, log, sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.special import nctdtrinc, ndtri

from goldbench.measures.statistics.floats import Floats, upper_quantile

_NORMAL = NormalDist()
_MOST_SCORES = 64
"""Number of normal scores that stand for larger samples, too; more of them change nothing that is printed."""
_STEP = 1.01
"""Factor by which t grows in the search for the first value that is significant."""
_T_HALVINGS = 14
_NEWTON_STEPS = 60
_MOST_ROUNDED = 50
"""Above this number of queries the level is not rounded to one of ``2 ** queries`` signs: the difference is nil."""


def drawn_level(level: float, permutations: int) -> float:
    """Return the level at which ``permutations`` random signs test in effect.

    A p-value of ``(1 + reached) / (1 + permutations)`` is at most ``level`` for at most B signs that reach as far, and
    a sample finds that few in half of its draws if its exact p-value is ``(B + 2 / 3) / permutations``: the median of
    the gamma distribution. Draws too few to find anything at this level leave it as it is.

    Args:
        level: Nominal level, in (0, 1).
        permutations: Number of random signs, at least 1.

    Source: Phipson and Smyth, Permutation p-values should never be zero (2010), for the p-value; Berg and Pedersen, The
        Chen-Rubin conjecture in a continuous setting (Methods and Applications of Analysis 13, 2006), for the median.
    """
    most = _most_reaching(level, permutations)
    return (most + 2 / 3) / permutations if most >= 0 else level


def chance_to_find(exact: float, level: float, permutations: int) -> float:
    """Return about the probability that random signs find a sample significant.

    Args:
        exact: The sample's p-value over all signs, above 0. Equal signs on all queries have the least one,
            ``2 ** (1 - queries)``.
    """
    most = _most_reaching(level, permutations)
    if most < 0:
        return float(exact <= level)
    expected = permutations * exact
    spread = sqrt(expected * max(0.0, 1 - exact))
    return _NORMAL.cdf((most + 0.5 - expected) / spread) if spread else float(expected <= most)


def _most_reaching(level: float, permutations: int) -> int:
    """Return how many random signs may reach as far as a sample that is significant; -1 if none is."""
    return floor(level * (permutations + 1)) - 1


@lru_cache(maxsize=1024)
def critical_t(queries: int, level: float) -> float | None:
    """Return the least Student's t that is significant by the two-sided sign-flip test; None if none can be.

    The p-value of a sign-flip test depends on all differences, not on t alone. It is computed here for the sample that
    is most like normal differences, the normal scores, by the saddlepoint approximation. With very many queries the
    value is that of Student's t; with few it is larger, the more so the fewer signs are left below the level.

    Args:
        queries: Number of differences, at least 2.
        level: Level of the test, in (0, 1).

    Source: Robinson, Saddlepoint approximations for permutation tests and confidence intervals (JRSS B 44(1), 1982),
        with the tail of Lugannani and Rice (Advances in Applied Probability 12(2), 1980); Blom, Statistical estimates
        and transformed beta-variables (1958), for the normal scores.
    """
    level = _attained(queries, level)
    if not level:
        return None
    scores = _normal_scores(min(queries, _MOST_SCORES))
    root = sqrt(queries - 1)
    end = -float(scores[0]) * root
    high = upper_quantile(level / 2, queries - 1)
    while high < end and _p_value(scores + high / root, queries) > level:
        high *= _STEP
    if high >= end:
        return end
    low = high / _STEP
    for _ in range(_T_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _p_value(scores + middle / root, queries) > level else (low, middle)
    return high


def _attained(queries: int, level: float) -> float:
    """Return the p-value up to which a sample is significant, 0 if none is.

    There are ``2 ** (queries - 1)`` p-values; the middle of the last step counts, as the approximation is continuous.
    """
    if queries > _MOST_ROUNDED:
        return level
    values = 2.0 ** (queries - 1)
    return max(0.0, floor(level * values) - 0.5) / values


def _normal_scores(count: int) -> Floats:
    """Return the expected order of ``count`` normal values, scaled to a variance (over ``count``) of 1."""
    scores: Floats = ndtri((np.arange(1, count + 1) - 0.375) / (count + 0.25))
    return np.asarray(scores / np.sqrt(np.mean(scores**2)))


def _p_value(differences: Floats, queries: int) -> float:
    """Return the two-sided p of the sign-flip test of ``queries`` differences that are spread like ``differences``."""
    weight = queries / len(differences)
    total = float(differences.sum())
    point = total / float((differences**2).sum())
    for _ in range(_NEWTON_STEPS):
        slopes = np.tanh(point * differences)
        miss = float((differences * slopes).sum()) - total
        curvature = float((differences**2 * (1 - slopes**2)).sum())
        if curvature <= 0 or abs(miss) < 1e-10 * total:
            break
        point = min(2 * point, point - miss / curvature)
    cumulant = float((np.logaddexp(point * differences, -point * differences) - np.log(2)).sum())
    root = sqrt(2 * weight * (point * total - cumulant))
    rate = point * sqrt(weight * curvature)
    return 2 * (_NORMAL.cdf(-root) + _NORMAL.pdf(root) * (1 / rate - 1 / root)) if rate else 0.0


POWER = 0.8
"""The probability with which a detectable difference is found."""

_ALPHA = 0.05
"""Probability of any false claim unless told otherwise."""

PERMUTATIONS = 10_000
"""Random signs of `compare` unless told otherwise."""


def detectable_difference(
    deviation: float, queries: int, *, pairs: int = 1, alpha: float = _ALPHA, permutations: int = PERMUTATIONS
) -> float:
    """Return the smallest true mean difference of a pair of systems that the sign-flip test finds with `POWER`.

    The power is that of Student's test with the critical value that the sign-flip test of so few queries has.

    With ``pairs`` above 1 the test is the first step of Holm's correction, which compares the smallest p-value with
    ``alpha / pairs``: one given pair differs, the others are equal. The later steps, with other pairs that differ too,
    find a little more. The result is ``inf`` if even equal signs on all queries, ``p = 2 ** (1 - queries)``, are not
    found at that level with `POWER`.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        queries: Number of queries, at least 2.
        pairs: Number of comparisons that are corrected together: pairs of systems times measures.
        alpha: Probability of any false claim among the ``pairs``, above 0 and below `POWER`.
        permutations: Random signs of the test, at least 1. Where they are too few to find anything (`compare` says so),
            the result is that of as many as it takes.

    Raises:
        ValueError: An argument is out of its range.

    Source: the power of Student's test is that of the noncentral t distribution, Owen, A survey of properties and
        applications of the noncentral t-distribution (Technometrics 10(3), 1968); the difference in standard errors is
        the multiplier of Bloom, Minimum detectable effects (Evaluation Review 19(5), 1995).
    """
    if queries < 2 or pairs < 1 or deviation < 0 or not 0 < alpha < POWER:
        raise ValueError("takes 2 queries and 1 pair or more, a deviation not below 0, and 0 < alpha < 0.8")
    level = alpha / pairs
    if chance_to_find(2.0 ** (1 - queries), level, permutations) < POWER:
        return inf
    critical = critical_t(queries, drawn_level(level, permutations))
    if critical is None:
        return inf
    # The noncentrality, in standard errors, at which t exceeds the critical value with this power.
    return float(nctdtrinc(queries - 1, 1 - POWER, critical)) * deviation / sqrt(queries)


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
    return _NORMAL.inv_cdf(1 - drawn_level(_ALPHA / pairs, PERMUTATIONS) / 2) + _NORMAL.inv_cdf(POWER)


_MOST_EXACT = 300
"""Number of queries up to which the power is computed exactly; above, counts are continuous but for a correction."""
_SELDOM = 1e-3
"""Probability to be found below which a sample does not count."""


def detectable_hits(
    deviation: float, queries: int, *, pairs: int = 1, alpha: float = _ALPHA, permutations: int = PERMUTATIONS
) -> float:
    """Return the smallest true difference of two shares of hits that the sign-flip test finds with probability .8.

    The test is that of signs among the queries that differ (McNemar's, exact). The spread is kept: with a true
    difference of d, a share ``deviation ** 2 + d ** 2`` of the queries differs, or d if that is more.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        queries: Number of queries, at least 2.

    Raises:
        ValueError: An argument is out of its range.

    Source: McNemar, Note on the sampling error of the difference between correlated proportions (Psychometrika 12,
        1947); the unconditional power of the exact test of Duffy, Asymptotic and exact power for the McNemar test and
        its analogue with R controls per case (Biometrics 40(4), 1984); the correction by one query for many queries of
        Connett, Smith and McHugh, Sample size and power for pair-matched case-control studies (Statistics in Medicine
        6(1), 1987).
    """
    normal = detectable_difference(deviation, queries, pairs=pairs, alpha=alpha, permutations=permutations)
    if not deviation or normal == inf:
        return normal
    if queries > _MOST_EXACT:
        return normal + 1 / queries
    significant = _significant(queries, alpha / pairs, permutations)
    if significant.found(deviation, 1.0) < POWER:
        return inf
    return float(brentq(lambda difference: significant.found(deviation, difference) - POWER, 0.0, 1.0, xtol=1e-9))


@dataclass(frozen=True, slots=True)
class _Significant:
    """Wins and losses that tell of a better first system: in how many orders, times the chance to be found."""

    queries: int
    wins: npt.NDArray[np.int64]
    losses: npt.NDArray[np.int64]
    orders: Floats

    def found(self, deviation: float, difference: float) -> float:
        """Return the probability that a true difference of shares is found."""
        won, lost = hit_shares(deviation, difference)
        tied = (1 - won - lost) ** (self.queries - self.wins - self.losses)
        return float((self.orders * won**self.wins * lost**self.losses * tied).sum())


@lru_cache(maxsize=64)
def _significant(queries: int, level: float, permutations: int) -> _Significant:
    logs = np.array([lgamma(count + 1) for count in range(queries + 1)])
    rows: list[tuple[int, int, float]] = []
    for differing in range(1, queries + 1):
        tail = 0.0
        for losses in range((differing + 1) // 2):
            tail += exp(logs[differing] - logs[losses] - logs[differing - losses] - differing * log(2))
            chance = chance_to_find(2 * tail, level, permutations)
            if chance < _SELDOM:
                break
            rows.append((differing - losses, losses, chance))
    wins, lost = (np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1))
    orders = np.exp(logs[queries] - logs[wins] - logs[lost] - logs[queries - wins - lost])
    return _Significant(queries, wins, lost, orders * np.array([row[2] for row in rows]))


def hit_shares(deviation: float, difference: float) -> tuple[float, float]:
    """Return the shares of queries that the better and that the worse system alone finds.

    Args:
        difference: The true difference of the shares of hits, 0 to 1.
    """
    differing = min(1.0, max(difference, deviation**2 + difference**2))
    return (differing + difference) / 2, (differing - difference) / 2
