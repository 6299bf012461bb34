"""Figures of a run on queries of particular kinds: means by kind, the loss by noise, queries without an answer."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, isnan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.optimize import brentq

from goldbench.measures.result import Result
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.records.query import Level
from goldbench.records.scorecard import Score

_TINY = 1e-12
"""Error of an end of an interval, and its distance from an area without any spread."""


@dataclass(frozen=True, slots=True)
class Separation:
    """The area under the ROC curve with its interval, and the number of queries on both sides.

    ``auroc`` is the chance that a query with an answer scores higher than one without, ties counting half: 1 tells all
    of them apart, 0.5 none.
    """

    auroc: float
    low: float
    high: float
    answerable: int
    unanswerable: int


def separation(answerable: Sequence[float], unanswerable: Sequence[float], *, confidence: float = 0.95) -> Separation:
    """Return how well scores separate two groups of queries.

    Args:
        answerable: The best score of each query with an answer; minus infinity for a query without results.
        unanswerable: The same of each query without an answer. Both groups hold at least 1.
        confidence: In (0, 1).

    Source: the area is Mann and Whitney's statistic; the interval is method 5 of Newcombe, Confidence intervals for an
        effect size measure based on the Mann-Whitney statistic, part 2 (Statistics in Medicine, 2006), which holds for
        few queries and for areas of 0 and 1.
    """
    ordered = sorted(unanswerable)
    wins = sum(bisect_left(ordered, score) + bisect_right(ordered, score) for score in answerable)
    area = wins / 2 / (len(answerable) * len(unanswerable))
    z = NormalDist().inv_cdf((1 + confidence) / 2)

    def distance(theta: float) -> float:
        return abs(area - theta) - z * _error(theta, len(answerable), len(unanswerable))

    low = brentq(distance, 0.0, min(area, 1 - _TINY), xtol=_TINY) if area > 0 else 0.0
    high = brentq(distance, max(area, _TINY), 1.0, xtol=_TINY) if area < 1 else 1.0
    return Separation(area, float(low), float(high), len(answerable), len(unanswerable))


def _error(theta: float, first: int, second: int) -> float:
    """Return the standard error of an area of ``theta``."""
    spread = (first + second) / 2 - 1
    inside = 1 + spread * ((1 - theta) / (2 - theta) + theta / (1 + theta))
    return sqrt(theta * (1 - theta) * inside / (first * second))


@dataclass(frozen=True, slots=True)
class NoiseLoss:
    """The mean difference noisy minus original of each measure, over the pairs that have both; below 0 is a loss.

    ``over`` holds the number of pairs of a measure that is not defined for all of them.
    """

    pairs: int
    differences: Mapping[str, Score]
    over: Mapping[str, int] = field(default_factory=dict)


def noise_loss(
    result: Result, originals: Mapping[str, str], *, resamples: int = 10_000, seed: int = 0
) -> NoiseLoss | None:
    """Return the difference of each measure with its paired bootstrap interval; None without a pair.

    Args:
        result: The scores of a run.
        originals: The id of the original by that of the noisy query.
        resamples: Number of resamples of the pairs.
    """
    row = {query_id: position for position, query_id in enumerate(result.query_ids)}
    pairs = [(row[noisy], row[first]) for noisy, first in sorted(originals.items()) if noisy in row and first in row]
    if not pairs:
        return None
    differences: dict[str, Score] = {}
    over: dict[str, int] = {}
    for measure, values in result.values.items():
        both = [(values[noisy], values[first]) for noisy, first in pairs]
        both = [pair for pair in both if not any(map(isnan, pair))]
        if not both:
            continue
        if len(both) < len(pairs):
            over[measure] = len(both)
        mean = fsum(noisy - first for noisy, first in both) / len(both)
        if len(both) < 2:
            differences[measure] = Score(mean=mean)
            continue
        scores = np.asarray(both, dtype=np.float64)[:, :, None]
        ends = bootstrap_intervals(scores, [(0, 1)], resamples=resamples, seed=seed)
        low = float(ends.difference_low[0, 0])
        high = float(ends.difference_high[0, 0])
        differences[measure] = Score(mean=mean, low=low, high=high)
    return NoiseLoss(len(pairs), differences, over)


@dataclass(frozen=True, slots=True)
class Kind:
    """The queries of one kind: how many, and their mean of each measure that is defined for one of them."""

    queries: int
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Special:
    """The figures of one run on queries of particular kinds.

    ``noise`` has the loss of each noise and of all of them; ``unanswerable`` is the number of queries without an
    answer, 0 if the run holds none of them, ``empty`` the number of these without results; ``separation`` is None if
    there are none, or if every first result has the same score.
    """

    kinds: Mapping[str, Kind]
    noise: Mapping[str, NoiseLoss]
    separation: Separation | None
    unanswerable: int
    empty: int


NOT_STATED = "not stated"
"""The name of the queries whose kind the set does not tell."""
ALL_NOISE = "all"
"""The name of all noisy queries together."""


def means_by_kind(result: Result, notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Kind]:
    """Return the means of each kind of queries, the largest kind first; empty if no query has one.

    Args:
        result: The scores of a run.
        notes: What the set notes of each query.
    """
    rows: dict[str, list[int]] = {}
    for row, query_id in enumerate(result.query_ids):
        kind = notes.get(query_id, {}).get("kind")
        rows.setdefault(kind if isinstance(kind, str) else NOT_STATED, []).append(row)
    if rows.keys() <= {NOT_STATED}:
        return {}
    return {kind: _kind(result, rows[kind]) for kind in sorted(rows, key=lambda kind: (-len(rows[kind]), kind))}


def level_in(notes: Mapping[str, Any]) -> str | None:
    """Return the level of a query's difficulty, None if its notes do not tell."""
    difficulty = notes.get("difficulty")
    level = difficulty.get("level") if isinstance(difficulty, Mapping) else None
    return level if level in set(Level) else None


def _kind(result: Result, rows: Sequence[int]) -> Kind:
    means = {}
    for measure, values in result.values.items():
        defined = [values[row] for row in rows if not isnan(values[row])]
        if defined:
            means[measure] = fsum(defined) / len(defined)
    return Kind(len(rows), means)


def losses(
    result: Result, originals: Mapping[str, str], notes: Mapping[str, Mapping[str, Any]]
) -> dict[str, NoiseLoss]:
    """Return the loss by each noise if there are several, and by all of them.

    Args:
        result: The scores of a run.
        originals: The id of the original by that of the noisy query.
        notes: What the set notes of each query.
    """
    by_noise: dict[str, dict[str, str]] = {}
    for noisy, first in originals.items():
        by_noise.setdefault(str(notes.get(noisy, {}).get("noise") or ALL_NOISE), {})[noisy] = first
    groups = {**(by_noise if len(by_noise) > 1 else {}), ALL_NOISE: dict(originals)}
    loss_of_noise = [(noise, noise_loss(result, pairs)) for noise, pairs in sorted(groups.items())]
    return {noise: loss for noise, loss in loss_of_noise if loss is not None}
