"""Whether and by how much one system is better than another on the same queries, and the detectable difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import NormalDist

import numpy as np

from pipeline.measures.statistics.floats import ROUNDING, Floats
from pipeline.measures.statistics.intervals import Intervals, bootstrap_intervals
from pipeline.measures.statistics.randomization import sign_flip_p
from pipeline.measures.statistics.student import two_sided_p
from schemas.scorecard import Comparison, Verdict

TIE = 0.01
"""Two scores of a query that differ by less than this are a tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a comparison. ``alpha`` bounds the probability of any wrong claim among all comparisons shown."""

    permutations: int = 10_000
    resamples: int = 10_000
    seed: int = 0
    alpha: float = 0.05
    confidence: float = 0.95


@dataclass(frozen=True, slots=True)
class Compared:
    """Comparisons of all pairs on all measures, pair by pair, and their intervals."""

    comparisons: Sequence[Comparison]
    intervals: Intervals


def compare(scores: Floats, systems: Sequence[str], measures: Sequence[str], settings: Settings) -> Compared:
    """Return every pair of systems on every measure, Holm over all of them.

    Args:
        scores: Shape (queries, systems, measures), finite; at least 2 queries.
        systems: Names of the systems, at least 2.
        measures: Names of the measures, at least 1.
        settings: Numbers of draws, seed and levels.

    Raises:
        ValueError: Fewer than 2 queries or systems, no measure, or a score that is not finite.
    """
    if len(scores) < 2 or len(systems) < 2 or not measures or not np.isfinite(scores).all():
        raise ValueError("comparing takes at least 2 queries, 2 systems and 1 measure, and finite scores")
    pairs = list(combinations(range(len(systems)), 2))
    p = sign_flip_p(scores, pairs, permutations=settings.permutations, seed=settings.seed)
    adjusted = np.reshape(holm(p.ravel().tolist()), p.shape)
    intervals = bootstrap_intervals(
        scores, pairs, resamples=settings.resamples, seed=settings.seed, confidence=settings.confidence
    )
    comparisons = []
    for row, (first, second) in enumerate(pairs):
        for column, measure in enumerate(measures):
            found = Paired.of(scores[:, first, column] - scores[:, second, column])
            comparisons.append(
                Comparison(
                    measure=measure,
                    first=systems[first],
                    second=systems[second],
                    queries=len(scores),
                    difference=found.mean,
                    low=float(intervals.difference_low[row, column]),
                    high=float(intervals.difference_high[row, column]),
                    p=float(p[row, column]),
                    p_holm=float(adjusted[row, column]),
                    p_t=found.t_test(),
                    wins=found.wins,
                    ties=found.ties,
                    losses=found.losses,
                    effect_size=found.effect_size(),
                    detectable=detectable_difference(found.deviation, len(scores), alpha=settings.alpha),
                    verdict=_verdict(found, float(adjusted[row, column]), settings.alpha),
                )
            )
    return Compared(comparisons, intervals)


@dataclass(frozen=True, slots=True)
class Paired:
    """Figures of the differences of two systems. ``deviation`` is their standard deviation (n - 1)."""

    queries: int
    mean: float
    deviation: float
    wins: int
    ties: int
    losses: int
    same: bool

    @classmethod
    def of(cls, differences: Floats) -> Paired:
        """Return the figures of at least 2 differences, one per query."""
        deviation = float(differences.std(ddof=1))
        wins, losses = int((differences >= TIE - ROUNDING).sum()), int((differences <= ROUNDING - TIE).sum())
        return cls(
            queries=len(differences),
            mean=float(differences.mean()),
            deviation=deviation if deviation > ROUNDING else 0.0,
            wins=wins,
            ties=len(differences) - wins - losses,
            losses=losses,
            same=bool((np.abs(differences) <= ROUNDING).all()),
        )

    def effect_size(self) -> float | None:
        """Return Cohen's d of the differences, or None if they are all equal.

        Source: Cohen, Statistical power analysis for the behavioral sciences (2nd ed., 1988), section 2.3.5 (d_z).
        """
        return self.mean / self.deviation if self.deviation else None

    def t_test(self) -> float | None:
        """Return the two-sided p of the paired t test, in (0, 1], or None if all differences are equal.

        Source: Student, The probable error of a mean (Biometrika, 1908).
        """
        if not self.deviation:
            return None
        return two_sided_p(self.mean / self.deviation * sqrt(self.queries), self.queries - 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p-values in the order given; rejecting those up to alpha bounds the family-wise error by alpha.

    Source: Holm, A simple sequentially rejective multiple test procedure (Scandinavian Journal of Statistics, 1979).
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def detectable_difference(deviation: float, queries: int, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """Return the smallest true mean difference that a two-sided test finds with probability ``power``.

    ``(z(1 - alpha / 2) + z(power)) * deviation / sqrt(queries)``, 2.80 deviations over the root at the usual levels;
    for one comparison, without adjustment for many.

    Args:
        deviation: Standard deviation of the per-query differences.
        queries: Number of queries.
        alpha: Level of the test, in (0, 1).
        power: Probability of finding the difference, in (0, 1).

    Source: Bloom, Minimum detectable effects (Evaluation Review 19(5), 1995).
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * deviation / sqrt(queries)


def _verdict(found: Paired, p_holm: float, alpha: float) -> Verdict:
    if found.same:
        return Verdict.SAME
    if p_holm > alpha:
        return Verdict.NOT_SEPARABLE
    return Verdict.FIRST if found.mean > 0 else Verdict.SECOND
