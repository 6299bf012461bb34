"""Intervals of a rank correlation over queries, and its ceiling: the correlation of two sets of queries like these."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import rank_below, widened_tail
from goldbench.measures.statistics.resamples import on_grid, resample_sums

Rows = Callable[[Floats, Floats], Floats]
"""A correlation row by row: `rank_correlation.tau_b_rows` or `tau_ap_rows`."""

_TAIL = 0.04
"""Share of the resamples beyond each end. With its mirror image the interval covers 95 %: see `order_interval`."""
_DEFINED = 0.95
"""An interval is given if the correlation is defined in at least this share of the resamples."""
_OTHER = 1 << 32
"""Added to a seed for draws that are independent of those with the seed."""


def order_interval(
    reference: Floats, judge: Floats, rows: Rows, *, paired: bool, resamples: int, seed: int
) -> tuple[float, float] | None:
    """Return the 95 % interval of the correlation of two orders of systems, over queries like these; None if unknown.

    Resampled queries add noise to an order that already holds noise, so the correlations of resamples lie below the
    one observed, and their percentiles alone miss the true one of many systems and few queries. What resampling does
    to the observed value, the queries have done to the true one: the mirror image of the percentiles at the observed
    value corrects that, but is too short for few systems. The interval spans both, each at 92 %.
    It covers 93 to 98 % for 15 systems or more, and more than that for fewer, where both orders agree well, and 85 to
    94 % where they hardly do: ``python -m tests.benchmarks.coverage 2000 tau``.

    Args:
        reference: Scores of the systems, shape (queries, systems), finite.
        judge: The same under the other labels, shape (their queries, systems).
        rows: The correlation.
        paired: Whether both are over the same queries in the same order, which are then drawn together.
        resamples: Number of resamples, at least 100.
        seed: Not negative.

    Source: Efron and Tibshirani, An introduction to the bootstrap (1993), chapter 13 for percentiles; Davison and
        Hinkley, Bootstrap methods and their application (1997), section 5.2, for their mirror image (basic interval).
        Taking both is our own.
    """
    queries = min(len(reference), len(judge))
    if queries < 2:
        return None
    value = float(rows(reference.mean(axis=0)[None], judge.mean(axis=0)[None])[0])
    drawn = rows(*_resampled(reference, judge, paired=paired, draws=resamples, seed=seed))
    defined = np.sort(drawn[~np.isnan(drawn)])
    if np.isnan(value) or len(defined) < _DEFINED * resamples:
        return None
    below = rank_below(len(defined), widened_tail(_TAIL, queries))
    low, high = float(defined[below]), float(defined[len(defined) - 1 - below])
    return max(-1.0, min(low, 2 * value - high)), min(1.0, max(high, 2 * value - low))


def _resampled(reference: Floats, judge: Floats, *, paired: bool, draws: int, seed: int) -> tuple[Floats, Floats]:
    if paired:
        both = resampled_means(np.concatenate([reference, judge], axis=1), draws=draws, seed=seed)
        return both[:, : reference.shape[1]], both[:, reference.shape[1] :]
    return resampled_means(reference, draws=draws, seed=seed), resampled_means(judge, draws=draws, seed=seed + _OTHER)


def resampled_means(scores: Floats, *, draws: int, seed: int, size: int | None = None) -> Floats:
    """Return the means of resampled queries, shape (draws, systems).

    Args:
        scores: Shape (queries, systems), finite, at least 1 query.
        draws: Number of resamples.
        seed: Not negative.
        size: Number of queries in each resample; None for as many as there are.
    """
    grid = on_grid(scores[:, :, None])
    sums = np.concatenate(list(resample_sums(grid.steps, draws=draws, seed=seed, size=size)))
    return np.asarray(sums[:, :, 0] * grid.unit[0] / (len(scores) if size is None else size))


def two_sets(scores: Floats, sizes: tuple[int, int], *, draws: int, seed: int) -> tuple[Floats, Floats]:
    """Return the means of two independent sets of resampled queries, shapes (draws, systems).

    The systems at hand differ by more than they truly do, because their means hold noise. Their differences are shrunk
    by as much before drawing; without that two drawn sets are more alike than two real ones.

    Args:
        scores: Shape (queries, systems), finite, at least 2 of each.
        sizes: Numbers of queries of the two sets.
        draws: As in `resampled_means`.
        seed: As in `resampled_means`.
    """
    level = scores - _excess(scores)
    one, other = (
        resampled_means(level, draws=draws, seed=start, size=size)
        for size, start in zip(sizes, (seed, seed + _OTHER), strict=True)
    )
    return one, other


def _excess(scores: Floats) -> Floats:
    """Return how much farther each system's mean is from the mean of all than its true distance, shape (systems,)."""
    means = scores.mean(axis=0)
    within = scores - scores.mean(axis=1, keepdims=True)
    seen, noise = float(means.var(ddof=1)), float(within.var(axis=0, ddof=1).sum()) / (len(means) - 1) / len(scores)
    kept = sqrt(max(0.0, 1 - noise / seen)) if seen else 0.0
    return np.asarray((1 - kept) * (means - means.mean()))
