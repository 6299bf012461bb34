"""What noise in a query costs: noisy queries against the queries they were made from, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum, isnan

import numpy as np

from goldbench.measures.result import Result
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.records.scorecard import Score


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
        seed: As in `bootstrap_intervals`.
    """
    row = {query_id: place for place, query_id in enumerate(result.query_ids)}
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
        low, high = float(ends.difference_low[0, 0]), float(ends.difference_high[0, 0])
        differences[measure] = Score(mean=mean, low=low, high=high)
    return NoiseLoss(len(pairs), differences, over)
