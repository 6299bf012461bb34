"""The smallest difference of two shares of hits that a number of queries shows, under the error control of `compare`.

Differences of hits are -1, 0 or 1. The sign-flip test then has few p-values, counts only the queries that differ, and
finds less than it does for normal differences. `python -m tests.benchmarks.coverage 2000 "power at the detectable"`
prints how often it finds the difference computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, lgamma, log

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.detectable import PERMUTATIONS, POWER, detectable_difference
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.sign_flip_limit import chance_to_find

_MOST_EXACT = 300
"""Number of queries up to which the power is computed exactly; above, counts are continuous but for a correction."""
_HALVINGS = 30
_SELDOM = 1e-3
"""Probability to be found below which a sample does not count."""


def detectable_hits(
    deviation: float, queries: int, *, pairs: int = 1, alpha: float = 0.05, permutations: int = PERMUTATIONS
) -> float:
    """Return the smallest true difference of two shares of hits that the sign-flip test finds with probability .8.

    The test is that of signs among the queries that differ (McNemar's, exact). The spread is kept: with a true
    difference of d, a share ``deviation ** 2 + d ** 2`` of the queries differs, or d if that is more.

    Args:
        deviation: Standard deviation of the per-query differences, not negative.
        queries: Number of queries, at least 2.
        pairs: As in `detectable_difference`.
        alpha: As in `detectable_difference`.
        permutations: As in `detectable_difference`.

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
    low, high = 0.0, 1.0
    if significant.found(deviation, high) < POWER:
        return inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if significant.found(deviation, middle) >= POWER else (middle, high)
    return high


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
        deviation: As in `detectable_hits`.
        difference: The true difference of the shares of hits, 0 to 1.
    """
    differing = min(1.0, max(difference, deviation**2 + difference**2))
    return (differing + difference) / 2, (differing - difference) / 2
