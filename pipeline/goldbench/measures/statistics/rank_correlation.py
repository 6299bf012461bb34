"""How alike two lists of scores order systems: Kendall's tau-b and AP correlation, with intervals over queries.

A figure is NaN if it is undefined because one list gives all systems the same score.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import numpy.typing as npt

from goldbench.measures.result import ROUNDING
from goldbench.measures.statistics.floats import Floats, of_finite_numbers
from goldbench.measures.statistics.intervals import percentile_ends
from goldbench.measures.statistics.resamples import on_grid, resample_sums

FEW_SYSTEMS = 8
"""Below this number of systems tau takes so few values that it says little."""

_SPLITS = 3
"""Number that separates this use of a seed from those in ``goldbench.measures.statistics.resamples``."""


def tau_b_rows(first: Floats, second: Floats) -> Floats:
    """Return tau-b row by row, shape (rows), -1 to 1; scores have the shape (rows, systems).

    Pairs of systems ordered alike, less those ordered otherwise, over the geometric mean of the pairs that are not tied
    in each list.

    Source: Kendall, The treatment of ties in ranking problems (Biometrika, 1945).
    """
    one, other = np.triu_indices(first.shape[1], k=1)
    a = _signs(first[:, one] - first[:, other])
    b = _signs(second[:, one] - second[:, other])
    untied = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(untied > 0, (a * b).sum(axis=1) / untied, np.nan))


def tau_ap(reference: Floats, judged: Floats) -> float:
    """Return the AP correlation of a ranking by ``judged`` with the true one by ``reference``, -1 to 1.

    Mistakes near the top of the ranking by ``judged`` weigh more: for each system but the first, the share of those
    ranked above it that ``reference`` puts above it too. Systems level in ``judged`` count as the mean over all orders
    of them; systems level in ``reference`` are right to one half. Not symmetric.

    Args:
        reference: One score per system, finite.
        judged: As in ``reference``, of the ranking that is examined.

    Source: Yilmaz, Aslam, Robertson, A new rank correlation coefficient for information retrieval (SIGIR 2008); ties in
        the examined ranking as in Urbano and Marrero, The treatment of ties in AP correlation (ICTIR 2017), tau_AP,a.
    """
    return float(tau_ap_rows(reference[None, :], judged[None, :])[0])


def tau_ap_rows(reference: Floats, judged: Floats) -> Floats:
    """Return the AP correlation row by row, shape (rows); scores have the shape (rows, systems)."""
    rows, systems = reference.shape
    total = np.zeros(rows)
    if systems < 2:
        return np.full(rows, np.nan)
    for system in range(systems):
        order = _signs(judged - judged[:, [system]])
        right = (1.0 + _signs(reference - reference[:, [system]])) / 2
        above, level = order > 0, order == 0
        level[:, system] = False
        ahead, beside = above.sum(axis=1), level.sum(axis=1)
        sure = np.where(above, right, 0.0).sum(axis=1)
        mean_beside = np.where(level, right, 0.0).sum(axis=1) / np.maximum(beside, 1)
        total += _expected_share(ahead, beside, sure, mean_beside)
    spread = (np.ptp(reference, axis=1) > ROUNDING) & (np.ptp(judged, axis=1) > ROUNDING)
    return np.asarray(np.where(spread, 2 * total / (systems - 1) - 1, np.nan))


def _expected_share(
    ahead: npt.NDArray[np.int64], beside: npt.NDArray[np.int64], sure: Floats, mean_beside: Floats
) -> Floats:
    """Return the expected share of systems rightly above, over the places that a tied system may take."""
    share = np.zeros(len(ahead))
    for extra in range(int(beside.max(initial=0)) + 1):
        place = ahead + extra
        counts = (extra <= beside) & (place > 0)
        share += np.where(counts, (sure + extra * mean_beside) / np.maximum(place, 1) / (beside + 1), 0.0)
    return share


def split_halves(scores: Floats, *, size: int, splits: int, seed: int) -> tuple[Floats, Floats]:
    """Return the means of every system over two disjoint draws of queries, shapes (splits, systems).

    Args:
        scores: Shape (queries, systems), finite.
        size: Number of queries in each draw, at most half of them.
        splits: Number of pairs of draws.
        seed: Not negative; the same seed gives the same bits.
    """
    queries = len(scores)
    stream = np.random.PCG64(np.random.SeedSequence([seed, _SPLITS, size]))
    keys = stream.random_raw(splits * queries).reshape(splits, queries)
    order = np.argsort(keys, axis=1, kind="stable")
    grid = on_grid(scores[:, :, None])
    steps = grid.steps[:, :, 0]
    halves = []
    for part in (order[:, :size], order[:, size : 2 * size]):
        chosen = np.zeros((splits, queries))
        np.put_along_axis(chosen, part, 1.0, axis=1)
        with of_finite_numbers():
            sums = chosen @ steps
        halves.append(sums * grid.unit[0] / size)
    return halves[0], halves[1]


def _signs(differences: Floats) -> Floats:
    return np.asarray(np.where(np.abs(differences) <= ROUNDING, 0.0, np.sign(differences)))


Rows = Callable[[Floats, Floats], Floats]
"""A correlation row by row: `rank_correlation.tau_b_rows` or `tau_ap_rows`."""

_TAIL = 0.04
"""Share of the resamples beyond each end. With its mirror image the interval covers 95 %: see `order_interval`."""
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
    ends = percentile_ends(drawn, queries, _TAIL)
    if np.isnan(value) or ends is None:
        return None
    low, high = ends
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
