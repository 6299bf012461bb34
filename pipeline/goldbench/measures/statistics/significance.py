"""Paired comparisons of systems: randomization test, t test, Holm, detectable difference, and power of a query set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from goldbench.measures.result import ROUNDING
from goldbench.measures.statistics.detectable import detectable_difference, detectable_hits
from goldbench.measures.statistics.floats import Floats, two_sided_p
from goldbench.measures.statistics.intervals import Intervals, bootstrap_intervals
from goldbench.measures.statistics.resamples import on_grid, parts, sign_sums
from goldbench.records.scorecard import Comparison, Method, Verdict


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


TIE = 0.01
"""Two scores of a query that differ by less than this are a tie."""

LEAST_WIN = TIE - ROUNDING
"""The smallest difference that a win has: rounding does not make a tie of a difference of ``TIE``."""


class WinTieLoss(NamedTuple):
    """Numbers of queries that the first system wins, ties and loses."""

    wins: int
    ties: int
    losses: int


def win_tie_loss(differences: Floats) -> WinTieLoss:
    """Return how many differences, first minus second, are wins, ties and losses.

    Args:
        differences: One per query, finite.
    """
    wins = int((differences >= LEAST_WIN).sum())
    losses = int((differences <= -LEAST_WIN).sum())
    return WinTieLoss(wins, len(differences) - wins - losses, losses)


_ALPHA = 0.05


def compare(
    scores: Floats,
    systems: Sequence[str],
    measures: Sequence[str],
    method: Method,
    *,
    tested: Sequence[str] | None = None,
    baseline: str | None = None,
) -> tuple[list[Comparison], Intervals]:
    """Return every pair of systems on every measure, Holm over all of them, and the intervals of all means.

    Args:
        scores: Shape (queries, systems, measures), finite; at least 2 queries.
        systems: Names of the systems, at least 2.
        measures: Names of the measures, at least 1.
        method: Numbers of draws, seed and levels; ``alpha`` bounds the probability of any wrong claim.
        tested: The measures that pairs are compared by; None for all.
        baseline: The system that every other is compared with; None for all pairs.

    Raises:
        ValueError: Fewer than 2 queries or systems, no measure, or a score that is not finite.
    """
    if len(scores) < 2 or len(systems) < 2 or not measures or not np.isfinite(scores).all():
        raise ValueError("comparing takes at least 2 queries, 2 systems and 1 measure, and finite scores")
    pairs = [
        pair for pair in combinations(range(len(systems)), 2) if baseline in {None, systems[pair[0]], systems[pair[1]]}
    ]
    columns = [measures.index(measure) for measure in (measures if tested is None else tested)]
    p = sign_flip_p(scores[:, :, columns], pairs, permutations=method.permutations, seed=method.seed)
    adjusted = np.reshape(holm(p.ravel().tolist()), p.shape)
    intervals = bootstrap_intervals(
        scores, pairs, resamples=method.resamples, seed=method.seed, confidence=method.confidence
    )
    comparisons = []
    for row, (first, second) in enumerate(pairs):
        for rank, column in enumerate(columns):
            apart = scores[:, first, column] - scores[:, second, column]
            mean = float(apart.mean())
            deviation = deviation_of(apart)
            wins, ties, losses = win_tie_loss(apart)
            comparisons.append(
                Comparison(
                    measure=measures[column],
                    first=systems[first],
                    second=systems[second],
                    queries=len(scores),
                    difference=mean,
                    low=float(intervals.difference_low[row, column]),
                    high=float(intervals.difference_high[row, column]),
                    p=float(p[row, rank]),
                    p_holm=float(adjusted[row, rank]),
                    p_t=_t_test(mean, deviation, len(apart)),
                    wins=wins,
                    ties=ties,
                    losses=losses,
                    effect_size=mean / deviation if deviation else None,  # Cohen's d_z
                    detectable=detectable(apart, method),
                    detectable_holm=detectable(apart, method, pairs=p.size),
                    verdict=_verdict(apart, float(adjusted[row, rank]), method.alpha),
                )
            )
    return comparisons, intervals


def deviation_of(differences: Floats) -> float:
    """Return the standard deviation (n - 1) of at least 2 differences, 0 if rounding alone sets them apart."""
    deviation = float(differences.std(ddof=1))
    return deviation if deviation > ROUNDING else 0.0


def detectable(differences: Floats, method: Method, *, pairs: int = 1) -> float | None:
    """Return the difference that so many queries with such a spread show, or None if they can show none.

    Args:
        differences: One per query, at least 2.
        method: Level of the test.
        pairs: Number of comparisons that are corrected together.
    """
    is_of_hits = bool(np.isin(differences, (-1, 0, 1)).all())
    find = detectable_hits if is_of_hits else detectable_difference
    shown = find(deviation_of(differences), len(differences), pairs=pairs, alpha=method.alpha)
    return shown if isfinite(shown) else None


def _t_test(mean: float, deviation: float, queries: int) -> float | None:
    """Return the two-sided p of the paired t test, in (0, 1], or None if all differences are equal.

    Source: Student, The probable error of a mean (Biometrika, 1908).
    """
    return two_sided_p(mean / deviation * sqrt(queries), queries - 1) if deviation else None


def sign_flip_p(scores: Floats, pairs: Sequence[tuple[int, int]], *, permutations: int, seed: int) -> Floats:
    """Return two-sided p-values in (0, 1], shape (pairs, measures).

    Under the null hypothesis the two systems' labels could be swapped on any query, so every sign of a difference is
    as likely as the other. ``p = (1 + draws at least as far from 0 as the observed sum) / (1 + permutations)``; sums
    within rounding of each other count as equal. One matrix of signs serves all pairs and measures, so the value of a
    pair does not depend on the other systems. On measures of two or three values (hit, r with one
    relevant document) many sums are equal, and the test rejects less often than its level.

    Args:
        scores: Shape (queries, systems, measures), finite.
        pairs: Positions of the two systems of each pair.
        permutations: Number of sign vectors to draw, at least 1.
        seed: Not negative; the same seed gives the same bits.

    Source: Smucker, Allan, Carterette, A comparison of statistical significance tests for information retrieval
        evaluation (CIKM 2007); the +1 of Phipson and Smyth, Permutation p-values should never be zero (2010).
    """
    steps = on_grid(scores).steps
    first, second = (list(side) for side in zip(*pairs, strict=True))
    total = steps.sum(axis=0)
    observed = total[first] - total[second]
    threshold = np.abs(observed) - 2 * len(steps)
    reached = np.zeros(observed.shape, dtype=np.int64)
    for sums in sign_sums(steps, draws=permutations, seed=seed):
        for some in parts(len(first), sums[:, 0].size):
            flipped = 2 * (sums[:, first[some]] - sums[:, second[some]]) - observed[some]
            reached[some] += (np.abs(flipped) >= threshold[some]).sum(axis=0)
    return (reached + 1) / (permutations + 1)


def _verdict(differences: Floats, p_holm: float, alpha: float) -> Verdict:
    if (np.abs(differences) <= ROUNDING).all():
        return Verdict.SAME
    if p_holm > alpha:
        return Verdict.NOT_SEPARABLE
    return Verdict.FIRST if differences.mean() > 0 else Verdict.SECOND


@dataclass(frozen=True, slots=True)
class Power:
    """Numbers of pairs of systems, and how many of them the queries separate.

    ``separated`` of ``pairs`` differ after Holm, ``deviation`` is the median standard deviation of per-query
    differences. ``detectable`` is the difference that the queries show with probability 0.8 between two systems decided
    on in advance, ``detectable_holm`` between any one of the pairs after Holm; ``inf`` if they cannot show any.
    """

    pairs: int
    separated: int
    deviation: float
    detectable: float
    detectable_holm: float


def power(scores: Floats, *, permutations: int = 10_000, seed: int = 0) -> Power:
    """Return which of these systems the queries tell apart.

    Args:
        scores: Shape (queries, systems), finite; at least 2 of each.
        permutations: Number of draws of the paired sign-flip test.
        seed: Not negative.
    """
    pairs = list(combinations(range(scores.shape[1]), 2))
    p = sign_flip_p(scores[:, :, None], pairs, permutations=permutations, seed=seed)[:, 0].tolist()
    deviations = [float((scores[:, a] - scores[:, b]).std(ddof=1)) for a, b in pairs]
    deviation = float(np.median(deviations))
    deviation = deviation if deviation > ROUNDING else 0.0
    alone, adjusted = (
        detectable_difference(deviation, len(scores), pairs=count, alpha=_ALPHA) for count in (1, len(pairs))
    )
    return Power(
        pairs=len(pairs),
        separated=sum(value <= _ALPHA for value in holm(p)),
        deviation=deviation,
        detectable=alone,
        detectable_holm=adjusted,
    )
