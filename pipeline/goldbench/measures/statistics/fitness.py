"""What a gold set is good for, decided from the scores of systems and from who wrote and judged its queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, pairwise
from math import ceil, comb, fsum, inf, isinf, sqrt
from statistics import median

import numpy as np

from goldbench.measures.statistics.detectable import detectable_difference, errors_apart, queries_needed
from goldbench.measures.statistics.floats import Floats, of_finite_numbers, two_sided_p, upper_quantile
from goldbench.measures.statistics.joint_calibration import Joint
from goldbench.measures.statistics.resamples import NormalDraws
from goldbench.measures.statistics.significance import holm
from goldbench.records.calibrated import CorrectedRanking

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


ENOUGH_CHANCE = 0.95
"""Least probability of a right order (tau 0.8) at which a set is said to rank; the level of the intervals and tests."""

FEWEST = 10
"""Fewest queries, and fewest queries judged completely by people, that a ranking may rest on."""

WORTHWHILE = 0.03
"""The smallest difference of means that more queries are asked for, about a twentieth of usual means.

Source: Sparck Jones, Automatic indexing (Journal of Documentation 30, 1974), who calls a twentieth noticeable.
"""

COARSE = 0.2
"""A set that shows only differences above this one finds broken systems and no others: it serves for smoke tests."""

MOST_UNJUDGED = 0.1
UNJUDGED_GAP = 0.05
"""Most unjudged results of a system, and most by which two systems may differ, for an order to count: shares of the top
10, where the judgments hold passages that are not relevant. Other judgments list what is relevant and nothing else."""

_ALPHA = 0.05


class FitnessLevel(StrEnum):
    """What a set is good for, the best first."""

    RANKS = "ranks"
    SEPARATES = "separates"
    REGRESSIONS = "regressions"
    SMOKE = "smoke"
    UNUSABLE = "unusable"


class Reason(StrEnum):
    """What keeps a set from a better level."""

    NOTHING_JUDGED = "nothing judged"
    SIMULATED = "simulated"
    FEW_QUERIES = "few queries"
    COARSE = "coarse"
    ONE_SYSTEM = "one system"
    MODEL = "model"
    SOURCE = "source"
    UNJUDGED = "unjudged"
    EQUAL = "equal"
    CHANCE = "chance"
    TEST = "test"
    NO_QUALITY = "no quality"


@dataclass(frozen=True, slots=True)
class Basis:
    """Who made a set, and how far it is judged.

    ``written_by`` is its level of evidence: ``smoke`` (simulated, or a tiny model), ``model``, ``users``, ``human``,
    None if unknown. ``judged_by`` is ``people``, ``model``, ``source`` (the passage that a query was written from is
    the only label), None if unknown. ``lists_others`` says that the judgments hold passages that are not relevant.
    """

    written_by: str | None = None
    judged_by: str | None = None
    lists_others: bool = False


@dataclass(frozen=True, slots=True)
class Fitness:
    """The decision and the numbers it rests on.

    ``chance`` is the probability of a right order, None for one system. ``separated`` of ``pairs`` differ after Holm.
    ``detectable`` is the difference of two systems that a test finds with probability 0.8, None if the spread is not
    known. ``more`` queries would show differences of ``delta`` of all neighbours in the order, 0 if these are enough.
    ``mean`` is that of one system, and its 95 % interval reaches ``reach`` to either side.
    """

    level: FitnessLevel
    reason: Reason | None
    queries: int
    systems: int
    chance: float | None = None
    separated: int = 0
    pairs: int = 0
    detectable: float | None = None
    more: int = 0
    delta: float = WORTHWHILE
    mean: float | None = None
    reach: float = 0.0


def fitness(
    columns: Sequence[Sequence[float]],
    basis: Basis,
    *,
    unjudged: Sequence[float] = (),
    ranking: CorrectedRanking | None = None,
    separated: int | None = None,
) -> Fitness:
    """Return what a set is good for.

    Args:
        columns: Scores by system, finite, over the same queries in the same order; 1 system or more.
        basis: Who made the set.
        unjudged: Share of each system's top results that has no judgment, 0 to 1.
        ranking: What people's complete judgments tell of the order, if a model judged.
        separated: Pairs that a test separated, if one was made: nothing is ranked by runs that it tells not apart.
            None to make t tests.
    """
    queries = len(columns[0])
    systems = len(columns)
    if not queries:
        return Fitness(FitnessLevel.UNUSABLE, Reason.NOTHING_JUDGED, 0, systems)
    if systems == 1:
        return _of_one(columns[0], basis)
    return _of_several(columns, basis, unjudged, ranking, separated)


def _of_one(column: Sequence[float], basis: Basis) -> Fitness:
    """Return what one system tells; two versions of it are taken to differ as much as its scores do."""
    queries = len(column)
    mean = fsum(column) / queries
    error = sqrt(fsum((value - mean) ** 2 for value in column) / (queries - 1) / queries) if queries > 1 else 0.0
    deviation = error * sqrt(queries)
    shown = _shown(deviation, queries)
    level, reason = _without_order(queries, basis)
    level, reason = _unless_coarse(level, reason or Reason.ONE_SYSTEM, shown)
    more = missing_of(queries_needed(deviation, WORTHWHILE) if deviation else 0, queries)
    reach = upper_quantile(0.025, queries - 1) * error if error else 0.0
    return Fitness(level, reason, queries, 1, detectable=shown, more=more, mean=mean, reach=reach)


def _of_several(
    columns: Sequence[Sequence[float]],
    basis: Basis,
    unjudged: Sequence[float],
    ranking: CorrectedRanking | None,
    separated: int | None,
) -> Fitness:
    queries = len(columns[0])
    systems = len(columns)
    moments = moments_of(columns)
    pairs = list(combinations(range(systems), 2))
    shown = _shown(median(moments.deviation(first, second, queries) for first, second in pairs), queries)
    chance = order_chance(moments) if ranking is None else ranking.chance
    more, delta = queries_more(moments, queries)
    if ranking is not None:
        more = ranking.queries_more or ranking.judged_more or 0
        delta = ranking.delta
    refuted = separated == 0 and ranking is None
    if separated is None:
        separated = _separated(moments)
    level, reason = _without_order(queries, basis)
    if level is FitnessLevel.REGRESSIONS:
        reason = _barrier(basis, unjudged, ranking)
    if level is FitnessLevel.REGRESSIONS and reason is None:
        ranks = chance >= ENOUGH_CHANCE
        level = (
            level
            if refuted
            else FitnessLevel.RANKS
            if ranks
            else FitnessLevel.SEPARATES
            if separated and not ranking
            else level
        )
        reason = None if level is FitnessLevel.RANKS else Reason.EQUAL if not shown else Reason.CHANCE
        reason = Reason.TEST if refuted and ranks else reason
    level, reason = _unless_coarse(level, reason, shown)
    return Fitness(level, reason, queries, systems, chance, separated, len(pairs), shown, more, delta)


def _without_order(queries: int, basis: Basis) -> tuple[FitnessLevel, Reason | None]:
    """Return the level before any order is looked at, and what keeps it low."""
    if basis.written_by == "smoke":
        return FitnessLevel.SMOKE, Reason.SIMULATED
    if queries < FEWEST:
        return FitnessLevel.SMOKE, Reason.FEW_QUERIES
    return FitnessLevel.REGRESSIONS, None


def _unless_coarse(
    level: FitnessLevel, reason: Reason | None, shown: float | None
) -> tuple[FitnessLevel, Reason | None]:
    """Return the level, lower if regressions are all that is left and these queries show large ones only."""
    if level is FitnessLevel.REGRESSIONS and shown is not None and shown > COARSE:
        return FitnessLevel.SMOKE, Reason.COARSE
    return level, reason


def _barrier(basis: Basis, unjudged: Sequence[float], ranking: CorrectedRanking | None) -> Reason | None:
    """Return what forbids a ranking whatever its chance, if anything."""
    if basis.judged_by == "source":
        return Reason.SOURCE
    if basis.judged_by == "model" and (ranking is None or ranking.complete < FEWEST):
        return Reason.MODEL
    return Reason.UNJUDGED if basis.lists_others and has_holes(unjudged) else None


def has_holes(unjudged: Sequence[float]) -> bool:
    """Return whether an order could be owed to results without a judgment.

    Args:
        unjudged: Share of each system's top results that has no judgment, 0 to 1.
    """
    return bool(unjudged) and (max(unjudged) > MOST_UNJUDGED or max(unjudged) - min(unjudged) > UNJUDGED_GAP)


def _shown(deviation: float, queries: int) -> float | None:
    """Return the difference that queries show, None if the spread is not known or they can show none."""
    detectable = detectable_difference(deviation, queries) if deviation and queries > 1 else inf
    return detectable if detectable < inf else None


def queries_more(moments: Moments, queries: int) -> tuple[int, float]:
    """Return how many further queries show the differences of all neighbours in the order, and the smallest of these.

    A difference below `WORTHWHILE` counts as that much, because nobody acts on a smaller one; 0 queries if these are
    enough.

    Args:
        moments: Of 2 systems or more.
        queries: Number of queries now.
    """
    pairs = comb(len(moments.means), 2)
    needed = 0
    smallest = WORTHWHILE
    for delta, first, second in neighbours(moments):
        count = queries_needed(moments.deviation(first, second, queries), delta, pairs=pairs)
        if count > needed:
            needed = count
            smallest = delta
    return missing_of(needed, queries), smallest


def neighbours(moments: Moments) -> Iterator[tuple[float, int, int]]:
    """Yield the difference of each system and the next better one, `WORTHWHILE` or more, and the places of both."""
    order = sorted(range(len(moments.means)), key=moments.means.__getitem__)
    for first, second in pairwise(order):
        yield max(WORTHWHILE, float(moments.means[second] - moments.means[first])), first, second


def missing_of(needed: float, queries: int) -> int:
    """Return the queries that are missing, rounded up to two digits: more digits would be false precision.

    Args:
        needed: Number of queries that are needed; it counts as `FEWEST` at least.
        queries: Number of queries now.
    """
    missing = max(needed, FEWEST) - queries
    if missing <= 0:
        return 0
    step: int = 10 ** max(0, len(str(ceil(missing))) - 2)
    return ceil(missing / step) * step


def _separated(moments: Moments) -> int:
    """Return how many pairs of systems differ by the paired t test after Holm."""
    return sum(
        p <= _ALPHA for p in holm([_p_value(moments, *pair) for pair in combinations(range(len(moments.means)), 2)])
    )


def _p_value(moments: Moments, first: int, second: int) -> float:
    error = moments.spread(first, second)
    return two_sided_p((moments.means[first] - moments.means[second]) / error, int(moments.freedom)) if error else 1.0


def ranking_of(joint: Joint, *, complete: int, queries: int) -> CorrectedRanking:
    """Return the chance of the corrected order, and what either kind of further work alone would have to amount to.

    The variance over exactly these queries falls with the number that people judged completely, the rest with the
    number of all queries.

    Args:
        joint: The means of 2 systems or more with their distribution.
        complete: The number of queries that people judged completely.
        queries: The number of all queries.
    """
    within, whole = (Moments(joint.means, np.cov(draws, rowvar=False), inf) for draws in (joint.set_draws, joint.draws))
    pairs = len(joint.differences())
    judged: list[float] = []
    needed: list[float] = []
    both: list[float] = []
    deltas: list[float] = []
    for delta, first, second in neighbours(whole):
        allowed = (delta / errors_apart(pairs=pairs)) ** 2
        inner = within.spread(first, second) ** 2
        outer = max(0.0, whole.spread(first, second) ** 2 - inner)
        deltas.append(delta)
        judged.append(inner / (allowed - outer) if allowed > outer else inf)
        needed.append(outer / (allowed - inner) if allowed > inner else inf)
        both.append((inner + outer) / allowed)
    together = max(judged) == max(needed) == inf
    times = (max(both), max(both)) if together else (max(judged), max(needed))
    return CorrectedRanking(
        chance=order_chance(whole),
        complete=complete,
        judged_more=None if times[0] == inf else missing_of(complete * times[0], complete),
        queries_more=None if times[1] == inf else missing_of(queries * times[1], queries),
        together=together,
        delta=min(deltas),
    )
