"""Bootstrap intervals for means and for differences of means, over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from statistics import NormalDist

import numpy as np

from pipeline.measures.statistics.floats import Floats
from pipeline.measures.statistics.resamples import on_grid, parts, resample_sums
from pipeline.measures.statistics.student import upper_quantile


@dataclass(frozen=True, slots=True)
class Intervals:
    """Lower and upper ends: of means, shape (systems, measures), and of differences, shape (pairs, measures)."""

    mean_low: Floats
    mean_high: Floats
    difference_low: Floats
    difference_high: Floats


def bootstrap_intervals(
    scores: Floats, pairs: Sequence[tuple[int, int]], *, resamples: int, seed: int, confidence: float = 0.95
) -> Intervals:
    """Return intervals from resamples of the queries, the same resamples for all systems (hence paired).

    Percentile intervals at levels widened as far as Student's t interval is wider than the normal one: plain
    percentiles are too narrow for few queries.

    Args:
        scores: shape (queries, systems, measures), finite, at least 2 queries.
        pairs: positions of the two systems of each pair.
        resamples: at least 100; 10,000 settle the third digit.
        seed: not negative; the same one gives the same bits.
        confidence: in (0, 1).

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapter 13; the widening of Hesterberg,
        What teachers should know about the bootstrap (The American Statistician, 2015), section 5.3.
    """
    grid = on_grid(scores)
    queries, systems, _ = scores.shape
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    sums = np.concatenate(list(resample_sums(grid.steps, draws=resamples, seed=seed)))
    below = _rank_below(resamples, widened_tail((1 - confidence) / 2, queries))
    drawn = chain(
        (sums[:, some] for some in parts(systems, sums[:, 0].size)),
        (sums[:, first[some]] - sums[:, second[some]] for some in parts(len(pairs), sums[:, 0].size)),
    )
    ends = [_between(one, below) for one in drawn]
    low, high = (np.concatenate(side) * grid.unit / queries for side in zip(*ends, strict=True))
    return Intervals(low[:systems], high[:systems], low[systems:], high[systems:])


def _between(drawn: Floats, below: int) -> tuple[Floats, Floats]:
    """Return the value with so many of the draws below it, and the one with as many above."""
    above = len(drawn) - 1 - below
    ordered = np.partition(drawn, [below, above], axis=0)
    return ordered[below], ordered[above]


def widened_tail(tail: float, queries: int) -> float:
    """Return the share to leave out on one side so that the interval of normal data is as wide as Student's."""
    reach = upper_quantile(tail, queries - 1) * sqrt(queries / (queries - 1))
    return NormalDist().cdf(-reach)


def _rank_below(resamples: int, tail: float) -> int:
    """Return the position, from 0, of the resample that bounds the tail from below."""
    return max(0, int((resamples + 1) * tail) - 1)
