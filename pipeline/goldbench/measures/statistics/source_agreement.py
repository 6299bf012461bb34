"""Whether two independent sources of queries, or of labels, rank the same systems alike.

A source is a table of scores, shape (queries, systems). Nobody knows the true ranking, but two sources that were made
differently and still agree are hardly wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.order_intervals import resampled_means
from goldbench.measures.statistics.rank_correlation import FEW_SYSTEMS, kendall_tau_b, tau_b_rows

RESAMPLES = 500
"""Draws of the queries for one interval, which needs their standard deviation only."""


@dataclass(frozen=True, slots=True)
class RankingAgreement:
    """Kendall's tau-b of the rankings by two sources, its interval over the queries of both, and the spread of draws.

    ``lowest`` and ``highest`` are the taus of single draws of the second source (seeds), equal to ``tau`` for one draw.
    """

    tau: float
    low: float
    high: float
    lowest: float
    highest: float


def ranking_agreement(
    first: Floats, draws: Sequence[Floats], *, seed: int, paired: bool = False, confidence: float = 0.95
) -> RankingAgreement | None:
    """Return how alike a source and the draws of another, taken together, rank systems; None if tau is undefined.

    The interval is for the tau that two sets of these sizes have on average, not for that of endless sets, which is
    higher: noise in the means lowers tau. From 8 systems on its width is the standard deviation of tau over resampled
    queries, on Fisher's scale; resampling itself adds noise, so the quantiles of the resamples lie too low. With fewer
    systems tau has few values, and the interval has these quantiles and tau itself; it is then too wide.

    Args:
        first: Scores of at least 2 queries, shape (queries, systems), finite.
        draws: Scores of the second source by seed, each of the shape (queries, systems), with 2 queries in all.
        seed: Seed of the resamples, not negative.
        paired: Whether both sources have the same queries in the same order, as labels of two judges do; they are then
            resampled together.
        confidence: Between 0 and 1.

    Raises:
        ValueError: The sources have different systems, a source has fewer than 2 queries, there is no draw, or paired
            sources differ in their number of queries.

    Source: Kendall, The treatment of ties in ranking problems (Biometrika, 1945), for tau-b; Efron and Tibshirani, An
        introduction to the bootstrap (1993), chapter 12, for intervals of a transformed figure.
    """
    if not draws or {one.shape[1] for one in draws} != {first.shape[1]}:
        raise ValueError("the sources must have scores of the same systems")
    second = np.concatenate(draws)
    if min(len(first), len(second)) < 2:
        raise ValueError("a source needs at least 2 queries")
    if paired and len(first) != len(second):
        raise ValueError("paired sources must have the same queries")
    tau = kendall_tau_b(first.mean(axis=0), second.mean(axis=0))
    one = resampled_means(first, draws=RESAMPLES, seed=2 * seed)
    other = resampled_means(second, draws=RESAMPLES, seed=2 * seed + (not paired))
    resampled = tau_b_rows(one, other)
    resampled = resampled[np.isfinite(resampled)]
    if not np.isfinite(tau) or len(resampled) < RESAMPLES / 2:
        return None
    singles = [kendall_tau_b(first.mean(axis=0), draw.mean(axis=0)) for draw in draws if len(draw)]
    known = [value for value in singles if np.isfinite(value)] or [tau]
    low, high = _interval(tau, resampled, min(len(first), len(second)), first.shape[1], confidence)
    return RankingAgreement(tau, low, high, min(known), max(known))


def _interval(tau: float, resampled: Floats, queries: int, systems: int, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    if systems < FEW_SYSTEMS:
        low, high = np.quantile(resampled, [tail, 1 - tail])
        return float(min(low, tau)), float(max(high, tau))
    deviation = float(resampled.std(ddof=1)) * np.sqrt(queries / (queries - 1))
    pairs = systems * (systems - 1) / 2
    inside = float(np.clip(tau, -1 + 1 / pairs, 1 - 1 / pairs))
    half = -NormalDist().inv_cdf(tail) * deviation / (1 - inside**2)
    low, high = np.tanh(np.arctanh(inside) + np.array([-half, half]))
    return float(min(low, tau)), float(max(high, tau))
