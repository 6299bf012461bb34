"""Figures on the labels: can the relevant passages be found, and are others known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from pipeline.card.baselines import DEEP, Baselines
from pipeline.card.described_set import DEPTH, Material
from pipeline.card.figures import absent, figure, good, percent
from pipeline.card.judge_trust import NOT_GRADED, grading_figures
from pipeline.measures.judged import hole_rate, left_out_holes
from schemas.set_card import Figure, State, Value

REACH, DIFFICULTY, POSITIVES, HOLES = "reachability", "difficulty", "positives", "holes"
LISTED = 50
_SHARED, _UNSEEN, _COMPARED = 20, 0.25, 0.10


def label_figures(material: Material, baselines: Baselines) -> Iterator[Figure]:
    """Yield the figures on labels.

    Args:
        material: the set.
        baselines: what our systems find.
    """
    yield from _reachability(material, baselines)
    yield from _difficulty(baselines, material)
    yield from _positives(material)
    yield from _holes(material, baselines)
    yield from grading_figures(material)


def first_ranks(material: Material, baselines: Baselines) -> dict[str, dict[str, int]]:
    """Return by system and query the rank of the first relevant passage; queries that find none are absent."""
    found: dict[str, dict[str, int]] = {}
    relevant = {query_id: set(material.relevant(query_id)) for query_id in baselines.query_ids}
    for name, ranked in baselines.ranked.items():
        found[name] = {}
        for query_id, ids in ranked.items():
            rank = next((rank for rank, doc_id in enumerate(ids, 1) if doc_id in relevant[query_id]), None)
            if rank is not None:
                found[name][query_id] = rank
    return found


def _reachability(material: Material, baselines: Baselines) -> Iterator[Figure]:
    names = ("reached by any baseline", "reached by none")
    if not baselines.names or not baselines.query_ids:
        for name in names:
            yield absent(REACH, name, "no query has a relevant passage, or none of our systems could be run")
        return
    ranks, count = first_ranks(material, baselines), len(baselines.query_ids)
    values: dict[str, Value] = {}
    for depth in (1, 10, _SHARED):
        for name, by_query in ranks.items():
            values[f"{name}: hit@{depth}"] = sum(rank <= depth for rank in by_query.values()) / count
        values[f"any: hit@{depth}"] = _any(ranks, depth) / count
    any_at = _any(ranks, _SHARED) / count
    yield figure(
        REACH,
        names[0],
        any_at,
        f"For {percent(any_at)} of the queries one of our {len(ranks)} systems has a relevant passage among its first "
        f"{_SHARED}.",
        unit=f"share of queries, any@{_SHARED}",
        values=values,
        threshold=">= 0.8",
        state=good(any_at >= 0.8),
    )
    never = [query_id for query_id in baselines.query_ids if not any(query_id in found for found in ranks.values())]
    more = f"; the first {LISTED} are listed" if len(never) > LISTED else ""
    yield figure(
        REACH,
        names[1],
        len(never),
        f"None of our systems has a relevant passage among its first {DEEP}; such queries are hard or wrong, and are "
        f"kept{more}.",
        unit="queries",
        values={f"none@{_SHARED}": count - _any(ranks, _SHARED), f"none@{DEEP}": len(never)},
        items=never[:LISTED],
    )


def _any(ranks: dict[str, dict[str, int]], depth: int) -> int:
    return len({query_id for found in ranks.values() for query_id, rank in found.items() if rank <= depth})


def _difficulty(baselines: Baselines, material: Material) -> Iterator[Figure]:
    names = ("mean nDCG@10 of the baselines", "solved at rank 1 by all", "solved at rank 1 by none")
    if not baselines.names or not baselines.query_ids:
        for name in names:
            yield absent(DIFFICULTY, name, "no query has a relevant passage, or none of our systems could be run")
        return
    by_query = baselines.scores.mean(axis=1)
    mean = float(by_query.mean())
    yield figure(
        DIFFICULTY,
        names[0],
        mean,
        "How hard the queries are for cheap systems, and how much they differ in that."
        + (" Above 0.9 nothing better can be told from something good." if mean > 0.9 else ""),
        unit="nDCG@10",
        values={
            "standard deviation over queries": float(by_query.std(ddof=1)) if len(by_query) > 1 else None,
            **{f"{name}": float(baselines.column(name).mean()) for name in baselines.names},
        },
    )
    ranks, count = first_ranks(material, baselines), len(baselines.query_ids)
    solvers = Counter(query_id for found in ranks.values() for query_id, rank in found.items() if rank == 1)
    everyone = sum(solvers[query_id] == len(ranks) for query_id in baselines.query_ids) / count
    nobody = sum(not solvers[query_id] for query_id in baselines.query_ids) / count
    yield figure(
        DIFFICULTY,
        names[1],
        everyone,
        "Queries so easy that every baseline solves them tell systems apart no more.",
        unit="share of queries",
        threshold="<= 0.40 (judgement)",
        state=good(everyone <= 0.4),
    )
    yield figure(
        DIFFICULTY,
        names[2],
        nobody,
        "Queries that no baseline solves at rank 1: hard, wrong, or with relevant passages that nobody labelled.",
        unit="share of queries",
        threshold="<= 0.20 (judgement)",
        state=good(nobody <= 0.2),
    )


def _positives(material: Material) -> Iterator[Figure]:
    counts = [len(material.relevant(query_id)) for query_id in material.queries]
    mean, single = float(np.mean(counts)), sum(count == 1 for count in counts) / len(counts)
    only = sum(
        [material.source(query_id)] == material.relevant(query_id) for query_id in material.queries
    ) / len(counts)  # fmt: skip
    yield figure(
        POSITIVES,
        "positives per query",
        mean,
        "Relevant passages known for a query."
        + ("" if material.graded else " No pool was judged here: what has no label may well be relevant."),
        unit="passages, mean",
        values={
            "share with one": single,
            "share with only the source": only,
            "share with none": sum(not count for count in counts) / len(counts),
            "most": max(counts),
        },
        threshold="> 1.3 once a pool is judged (judgement)" if material.graded else None,
        state=good(mean > 1.3) if material.graded else State.INFO,
    )


def _holes(material: Material, baselines: Baselines) -> Iterator[Figure]:
    name, left_out = "hole@10 of baselines", "hole@10, one retriever left out"
    judged = {query_id: grades.keys() for query_id, grades in material.qrels.items()}
    ours = {system: hole_rate(ranked, judged, depth=DEPTH) for system, ranked in baselines.ranked.items()}
    found = {system: rate for system, rate in ours.items() if rate is not None}
    if not found:
        yield absent(HOLES, name, "none of our systems found anything")
    else:
        worst = max(found.values())
        yield figure(
            HOLES,
            name,
            worst,
            "Share of a system's first 10 that nobody judged, for the worst of our systems." + _who_judged(material),
            unit="share of the first 10, greatest",
            values=dict(found),
            threshold="<= 0.25 for systems outside the pool",
            state=good(worst <= _UNSEEN),
        )
    yield _left_out(material, left_out)
    yield _holes_of_runs(material)


def _who_judged(material: Material) -> str:
    if material.graded:
        return ""
    if any(material.source(query_id) is not None for query_id in material.queries):
        return " No pool was judged: only sources and their near-duplicates have labels."
    return " The files do not say what was looked at, only what has a label."


def _left_out(material: Material, name: str) -> Figure:
    if not material.pool:
        return absent(HOLES, name, NOT_GRADED)
    pool = [(row.query_id, row.chunk_id, row.ranks, row.origin is not None) for row in material.pool]
    retrievers = sorted({retriever for row in material.pool for retriever in row.ranks})
    rates = {retriever: left_out_holes(pool, retriever, depth=DEPTH) for retriever in retrievers}
    known = {retriever: rate for retriever, rate in rates.items() if rate is not None}
    if len(known) < 2:
        return absent(HOLES, name, "the pool comes from one retriever or none, so none can be left out")
    return figure(
        HOLES,
        name,
        max(known.values()),
        "What a system like this retriever would find unjudged if it had not been in the pool: what to expect of a new "
        "system.",
        unit="share of the first 10, greatest",
        values=dict(known),
        threshold="<= 0.25",
        state=good(max(known.values()) <= _UNSEEN),
    )


def _holes_of_runs(material: Material) -> Figure:
    name = "hole@10 of runs"
    judged = {query_id: grades.keys() for query_id, grades in material.qrels.items()}
    rates = {system: hole_rate(ranked, judged, depth=DEPTH) for system, ranked in material.runs.items()}
    found = {system: rate for system, rate in sorted(rates.items()) if rate is not None}
    if not found:
        unread = f"; cannot be read: {len(material.unreadable)}" if material.unreadable else ""
        return absent(HOLES, name, f"no run is beside the set{unread}")
    apart = max(found.values()) - min(found.values())
    unsafe = len(found) > 1 and apart > _COMPARED
    return figure(
        HOLES,
        name,
        max(found.values()),
        f"The runs differ by {apart:.2f} in what is judged: comparing them is unsafe; goldset topup judges the holes."
        if unsafe
        else "Share of a run's first 10 that nobody judged, for the worst of the runs beside the set.",
        unit="share of the first 10, greatest",
        values=dict(found),
        items=[f"cannot be read: {run}" for run in material.unreadable],
        threshold="<= 0.10 for systems that are compared",
        state=good(max(found.values()) <= _COMPARED and not unsafe),
    )
