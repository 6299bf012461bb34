"""Figures on what rankings by this set are worth, measured between the built-in baselines."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import numpy as np

from goldbench.card.baselines import Baselines
from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.detectable import queries_needed
from goldbench.measures.statistics.rank_correlation import FEW_SYSTEMS, split_halves, tau_b_rows
from goldbench.measures.statistics.significance import power
from goldbench.records.set_card import Figure, FigureState, Value
from goldbench.text.display import queries as query_count

RANKINGS = "rankings"
SIZE = "number of queries"
POWER = "minimum detectable difference"
STABILITY = "split-half tau"
FEWEST = 10
"""Fewest queries for any statement on differences between systems."""
SMALL = 0.03
"""A difference of nDCG@10 that people act on; the card says how many queries show it."""
SPLITS = 200
"""Number of random halvings of the queries."""
TAU = "(Kendall's tau, -1 to 1)"
"""The unit of an agreement on the order of systems: 1 is the same order, -1 the opposite one."""
_NOT_YOURS = "Between the baselines, not between your systems."
_CHANCE = " It tells how much is chance, not whether people's queries rank the baselines so."


def ranking_figures(material: DescribedSet, baselines: Baselines, *, seed: int) -> Iterator[Figure]:
    """Yield the figures on rankings.

    Args:
        material: The gold set.
        baselines: The rankings and scores of the baselines.
        seed: Seed of all draws, 0 or more.
    """
    yield _size(material)
    yield _detectable_difference(baselines, seed)
    yield _stability(material, baselines, seed)


def _size(material: DescribedSet) -> Figure:
    count = sum(bool(material.relevant(query_id)) for query_id in material.queries)
    return figure(
        RANKINGS,
        SIZE,
        count,
        "The minimum detectable difference says what they show; to halve it takes four times the queries.",
        unit=f"{'query' if count == 1 else 'queries'} with a relevant passage",
        limit=(">= 100, better 300", count >= 100),
    )


def _too_few(baselines: Baselines) -> str:
    """Return why the baselines cannot be compared; empty if they can."""
    if len(baselines.query_ids) < FEWEST:
        return f"{query_count(len(baselines.query_ids))}: too few to compare systems, at least {FEWEST} are needed"
    return "fewer than two baselines could be run" if len(baselines.names) < 2 else ""


def _detectable_difference(baselines: Baselines, seed: int) -> Figure:
    reason = _too_few(baselines)
    if reason:
        return absent(RANKINGS, POWER, reason)
    power_of_set = power(baselines.scores, seed=seed)
    pairs = power_of_set.pairs
    if not power_of_set.deviation:
        reason = "the baselines score the same on most queries, so the spread is not known"
        return absent(RANKINGS, POWER, reason)
    values: dict[str, Value] = {"standard deviation of differences": power_of_set.deviation}
    any_pair = f"no difference between any one of {pairs} pairs"
    if isfinite(power_of_set.detectable_holm):
        values[f"any of {pairs} pairs"] = power_of_set.detectable_holm
        any_pair = f"{power_of_set.detectable_holm:.3f} between any one of {pairs} pairs"
    for number in sorted({1, pairs}):
        needed = queries_needed(power_of_set.deviation, SMALL, pairs=number)
        values[f"queries for {SMALL}, {number} pair{'s' * (number > 1)}"] = needed
    values[f"of {pairs} pairs told apart"] = power_of_set.separated
    return figure(
        RANKINGS,
        POWER,
        power_of_set.detectable,
        f"{len(baselines.query_ids):,} queries show a difference of {power_of_set.detectable:.3f} nDCG@10 between two "
        f"systems chosen beforehand and {any_pair} in four of five cases (0.05, Holm, median spread of the baselines' "
        "pairs).",
        unit="nDCG@10",
        values=values,
    )


def _stability(material: DescribedSet, baselines: Baselines, seed: int) -> Figure:
    reason = _too_few(baselines)
    if not reason and len(baselines.names) < FEW_SYSTEMS:
        reason = f"{len(baselines.names)} baselines could be run, and tau needs {FEW_SYSTEMS}"
    if reason:
        return absent(RANKINGS, STABILITY, reason)
    half = len(baselines.query_ids) // 2
    taus = tau_b_rows(*split_halves(baselines.scores, size=half, splits=SPLITS, seed=seed))
    taus = taus[~np.isnan(taus)]
    if len(taus) < SPLITS / 2:
        return absent(RANKINGS, STABILITY, "in most draws of queries all systems have the same score")
    tau = float(taus.mean())
    low, high = np.quantile(taus, [0.025, 0.975])
    settled = tau >= 0.8
    order = "alike" if settled else "differently, so rankings are not settled"
    return figure(
        RANKINGS,
        STABILITY,
        tau,
        f"Two halves of the queries ({half:,} each, {SPLITS} splits) order {len(baselines.names)} systems {order}. "
        f"{_NOT_YOURS}{_CHANCE if material.simulated else ''}",
        unit=TAU,
        values={"2.5 %": float(low), "97.5 %": float(high), "systems": len(baselines.names), "queries in a half": half},
        limit=(None, FigureState.INFO) if material.simulated and settled else (">= 0.8", settled),
    )
