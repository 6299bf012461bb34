"""Intervals of scores within 0 and 1 that are equal for most queries, such as hits.

Resamples of equal scores show no spread. What queries like these may do is then known from the bounds of a score.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.student import upper_quantile

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
        tail: As in `replace_sparse`.

    Source: Wilson, Probable inference, the law of succession, and statistical inference (JASA, 1927); the number of
        equivalent trials after Korn and Graubard (Survey Methodology 24(2), 1998). Drawing the variance is our own.
    """
    queries, mean = len(scores), scores.mean(axis=0)
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
        tail: As in `replace_sparse`.

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
