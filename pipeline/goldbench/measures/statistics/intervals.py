"""Bootstrap intervals for means and for differences of means, over queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.floats import Floats, effective_size, upper_quantile
from goldbench.measures.statistics.resamples import on_grid, parts, resample_sums
from goldbench.records.scorecard import Score

FEW_FOR_PERCENTILES = 15
"""Below this number of queries percentiles alone cover less than they should."""
_DEFINED = 0.95
"""An interval is given if the figure is defined in at least this share of the resamples."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Lower and upper ends of means, shape (systems, measures), and of differences, shape (pairs, measures)."""

    mean_low: Floats
    mean_high: Floats
    difference_low: Floats
    difference_high: Floats


def bootstrap_intervals(
    scores: Floats, pairs: Sequence[tuple[int, int]], *, resamples: int, seed: int, confidence: float = 0.95
) -> Intervals:
    """Return intervals from resamples of the queries, the same resamples for all systems (hence paired).

    Percentile intervals at levels widened as far as Student's t interval is wider than the normal one: plain
    percentiles are too narrow for few queries. No resample reaches beyond the scores at hand, so below
    ``FEW_FOR_PERCENTILES`` queries an interval also spans Student's, as far as scores can go. Scores
    of 0 and 1, and scores that are equal for most queries, have the intervals of `replace_sparse`.

    Args:
        scores: Shape (queries, systems, measures), finite, at least 2 queries.
        pairs: Positions of the two systems of each pair.
        resamples: Number of resamples, at least 100; 10,000 settle the third digit.
        seed: Not negative; the same seed gives the same bits.
        confidence: In (0, 1).

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapter 13; the widening of Hesterberg,
        What teachers should know about the bootstrap (The American Statistician, 2015), section 5.3.
    """
    grid = on_grid(scores)
    queries, systems, _ = scores.shape
    first = [a for a, _ in pairs]
    second = [b for _, b in pairs]
    sums = np.concatenate(list(resample_sums(grid.steps, draws=resamples, seed=seed)))
    below = rank_below(resamples, widened_tail((1 - confidence) / 2, queries))
    drawn = chain(
        (sums[:, some] for some in parts(systems, sums[:, 0].size)),
        (sums[:, first[some]] - sums[:, second[some]] for some in parts(len(pairs), sums[:, 0].size)),
    )
    ends = [_between(means, below) for means in drawn]
    low, high = (np.concatenate(side) * grid.unit / queries for side in zip(*ends, strict=True))
    if queries < FEW_FOR_PERCENTILES:
        _widen(low, high, scores, (first, second), confidence)
    if scores.min(initial=0) >= 0 and scores.max(initial=0) <= 1:
        replace_sparse(low, high, scores, (first, second), (1 - confidence) / 2)
    return Intervals(low[:systems], high[:systems], low[systems:], high[systems:])


def _widen(
    low: Floats, high: Floats, scores: Floats, pairs: tuple[Sequence[int], Sequence[int]], confidence: float
) -> None:
    """Widen the ends of means, then of differences, to Student's, within what scores of 0 to 1 can be."""
    queries, systems, _ = scores.shape
    least = 0.0 if scores.min(initial=0) >= 0 else -np.inf
    most = 1.0 if scores.max(initial=0) <= 1 else np.inf
    means = slice(systems)
    apart = slice(systems, None)
    differences = scores[:, pairs[0]] - scores[:, pairs[1]]
    for rows, table, bottom, top in ((means, scores, least, most), (apart, differences, least - most, most - least)):
        reach = upper_quantile((1 - confidence) / 2, queries - 1) * table.std(axis=0, ddof=1) / sqrt(queries)
        low[rows] = np.minimum(low[rows], np.maximum(table.mean(axis=0) - reach, bottom))
        high[rows] = np.maximum(high[rows], np.minimum(table.mean(axis=0) + reach, top))


def weighted_intervals(
    scores: Floats, weights: Floats, *, resamples: int, seed: int, confidence: float = 0.95
) -> Intervals:
    """Return intervals of weighted means from resamples of the queries, each drawn with its weight.

    A mean is a ratio of two sums that change together, so both are taken in every resample. The intervals are widened
    as those of `bootstrap_intervals`, for the number of queries of equal weight that would be as precise.

    Args:
        scores: Shape (queries, systems, measures), finite, at least 2 queries.
        weights: What each query counts, above 0, in the order of ``scores``.

    Source: Efron and Tibshirani (1993), chapter 13, for the bootstrap of a ratio; Kish, Survey sampling (1965), section
        11.7, for the effective number of queries.
    """
    queries, systems, measures = scores.shape
    share = (weights / weights.mean())[:, None, None]
    table = np.concatenate([scores * share, np.broadcast_to(share, (queries, systems, 1))], axis=2)
    grid = on_grid(table)
    grid.steps[:, :, measures] = np.maximum(grid.steps[:, :, measures], 1.0)  # a weight never rounds to nothing
    sums = np.concatenate(list(resample_sums(grid.steps, draws=resamples, seed=seed))) * grid.unit
    below = rank_below(resamples, widened_tail((1 - confidence) / 2, max(2, int(effective_size(weights)))))
    low, high = _between(sums[:, :, :measures] / sums[:, :, measures:], below)
    none = np.empty((0, measures))
    return Intervals(low, high, none, none)


def score_of(mean: float, ends: Intervals | None, row: int, column: int) -> Score:
    """Return a mean with its interval.

    Args:
        mean: The mean.
        ends: Intervals of means, or None without any.
        row: Position of the system in ``ends``.
        column: Position of the measure in ``ends``.
    """
    if ends is None:
        return Score(mean=mean)
    return Score(mean=mean, low=float(ends.mean_low[row, column]), high=float(ends.mean_high[row, column]))


def _between(drawn: Floats, below: int) -> tuple[Floats, Floats]:
    """Return the value with ``below`` draws below it, and the value with as many above it."""
    above = len(drawn) - 1 - below
    ordered = np.partition(drawn, [below, above], axis=0)
    return ordered[below].copy(), ordered[above].copy()  # a view would keep all draws in memory


def percentile_ends(draws: Floats, queries: int, tail: float) -> tuple[float, float] | None:
    """Return the ends of a widened percentile interval; None for a figure that too few resamples define.

    Args:
        draws: The figure in every resample, NaN where it is undefined.
        queries: Number of queries that were resampled.
        tail: Share to cut off on one side before widening.
    """
    defined = np.sort(draws[~np.isnan(draws)])
    if len(defined) < _DEFINED * len(draws):
        return None
    below = rank_below(len(defined), widened_tail(tail, queries))
    return float(defined[below]), float(defined[len(defined) - 1 - below])


def widened_tail(tail: float, queries: int) -> float:
    """Return the share to cut off on one side so that the interval of normal data is as wide as Student's."""
    reach = upper_quantile(tail, queries - 1) * sqrt(queries / (queries - 1))
    return NormalDist().cdf(-reach)


def rank_below(resamples: int, tail: float) -> int:
    """Return the position, from 0, of the resample that bounds the tail from below."""
    return max(0, int((resamples + 1) * tail) - 1)


FEW_TELLING = 15
"""Below this number of queries that tell something, and if most queries do not, scores count as sparse."""
_PRIOR_QUERIES = 5
"""Number of telling queries from which on the spread at hand counts more than the largest possible one."""
_SAME = 1e-12


def replace_sparse(
    low: Floats, high: Floats, scores: Floats, pairs: tuple[Sequence[int], Sequence[int]], tail: float
) -> None:
    """Replace the ends of means, then of differences, where scores are all 0 or 1, or sparse.

    Two systems with equal scores for all queries keep a difference of 0 without width, unless all scores are 0 or 1.

    Args:
        low: Lower ends of means and of differences, shape (systems + pairs, measures).
        high: Upper ends, same shape.
        scores: Shape (queries, systems, measures), within 0 and 1, at least 2 queries.
        pairs: Positions of the first and of the second system of each pair.
        tail: Probability beyond each end, in (0, 0.5).
    """
    systems = scores.shape[1]
    whole = ((scores == 0) | (scores == 1)).all(axis=0)
    telling = np.minimum((scores > 0).sum(axis=0), (scores < 1).sum(axis=0))
    _replace(low[:systems], high[:systems], mean_limits(scores, tail), whole | is_sparse(telling, len(scores)))
    if not pairs[0]:
        return
    apart = scores[:, pairs[0]] - scores[:, pairs[1]]
    telling = (np.abs(apart) > _SAME).sum(axis=0)
    both = whole[list(pairs[0])] & whole[list(pairs[1])]
    sparse = is_sparse(telling, len(scores)) & (telling > 0)
    _replace(low[systems:], high[systems:], difference_limits(apart, tail), both | sparse)


def is_sparse(telling: npt.NDArray[np.int64], queries: int) -> npt.NDArray[np.bool_]:
    """Return whether scores are sparse: few queries tell something, and most do not.

    Args:
        telling: Number of queries that tell something, any shape.
        queries: Number of queries.
    """
    return np.asarray((telling < FEW_TELLING) & (2 * telling < queries))


def mean_limits(scores: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of means of scores within 0 and 1, shape (systems, measures).

    Wilson's interval with the number of hits or misses that the scores are worth. Scores have at most the variance of
    hits with their mean; if few of them lie above 0 (or below 1), their variance is drawn towards that.

    Args:
        scores: Shape (queries, systems, measures).

    Source: Wilson, Probable inference, the law of succession, and statistical inference (JASA, 1927); the number of
        equivalent trials after Korn and Graubard (Survey Methodology 24(2), 1998). Drawing the variance is our own.
    """
    queries = len(scores)
    mean = scores.mean(axis=0)
    largest = mean * (1 - mean)
    seen = scores.var(axis=0) / np.where(largest > 0, largest, 1.0)
    telling = np.minimum((scores > 0).sum(axis=0), (scores < 1).sum(axis=0))
    effect = np.where(largest > 0, (telling * seen + _PRIOR_QUERIES) / (telling + _PRIOR_QUERIES), 1.0)
    worth = queries / np.maximum(effect, _SAME)
    z = NormalDist().inv_cdf(1 - tail)
    centre = mean + z * z / (2 * worth)
    reach = z * np.sqrt(largest / worth + z * z / (4 * worth * worth))
    low, high = ((centre + side) / (1 + z * z / worth) for side in (-reach, reach))
    return np.where(mean <= 0, 0.0, np.clip(low, 0, mean)), np.where(mean >= 1, 1.0, np.clip(high, mean, 1))


def difference_limits(apart: Floats, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of means of differences within -1 and 1, shape (pairs, measures).

    Student's interval with up to half a query more at -1, half a query at 1 and a query at 0. The more queries differ,
    the less is added.

    Args:
        apart: Differences by query, shape (queries, pairs, measures).

    Source: Agresti and Min, Simple improved confidence intervals for comparing matched proportions (Statistics in
        Medicine 24, 2005), for hits; adding less the more queries differ is our own.
    """
    queries = len(apart)
    telling = (np.abs(apart) > _SAME).sum(axis=0)
    added = _PRIOR_QUERIES / (telling + _PRIOR_QUERIES)
    total = queries + 2 * added
    centre = apart.sum(axis=0) / total
    variance = ((apart * apart).sum(axis=0) + added) / total - centre * centre
    reach = upper_quantile(tail, queries - 1) * np.sqrt(variance / total * (queries / (queries - 1)))
    mean = apart.mean(axis=0)
    return np.clip(centre - reach, -1, mean), np.clip(centre + reach, mean, 1)


def _replace(low: Floats, high: Floats, ends: tuple[Floats, Floats], where: npt.NDArray[np.bool_]) -> None:
    low[where], high[where] = ends[0][where], ends[1][where]
