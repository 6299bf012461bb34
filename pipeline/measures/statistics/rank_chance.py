"""How likely the order of systems by their mean scores is the true order, in plain Python: `score` needs it at once."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import exp, fsum, log, sqrt
from operator import mul
from random import Random

LEAST_TAU = 0.8
"""Kendall's tau with the true order from which an order counts as right: at most 1 of 10 pairs the wrong way round."""

DRAWS = 1_000
"""Draws of the true means; a chance of 0.95 has a standard error of 0.007."""

_STEPS = 200
"""Points at which the distribution of the shrinkage is evaluated."""
_MOST_PRODUCTS = 1_000_000
"""Products of scores from which on numpy computes the covariance: below it plain Python is faster than its import."""
_TINY = 1e-18
"""A variance below which scores count as equal."""
_SURE = 1e9
"""Degrees of freedom from which on Student's distribution is taken for the normal one."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Means of K systems and the covariance of these means over the draw of queries, K by K.

    ``freedom`` are the degrees of freedom of the covariance; infinite if it is known.
    """

    means: Sequence[float]
    covariance: Sequence[Sequence[float]]
    freedom: float

    def spread(self, one: int, other: int) -> float:
        """Return the standard error of the difference of two systems."""
        table = self.covariance
        return sqrt(max(0.0, table[one][one] + table[other][other] - 2 * table[one][other]))

    def deviation(self, one: int, other: int, queries: int) -> float:
        """Return the standard deviation of the differences of two systems by query, without the query that was added.

        Args:
            one: The place of a system.
            other: That of another one.
            queries: Number of queries, without the one that `moments_of` added.
        """
        if queries < 2:
            return 0.0
        squares = self.spread(one, other) ** 2 * queries * (queries + 1)
        own = squares - (queries + 1) / queries * (self.means[one] - self.means[other]) ** 2
        return sqrt(max(0.0, own) / (queries - 1))


def moments_of(columns: Sequence[Sequence[float]]) -> Moments:
    """Return the moments of systems that answered the same queries.

    One query is added on which all systems score alike. So systems that differ by the same amount on each of a few
    queries are not taken for known exactly, and a single query can be computed with.

    Args:
        columns: Scores by system, finite, all of the same length of 1 or more.
    """
    systems, queries = len(columns), len(columns[0])
    neutral = fsum(map(fsum, columns)) / (systems * queries)
    columns = [[*column, neutral] for column in columns]
    count = queries + 1
    means = [fsum(column) / count for column in columns]
    rows = [[value - mean for value in column] for column, mean in zip(columns, means, strict=True)]
    if count * systems**2 > _MOST_PRODUCTS:
        import numpy as np

        table = np.asarray(rows)
        products: list[list[float]] = (table @ table.T).tolist()
    else:
        products = [[0.0] * systems for _ in rows]
        for one, first in enumerate(rows):
            for other in range(one + 1):
                products[one][other] = products[other][one] = sum(map(mul, first, rows[other]))
    scale = 1 / (queries * count)
    return Moments(means, [[value * scale for value in row] for row in products], queries)


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
    pairs = systems * (systems - 1) // 2
    allowed = int((1 - least) / 2 * pairs + 1e-9)
    order = sorted(range(systems), key=moments.means.__getitem__)
    centre = fsum(moments.means) / systems
    means = [moments.means[place] - centre for place in order]
    tied = [(one, other) for one, other in combinations(range(systems), 2) if means[one] == means[other]]
    errors = _centred(moments.covariance, order)
    variance = sum(errors[place][place] for place in range(systems)) / (systems - 1)
    if variance <= _TINY:
        return float(len(tied) <= allowed)
    random = Random(seed)  # noqa: S311  draws, not secrets
    kept = _kept(sum(map(mul, means, means)) / variance, systems - 1, random)
    root = _root(errors)
    right = 0
    for share in kept:
        normal = [random.gauss(0.0, 1.0) for _ in means]
        scale = sqrt(share * _inverse_chi_square(moments.freedom, random))
        drawn = [share * mean + scale * sum(map(mul, row, normal)) for mean, row in zip(means, root, strict=True)]
        wrong = _inversions(drawn) + sum(drawn[one] <= drawn[other] for one, other in tied)  # a tie is wrong once
        right += wrong <= allowed
    return right / DRAWS


def _centred(covariance: Sequence[Sequence[float]], order: Sequence[int]) -> list[list[float]]:
    """Return the covariance of the means minus their mean, with the systems in this order."""
    rows = [[covariance[one][other] for other in order] for one in order]
    sides = [sum(row) / len(rows) for row in rows]
    whole = sum(sides) / len(rows)
    return [[value - side - other + whole for value, other in zip(row, sides, strict=True)]
            for row, side in zip(rows, sides, strict=True)]  # fmt: skip


def _kept(squares: float, freedom: int, random: Random) -> list[float]:
    """Return draws of the share of the differences that is kept, 0 to 1.

    Args:
        squares: Sum of the squared centred means, in units of their sampling variance.
        freedom: Number of systems minus 1.
        random: The draws.
    """
    lost = [(step + 0.5) / _STEPS for step in range(_STEPS)]
    logs = [freedom / 2 * log(share) - squares * share / 2 for share in lost]
    highest = max(logs)
    weights = list(accumulate(exp(value - highest) for value in logs))
    return [1 - share for share in random.choices(lost, cum_weights=weights, k=DRAWS)]


def _root(table: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the lower triangular root of a covariance that may be singular."""
    tiny = 1e-12 * max(table[place][place] for place in range(len(table)))
    root: list[list[float]] = []
    for one, row in enumerate(table):
        found: list[float] = []
        for other in range(one):
            pivot = root[other][other]
            rest = row[other] - sum(map(mul, found, root[other]))
            found.append(rest / pivot if pivot else 0.0)
        left = row[one] - sum(value * value for value in found)
        found.append(sqrt(left) if left > tiny else 0.0)
        root.append(found)
    return root


def _inverse_chi_square(freedom: float, random: Random) -> float:
    return 1.0 if freedom >= _SURE else freedom / (2 * random.gammavariate(freedom / 2, 1.0))


def _inversions(values: Sequence[float]) -> int:
    """Return how many pairs are in descending order; equal values are not."""
    seen: list[float] = []
    count = 0
    for value in values:
        count += len(seen) - bisect_right(seen, value)
        insort(seen, value)
    return count
