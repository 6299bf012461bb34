"""Whether a pool judged by a fallible judge ranks systems better than the single known label, depth by depth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import tau_b_rows

DRAWS = 60
"""Drawn truths. The mean of 60 differences of tau is off by an eighth of their standard deviation."""

USUAL = (0.05, 0.2, 0.45, 0.6)
"""Shares of pairs that people find relevant, by a model's grade 0 to 3, where nothing is measured."""

STRENGTH = 4.0
"""Judged pairs of a grade from which on what is measured counts more than what is usual."""

SURE = 0.9
"""Share of the drawn truths to which one ranking must be closer to call it better."""

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class JudgedPool:
    """The pairs of a pool, with what is known of each, and the systems to rank.

    ``chance``: probability that the pair is relevant, 1 for a source; shape (pairs,). ``positive``: whether the
    judge finds it relevant. ``source``: whether the query was written from it. ``rank``: its best rank at a retriever
    of the pool, from 1. ``query``: the number of its query. ``top``: the pairs that each system returns for each query,
    best first, -1 for a document outside the pool; shape (systems, queries, cutoff).
    """

    chance: Floats
    positive: Flags
    source: Flags
    rank: Places
    query: Places
    top: Places


@dataclass(frozen=True, slots=True)
class PoolWorth:
    """What a pool down to ``depth`` is worth.

    ``positives`` are found per query beside the source, ``false_share`` of them are expected to be false (None if there
    are none). ``gain`` is the expected tau of the pool with the truth minus that of the single label; ``worse`` is the
    share of the drawn truths to which the single label is closer.
    """

    depth: int
    positives: float
    false_share: float | None
    pool: float
    single: float
    worse: float

    @property
    def harms(self) -> bool | None:
        """Whether the single label is closer to 90 % of the truths or more; False if to 10 % or less, else None."""
        return True if self.worse >= SURE else False if 1.0 - self.worse >= SURE else None

    @property
    def gain(self) -> float:
        """How much closer than the single label the pool is to the truth, in tau; below 0 it does harm."""
        return self.pool - self.single


def relevance_rates(sample: Mapping[int, tuple[float, float]]) -> tuple[float, ...]:
    """Return the probability that a pair is relevant, by the judge's grade 0 to 3.

    Each is ``(relevant + 4 usual) / (pairs + 4)``: the posterior mean of a beta distribution.

    Args:
        sample: Pairs of a random sample that people judged, and how many they found relevant, by the judge's grade: the
            numbers of equally weighted pairs that they are worth.
    """
    counts = [sample.get(grade, (0, 0)) for grade in range(len(USUAL))]
    return tuple((found + STRENGTH * usual) / (n + STRENGTH) for (n, found), usual in zip(counts, USUAL, strict=True))


def pool_worth(pool: JudgedPool, depths: tuple[int, ...], *, seed: int = 0) -> list[PoolWorth]:
    """Return what the pool is worth at each depth: how close its ranking is expected to be to the true one.

    Truths are drawn: every pair is relevant with its probability, independently. Under each, Kendall's tau-b is taken
    between the systems' mean nDCG by the drawn truth and by the judge's labels down to the depth, and by the sources
    alone. Relevant documents outside the pool are not drawn, so a shallow pool looks somewhat better than it is.

    Args:
        pool: The pool.
        depths: The depths to try, from 1 to that of the pool.
        seed: Seed of the draws.
    """
    rng = np.random.default_rng(seed)
    drawn = [(rng.random(len(pool.chance)) < pool.chance) | pool.source for _ in range(DRAWS)]
    truths = np.stack([_means(pool, labels) for labels in drawn])

    def closeness(labels: Flags) -> Floats:
        means = _means(pool, labels)
        return np.asarray(np.nan_to_num(tau_b_rows(np.broadcast_to(means, truths.shape), truths)))

    single, found, queries = closeness(pool.source), [], max(1, pool.top.shape[1])
    for depth in depths:
        labels = pool.source | (pool.positive & (pool.rank <= depth))
        added = labels & ~pool.source
        false = float(1.0 - pool.chance[added].mean()) if added.any() else None
        taus = closeness(labels)
        worse = float((taus < single).mean())
        found.append(
            PoolWorth(depth, float(added.sum()) / queries, false, float(taus.mean()), float(single.mean()), worse)
        )
    return found


def _means(pool: JudgedPool, labels: Flags) -> Floats:
    """Return the mean nDCG of each system under labels; a query without a relevant pair counts for no system."""
    cutoff = pool.top.shape[2]
    discounts = 1.0 / np.log2(np.arange(2, cutoff + 2))
    ideal = np.concatenate([[0.0], np.cumsum(discounts)])
    count = np.bincount(pool.query, weights=labels, minlength=pool.top.shape[1]).astype(np.int64)
    best = ideal[np.minimum(count, cutoff)]
    gains = np.append(labels, False)[pool.top] @ discounts
    return np.asarray((gains / np.where(best > 0, best, 1.0)).mean(axis=1))
