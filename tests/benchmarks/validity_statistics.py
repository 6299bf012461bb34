"""How far rankings of systems by made queries may be trusted: taus, intervals, ceilings, and rules held out by corpus.

Scores have the shape (systems, queries). A group is a corpus: collections that are translations of one corpus are one
group, since they say one thing several times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import split_halves, tau_b_rows

RESAMPLES, SPLITS = 1_000, 500
LEVELS = (0.025, 0.975)


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and the ends of its 95 % interval."""

    value: float
    low: float
    high: float


def tau(first: Floats, second: Floats) -> float:
    """Return Kendall's tau-b of two rankings by mean score, -1 to 1; NaN if a source cannot tell systems apart."""
    return float(tau_b_rows(first.mean(axis=1)[None], second.mean(axis=1)[None])[0])


def means_of_resamples(scores: Floats, count: int, random: np.random.Generator) -> Floats:
    """Return the systems' means over queries drawn anew, shape (count, systems)."""
    queries = scores.shape[1]
    drawn = random.multinomial(queries, np.full(queries, 1 / queries), size=count)
    return np.asarray(drawn @ scores.T / queries)


def mean_tau(people: Floats, sets: Sequence[Floats]) -> Interval:
    """Return the mean tau of sets of several seeds with people's ranking.

    The interval draws seeds anew, and the queries of each drawn set; people's ranking stays. Its width comes from the
    standard deviation of the draws, on Fisher's scale: their own quantiles lie too low, since drawing adds noise.

    Args:
        people: Scores by people's queries.
        sets: Scores by the set of each seed.
    """
    random = np.random.default_rng(0)
    ranking = np.tile(people.mean(axis=1), (RESAMPLES, 1))
    taus = np.stack([tau_b_rows(ranking, means_of_resamples(one, RESAMPLES, random)) for one in sets])
    chosen = random.integers(len(sets), size=taus.shape)
    deviation = np.nanstd(np.take_along_axis(taus, chosen, axis=0).mean(axis=0))
    mean = float(np.mean([tau(people, one) for one in sets]))
    low, high = np.tanh(np.arctanh(mean) + np.array([-1.96, 1.96]) * deviation / (1 - mean**2))
    return Interval(mean, float(low), float(high))


def ceiling(people: Floats) -> Interval:
    """Return the mean tau of two full sets of people's queries, each drawn anew, and the spread of the draws."""
    random = np.random.default_rng(0)
    first, second = (means_of_resamples(people, SPLITS, random) for _ in range(2))
    return _spread(tau_b_rows(first, second))


def halves(people: Floats) -> Interval:
    """Return the mean tau of two separate halves of the queries, and its spread."""
    first, second = split_halves(people.T, size=people.shape[1] // 2, splits=SPLITS, seed=0)
    return _spread(tau_b_rows(first, second))


def _spread(taus: Floats) -> Interval:
    low, high = np.nanquantile(taus, LEVELS)
    return Interval(float(np.nanmean(taus)), float(low), float(high))


def over_groups(values: Mapping[str, float], group_of: Callable[[str], str]) -> Interval:
    """Return the mean over collections, with an interval that draws groups of collections anew.

    Args:
        values: A figure by collection.
        group_of: Gives the group of a collection.
    """
    groups: dict[str, list[float]] = {}
    for name, value in values.items():
        groups.setdefault(group_of(name), []).append(value)
    sums, sizes = (np.array([reduce(group) for group in groups.values()], float) for reduce in (np.sum, len))
    random = np.random.default_rng(0)
    drawn = random.integers(len(groups), size=(10_000, len(groups)))
    low, high = np.quantile(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1), LEVELS)
    return Interval(float(np.mean(list(values.values()))), float(low), float(high))
