"""How likely the order of systems by their mean scores is the true order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isinf, sqrt

import numpy as np

from goldbench.measures.statistics.floats import Floats, of_finite_numbers
from goldbench.measures.statistics.normal_draws import NormalDraws

LEAST_TAU = 0.8
"""Kendall's tau with the true order from which an order counts as right: at most 1 of 10 pairs the wrong way round."""

DRAWS = 1_000
"""Draws of the true means; a chance of 0.95 has a standard error of 0.007."""

_STEPS = 200
"""Points at which the distribution of the shrinkage is evaluated."""
_TINY = 1e-18
"""A variance below which scores count as equal."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Means of K systems, shape (K,), and the covariance of these means over the draw of queries, shape (K, K).

    ``freedom`` are the degrees of freedom of the covariance; infinite if it is known.
    """

    means: Floats
    covariance: Floats
    freedom: float

    def spread(self, first: int, second: int) -> float:
        """Return the standard error of the difference of two systems."""
        table = self.covariance
        return sqrt(max(0.0, table[first][first] + table[second][second] - 2 * table[first][second]))

    def deviation(self, first: int, second: int, queries: int) -> float:
        """Return the standard deviation of the differences of two systems by query, without the query that was added.

        Args:
            first: The position of a system.
            second: That of another system.
            queries: Number of queries, without the one that `moments_of` added.
        """
        if queries < 2:
            return 0.0
        squares = self.spread(first, second) ** 2 * queries * (queries + 1)
        own = squares - (queries + 1) / queries * (self.means[first] - self.means[second]) ** 2
        return sqrt(max(0.0, own) / (queries - 1))


def moments_of(columns: Sequence[Sequence[float]]) -> Moments:
    """Return the moments of systems that answered the same queries.

    One query is added on which all systems score alike. So systems that differ by the same amount on each of a few
    queries are not taken for known exactly, and a single query can be computed with.

    Args:
        columns: Scores by system, finite, all of the same length of 1 or more.
    """
    scores = np.asarray(columns, dtype=np.float64)
    systems, queries = scores.shape
    scores = np.column_stack([scores, np.full(systems, scores.mean())])
    # Exact sums: systems with the same scores in another order have equal means.
    means = np.array([fsum(row) for row in scores]) / (queries + 1)
    apart = scores - means[:, None]
    # Without BLAS every entry is summed in the same way: equal systems have no spread, to the last bit.
    products = np.einsum("iq,jq->ij", apart, apart)
    return Moments(means, products / (queries * (queries + 1)), queries)


def order_chance(moments: Moments, *, least: float = LEAST_TAU, seed: int = 0) -> float:
    """Return the probability, 0 to 1, that the order of the means has at least this tau with the order of true means.

    True means are drawn from their distribution given the observed ones: the observed ones shrunk towards their mean,
    plus errors with the covariance over queries. Means that differ by chance lie farther apart than true ones, so an
    order taken at face value is trusted too much. The share of shrinkage has a uniform prior distribution. Systems with
    the same mean are in no order, and count as a pair the wrong way round.

    Args:
        moments: Of 2 systems or more.
        least: The smallest tau of an order that counts as right, -1 to 1.
        seed: Of the draws, not negative.

    Source: Daniels, A prior for the variance in hierarchical models (Canadian Journal of Statistics 27, 1999), for the
        uniform prior of the shrinkage.
    """
    systems = len(moments.means)
    allowed = int((1 - least) / 2 * (systems * (systems - 1) // 2) + 1e-9)
    order = np.argsort(moments.means, kind="stable")
    means = moments.means[order] - moments.means.mean()
    centring = np.eye(systems) - 1 / systems
    with of_finite_numbers():
        errors = centring @ moments.covariance[np.ix_(order, order)] @ centring
        variance = np.trace(errors) / (systems - 1)
        if variance <= _TINY:
            return float(_wrong_pairs(means[None], means)[0] <= allowed)
        normal = NormalDraws(seed, DRAWS)
        share = _kept_shares(float(means @ means / variance), systems - 1, normal)
        scale = np.sqrt(share)
        if not isinf(moments.freedom):
            scale *= np.sqrt(moments.freedom / normal.chi_square(moments.freedom))
        drawn = share[:, None] * means + scale[:, None] * normal.vectors(errors)
    return float((_wrong_pairs(drawn, means) <= allowed).mean())


def _kept_shares(squares: float, freedom: int, normal: NormalDraws) -> Floats:
    """Return draws of the share of the differences that is kept, 0 to 1.

    Args:
        squares: Sum of the squared centred means, in units of their sampling variance.
        freedom: Number of systems minus 1.
        normal: The draws.
    """
    lost = (np.arange(_STEPS) + 0.5) / _STEPS
    logs = freedom / 2 * np.log(lost) - squares * lost / 2
    weights = np.cumsum(np.exp(logs - logs.max()))
    return np.asarray(1 - lost[np.searchsorted(weights, normal.uniform() * weights[-1])])


def _wrong_pairs(drawn: Floats, means: Floats) -> Floats:
    """Return for each draw, shape (draws, K), how many pairs are out of the order of the means; ties are.

    Args:
        drawn: Drawn true means.
        means: The observed means in ascending order, shape (K,).
    """
    wrong = np.zeros(len(drawn))
    for system in range(1, len(means)):
        tied = means[:system] == means[system]
        wrong += ((drawn[:, :system] > drawn[:, [system]]) | tied).sum(axis=1)
    return wrong
