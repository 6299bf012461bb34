"""Figures on what rankings by this set are worth: between our own systems, not between the user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pipeline.agreement.rankings import SPLITS, halves
from pipeline.card.baselines import DENSE, WORDS, Baselines
from pipeline.card.described_set import Material
from pipeline.card.figures import absent, figure, good
from pipeline.measures.statistics.power import power
from pipeline.measures.statistics.resamples import Floats
from schemas.set_card import Figure, State, Value

ADVANTAGE, POWER, STABILITY = "lexical advantage", "power", "stability"
FEWEST = 10
"""Under so many queries nothing is said of differences between systems."""
FEWEST_SYSTEMS = 8
"""Between fewer systems tau has too few values to mean anything."""
_CURVE = (5, 10, 25, 50, 100, 150, 200, 300, 500, 1000)
_OURS = "Between our baselines, not between yours."
_EQUAL = 1e-9


def ordering_figures(
    material: Material, baselines: Baselines, shares: Mapping[str, float], *, seed: int
) -> Iterator[Figure]:
    """Yield the figures on rankings.

    Args:
        material: the set.
        baselines: what our systems find.
        shares: the overlap of each query with its source.
        seed: of all draws.
    """
    yield _advantage(baselines, shares)
    yield _size(material)
    yield from _power(baselines, seed)
    yield from _stability(baselines, seed)


def _size(material: Material) -> Figure:
    count = sum(bool(material.relevant(query_id)) for query_id in material.queries)
    return figure(
        POWER,
        "number of queries",
        count,
        "With the usual spread, 300 queries show differences of about 0.035 nDCG@10, and 100 of 0.06.",
        unit="queries with a relevant passage",
        threshold=">= 100, better 300",
        state=good(count >= 100),
    )


def _advantage(baselines: Baselines, shares: Mapping[str, float]) -> Figure:
    name = "words against dense, by overlap"
    asked = [query_id for query_id in baselines.query_ids if query_id in shares]
    if not {WORDS, DENSE} <= set(baselines.names):
        return absent(ADVANTAGE, name, f"{WORDS} or {DENSE} could not be run")
    if len(asked) < 2 * FEWEST:
        return absent(ADVANTAGE, name, f"{len(asked)} queries are too few to be halved by overlap")
    place = {query_id: row for row, query_id in enumerate(baselines.query_ids)}
    ordered = sorted(asked, key=lambda query_id: (shares[query_id], query_id))
    values: dict[str, Value] = {}
    differences = []
    for half, chosen in (("low", ordered[: len(ordered) // 2]), ("high", ordered[len(ordered) // 2 :])):
        rows = [place[query_id] for query_id in chosen]
        means = baselines.scores[rows].mean(axis=0)
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
        f"Whether {WORDS} or {DENSE} scores higher {'depends on' if flips else 'does not depend on'} whether queries "
        f"copy many words or few ({len(ordered):,} queries, halved).",
        unit="order of the two",
        values=values,
        threshold="the same in both halves",
        state=good(not flips),
    )


def _rank(means: Floats, system: int) -> int:
    return 1 + int((means > means[system] + _EQUAL).sum())


def _power(baselines: Baselines, seed: int) -> Iterator[Figure]:
    names = ("separable pairs", "minimum detectable difference")
    reason = _too_few(baselines)
    if reason is not None:
        for name in names:
            yield absent(POWER, name, reason)
        return
    found = power(baselines.scores, seed=seed)
    values: dict[str, Value] = {
        "pairs": found.pairs,
        "separated after Holm": found.separated,
        "separated, unadjusted": found.unadjusted,
    }
    values |= {f"achieved significance, p{q}": float(np.percentile(found.p_values, q)) for q in (10, 25, 50, 75, 90)}
    yield figure(
        POWER,
        names[0],
        found.separated / found.pairs,
        f"{found.separated} of {found.pairs} pairs differ by the paired sign-flip test (10,000 draws, 0.05, Holm). "
        f"{_OURS} For comparison: 85 % of 595 pairs on TREC DL 2023, unadjusted t.",
        unit="share of pairs",
        values=values,
    )
    if not found.deviation:
        yield absent(POWER, names[1], "our systems do not differ on most queries, so there is no spread to go by")
        return
    yield figure(
        POWER,
        names[1],
        found.detectable,
        f"Differences under {found.detectable:.3f} nDCG@10 are noise with {len(baselines.query_ids):,} queries "
        "(two-sided 0.05, power 0.8, median spread of our pairs).",
        unit="nDCG@10",
        values={"standard deviation of differences": found.deviation},
    )


def _stability(baselines: Baselines, seed: int) -> Iterator[Figure]:
    names = ("split-half tau", "split-half tau_AP", "tau by number of queries")
    reason = _too_few(baselines)
    if reason is None and len(baselines.names) < FEWEST_SYSTEMS:
        reason = f"{len(baselines.names)} systems could be run, and tau needs {FEWEST_SYSTEMS}"
    tau, tau_ap, half = halves(baselines.scores if reason is None else baselines.scores[:0], seed=seed)
    if reason is not None or tau.value is None or tau_ap.value is None:
        for name in names:
            yield absent(STABILITY, name, reason or tau.reason or "tau is not defined")
        return
    settled = tau.value >= 0.8
    yield figure(
        STABILITY,
        names[0],
        tau.value,
        f"Two halves of the queries ({half:,} each, {SPLITS} splits) order {len(baselines.names)} systems "
        f"{'alike' if settled else 'differently: rankings are not settled'}. {_OURS}",
        values={"2.5 %": tau.low, "97.5 %": tau.high, "systems": len(baselines.names), "queries in a half": half},
        threshold=">= 0.8",
        state=good(settled),
    )
    yield figure(
        STABILITY,
        names[1],
        tau_ap.value,
        f"The same with mistakes at the top weighing more. {_OURS}",
        values={"2.5 %": tau_ap.low, "97.5 %": tau_ap.high},
    )
    curve: dict[str, Value] = {}
    for size in _CURVE:
        if 2 * size <= len(baselines.query_ids):
            found, _, _ = halves(baselines.scores, seed=seed, size=size)
            if found.value is not None:
                curve[f"{size} queries"] = found.value
    if not curve:
        yield absent(STABILITY, names[2], "there are too few queries for two draws of 5")
        return
    yield figure(
        STABILITY,
        names[2],
        len(curve),
        f"Tau between two disjoint draws of so many queries each; where it flattens, more queries add little. {_OURS}",
        unit="points",
        values=curve,
        state=State.INFO,
    )


def _too_few(baselines: Baselines) -> str | None:
    if len(baselines.query_ids) < FEWEST:
        return f"{len(baselines.query_ids)} queries are too few to say anything of differences between systems"
    if len(baselines.names) < 2:
        return "our systems could not be run"
    return None
