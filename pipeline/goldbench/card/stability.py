"""Figures on what rankings by this set are worth, measured between the built-in baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

import numpy as np

from goldbench.agreement.rankings import SPLITS, halves
from goldbench.card.baselines import DENSE, WORDS, Baselines
from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.detectable import queries_needed
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import FEW_SYSTEMS
from goldbench.measures.statistics.significance import Power, power
from goldbench.records.set_card import Figure, State, Value
from goldbench.text.display import queries as count_of

ADVANTAGE, POWER, STABILITY = "lexical advantage", "power", "stability"
FEWEST = 10
"""Fewest queries for any statement on differences between systems."""
SMALL = 0.03
"""A difference of nDCG@10 that people act on; the card says how many queries show it."""
_CURVE = (5, 10, 25, 50, 100, 150, 200, 300, 500, 1000)
_OURS = "Between the baselines, not between your systems."
_CHANCE = (
    " It tells how much is chance, not whether people's queries rank the baselines so: see agreement of query sources."
)
TAU = "(Kendall's tau, -1 to 1)"
"""The unit of an agreement on the order of systems: 1 is the same order, -1 the opposite one."""
_EQUAL = 1e-9


def ordering_figures(
    material: DescribedSet, baselines: Baselines, shares: Mapping[str, float], *, seed: int
) -> Iterator[Figure]:
    """Yield the figures on rankings.

    Args:
        material: The gold set.
        baselines: What the baselines found.
        shares: Overlap of each query with its source, from 0 to 1.
        seed: Seed of all draws, 0 or more.
    """
    yield _advantage(baselines, shares)
    yield _size(material)
    reason = _too_few(baselines)
    if reason is None:
        yield from _power(baselines, seed)
    else:
        yield from (absent(POWER, name, reason) for name in ("separable pairs", "minimum detectable difference"))
    yield from _stability(baselines, seed, reason, simulated=material.simulated)


def _too_few(baselines: Baselines) -> str | None:
    if len(baselines.query_ids) < FEWEST:
        return f"{count_of(len(baselines.query_ids))}: too few to compare systems, at least {FEWEST} are needed"
    return "fewer than two baselines could be run" if len(baselines.names) < 2 else None


def _size(material: DescribedSet) -> Figure:
    count = sum(bool(material.relevant(query_id)) for query_id in material.queries)
    return figure(
        POWER,
        "number of queries",
        count,
        "The minimum detectable difference says what they show; to halve it takes four times the queries.",
        unit=f"{'query' if count == 1 else 'queries'} with a relevant passage",
        limit=(">= 100, better 300", count >= 100),
    )


def _advantage(baselines: Baselines, shares: Mapping[str, float]) -> Figure:
    name = "words against dense, by overlap"
    asked = [query_id for query_id in baselines.query_ids if query_id in shares]
    if not {WORDS, DENSE} <= set(baselines.names):
        return absent(ADVANTAGE, name, f"{WORDS} or {DENSE} could not be run")
    if len(asked) < 2 * FEWEST:
        reason = f"{count_of(len(asked))}: too few to be halved by overlap, at least {2 * FEWEST} are needed"
        return absent(ADVANTAGE, name, reason)
    place = {query_id: row for row, query_id in enumerate(baselines.query_ids)}
    ordered = sorted(asked, key=lambda query_id: (shares[query_id], query_id))
    values: dict[str, Value] = {}
    differences = []
    for half, chosen in (("low", ordered[: len(ordered) // 2]), ("high", ordered[len(ordered) // 2 :])):
        means = baselines.scores[[place[query_id] for query_id in chosen]].mean(axis=0)
        difference = float(means[baselines.names.index(WORDS)] - means[baselines.names.index(DENSE)])
        differences.append(difference)
        values[f"{half}: mean overlap"] = float(np.mean([shares[query_id] for query_id in chosen]))
        values[f"{half}: {WORDS} minus {DENSE}, nDCG@10"] = difference
        for system in (WORDS, DENSE):
            values[f"{half}: rank of {system} of {len(baselines.names)}"] = _rank(means, baselines.names.index(system))
    flips = differences[0] * differences[1] < 0 and min(map(abs, differences)) > _EQUAL
    return figure(
        ADVANTAGE,
        name,
        "changes" if flips else "same",
        f"{WORDS} (words) and {DENSE} (dense) {'swap places' if flips else 'keep their order'} between low- and "
        f"high-overlap queries ({len(ordered):,} queries, halved).",
        unit="order of the two",
        values=values,
        limit=("the same in both halves", not flips),
    )


def _rank(means: Floats, system: int) -> int:
    return 1 + int((means > means[system] + _EQUAL).sum())


def _power(baselines: Baselines, seed: int) -> Iterator[Figure]:
    found = power(baselines.scores, seed=seed)
    values: dict[str, Value] = {
        "pairs": found.pairs,
        "separated after Holm": found.separated,
        "separated, unadjusted": found.unadjusted,
    }
    values |= {f"achieved significance, p{q}": float(np.percentile(found.p_values, q)) for q in (10, 25, 50, 75, 90)}
    yield figure(
        POWER,
        "separable pairs",
        found.separated / found.pairs,
        f"{found.separated} of {found.pairs} pairs of systems differ by the paired sign-flip test (10,000 draws, 0.05, "
        f"Holm). {_OURS}",
        unit="share of pairs",
        values=values,
    )
    yield _detectable(found, len(baselines.query_ids))


def _detectable(found: Power, queries: int) -> Figure:
    name = "minimum detectable difference"
    if not found.deviation:
        return absent(POWER, name, "the baselines score the same on most queries, so the spread is not known")
    values: dict[str, Value] = {"standard deviation of differences": found.deviation}
    any_pair = f"no difference between any one of {found.pairs} pairs"
    if isfinite(found.detectable_holm):
        values[f"any of {found.pairs} pairs"] = found.detectable_holm
        any_pair = f"{found.detectable_holm:.3f} between any one of {found.pairs} pairs"
    for pairs in sorted({1, found.pairs}):
        values[f"queries for {SMALL}, {pairs} pair{'s' * (pairs > 1)}"] = queries_needed(
            found.deviation, SMALL, pairs=pairs
        )
    return figure(
        POWER,
        name,
        found.detectable,
        f"{queries:,} queries show a difference of {found.detectable:.3f} nDCG@10 between two systems chosen "
        f"beforehand and {any_pair} in four of five cases (0.05, Holm, median spread of the baselines' pairs).",
        unit="nDCG@10",
        values=values,
    )


def _stability(baselines: Baselines, seed: int, reason: str | None, *, simulated: bool) -> Iterator[Figure]:
    names = ("split-half tau", "split-half tau_AP", "tau by number of queries")
    if reason is None and len(baselines.names) < FEW_SYSTEMS:
        reason = f"{len(baselines.names)} baselines could be run, and tau needs {FEW_SYSTEMS}"
    tau, tau_ap, half = halves(baselines.scores if reason is None else baselines.scores[:0], seed=seed)
    if reason is not None or tau.value is None or tau_ap.value is None:
        yield from (absent(STABILITY, name, reason or tau.reason or "tau is not defined") for name in names)
        return
    settled = tau.value >= 0.8
    yield figure(
        STABILITY,
        names[0],
        tau.value,
        f"Two halves of the queries ({half:,} each, {SPLITS} splits) order {len(baselines.names)} systems "
        f"{'alike' if settled else 'differently, so rankings are not settled'}. {_OURS}{_CHANCE if simulated else ''}",
        unit=TAU,
        values={"2.5 %": tau.low, "97.5 %": tau.high, "systems": len(baselines.names), "queries in a half": half},
        limit=(None, State.INFO) if simulated and settled else (">= 0.8", settled),
    )
    yield figure(
        STABILITY,
        names[1],
        tau_ap.value,
        f"As the agreement of two halves of the queries, with more weight on mistakes at the top. {_OURS}",
        unit="(tau_AP, -1 to 1)",
        values={"2.5 %": tau_ap.low, "97.5 %": tau_ap.high},
    )
    curve: dict[str, Value] = {}
    for size in _CURVE:
        if 2 * size <= len(baselines.query_ids):
            found, _, _ = halves(baselines.scores, seed=seed, size=size)
            if found.value is not None:
                curve[f"{size} queries"] = found.value
    if not curve:
        yield absent(STABILITY, names[2], "the queries are too few for two samples of 5")
        return
    yield figure(
        STABILITY,
        names[2],
        len(curve),
        "Kendall's tau between two separate samples of N queries each. Where it flattens, more queries add little. "
        f"{_OURS}",
        unit="sizes measured",
        values=curve,
    )
