"""Figures on the labels: can the relevant passages be found, how hard are the queries, what is left unjudged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from goldbench.card.baseline_search import DEEP
from goldbench.card.baselines import Baselines
from goldbench.card.described_set import DEPTH, DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.card.judge_trust import NOT_GRADED, grading_figures
from goldbench.card.pool_figure import pool_figure
from goldbench.measures.judged import hole_rate, left_out_holes
from goldbench.measures.statistics.special_figures import level_in
from goldbench.records.query import Level
from goldbench.records.set_card import Figure, State, Value
from goldbench.stages.difficulty import WITHIN
from goldbench.stages.pool import REACHED_WITHIN
from goldbench.text.display import amount, shell_command

REACH, DIFFICULTY, POSITIVES, HOLES = "reachability", "difficulty", "positives", "holes"
HELD_OUT = "held-out queries"
MASKS = ("masked", "masked_titles")
"""What a build notes of a query whose words it held out of the corpus."""
LISTED = 50
"""Most queries listed that no baseline solves."""
_NAMED = 3
"""Most files named that are no runs."""
_UNSEEN, _COMPARED = 0.25, 0.10
_NO_BASELINE = "no query has a relevant passage, or no baseline could be run"


def label_figures(material: DescribedSet, baselines: Baselines) -> Iterator[Figure]:
    """Yield the figures on the labels, the grades and the judge."""
    if baselines.names and baselines.query_ids:
        ranks = first_ranks(material, baselines)
        yield from _reachability(baselines, ranks)
        yield from _difficulty(baselines, ranks)
        yield _held_out(material, baselines, ranks)
    else:
        for name in ("reached by any baseline", "reached by none"):
            yield absent(REACH, name, _NO_BASELINE)
        for name in ("mean nDCG@10 of the baselines", "solved at rank 1 by all", "solved at rank 1 by none", HELD_OUT):
            yield absent(DIFFICULTY, name, _NO_BASELINE)
    yield _levels(material)
    yield _positives(material)
    yield pool_figure(material, baselines.ranked)
    yield _holes(material, baselines)
    yield _left_out(material)
    yield _holes_of_runs(material)
    yield from grading_figures(material)


def first_ranks(material: DescribedSet, baselines: Baselines) -> dict[str, dict[str, int]]:
    """Return the rank of the first relevant passage by system and query; queries without one are left out."""
    found: dict[str, dict[str, int]] = {}
    relevant = {query_id: set(material.relevant(query_id)) for query_id in baselines.query_ids}
    for name, ranked in baselines.ranked.items():
        found[name] = {}
        for query_id, ids in ranked.items():
            rank = next((rank for rank, doc_id in enumerate(ids, 1) if doc_id in relevant[query_id]), None)
            if rank is not None:
                found[name][query_id] = rank
    return found


def _reachability(baselines: Baselines, ranks: dict[str, dict[str, int]]) -> Iterator[Figure]:
    count = len(baselines.query_ids)
    values: dict[str, Value] = {}
    for depth in (1, 10, REACHED_WITHIN):
        for name, by_query in ranks.items():
            values[f"{name}: hit@{depth}"] = sum(rank <= depth for rank in by_query.values()) / count
        values[f"any: hit@{depth}"] = _any(ranks, depth) / count
    any_at = _any(ranks, REACHED_WITHIN) / count
    yield figure(
        REACH,
        "reached by any baseline",
        any_at,
        f"For {any_at:.0%} of the queries, at least one of {len(ranks)} baselines finds a relevant passage in its top "
        f"{REACHED_WITHIN}.",
        unit=f"share of queries, in the top {REACHED_WITHIN}",
        values=values,
        limit=(">= 0.8", any_at >= 0.8),
    )
    never = [query_id for query_id in baselines.query_ids if not any(query_id in found for found in ranks.values())]
    more = f" The first {LISTED} are listed." if len(never) > LISTED else ""
    yield figure(
        REACH,
        "reached by none",
        len(never),
        f"Queries for which no baseline finds a relevant passage in its top {DEEP}. They are hard or wrong, and stay "
        f"in the set.{more}",
        unit="queries",
        values={f"none@{REACHED_WITHIN}": count - _any(ranks, REACHED_WITHIN), f"none@{DEEP}": len(never)},
        items=never[:LISTED],
    )


def _levels(material: DescribedSet) -> Figure:
    """Return how many queries are easy, medium and hard by the ranks that the build measured."""
    name = "levels of difficulty"
    found = Counter(level for query_id in material.queries if (level := level_in(material.notes.get(query_id, {}))))
    if not found:
        return absent(DIFFICULTY, name, "the set does not record in which places word matching finds the sources")
    count, selection = found.total(), material.metadata.get("selection")
    meaning = (
        f"{found[Level.EASY]:,} easy (BM25 places the needed passage first, over words and over letters), "
        f"{found[Level.MEDIUM]:,} medium, "
        f"{found[Level.HARD]:,} hard (not among the first {WITHIN}, or not all of several needed)."
    )
    values: dict[str, Value] = {level.value: found[level] for level in Level}
    if isinstance(selection, Mapping):
        meaning = f"{meaning} {selection.get('notice')}"
        aside = selection.get("set_aside")
        values["set aside by rank"] = aside if isinstance(aside, int) else None
    return figure(DIFFICULTY, name, found[Level.HARD] / count, meaning, unit="share of hard queries", values=values)


def _any(ranks: dict[str, dict[str, int]], depth: int) -> int:
    return len({query_id for found in ranks.values() for query_id, rank in found.items() if rank <= depth})


def _difficulty(baselines: Baselines, ranks: dict[str, dict[str, int]]) -> Iterator[Figure]:
    by_query, count = baselines.scores.mean(axis=1), len(baselines.query_ids)
    mean = float(by_query.mean())
    yield figure(
        DIFFICULTY,
        "mean nDCG@10 of the baselines",
        mean,
        "How hard the queries are for simple systems, and how much that varies between queries."
        + (" Above 0.9, a better system can hardly be told from a good one." if mean > 0.9 else ""),
        unit="nDCG@10",
        values={
            "standard deviation over queries": float(by_query.std(ddof=1)) if count > 1 else None,
            **{name: float(baselines.column(name).mean()) for name in baselines.names},
        },
    )
    solvers = Counter(query_id for found in ranks.values() for query_id, rank in found.items() if rank == 1)
    for name, solved, most, meaning in (
        (
            "solved at rank 1 by all",
            sum(solvers[query_id] == len(ranks) for query_id in baselines.query_ids),
            0.40,
            "Queries that every baseline solves at rank 1 are too easy to tell systems apart.",
        ),
        (
            "solved at rank 1 by none",
            sum(not solvers[query_id] for query_id in baselines.query_ids),
            0.20,
            "Queries that no baseline solves at rank 1 are hard, wrong, or have relevant passages without a label.",
        ),
    ):
        share, limit = solved / count, (f"<= {most:.2f} (judgement)", solved / count <= most)
        yield figure(DIFFICULTY, name, share, meaning, unit="share of queries", limit=limit)


def _held_out(material: DescribedSet, baselines: Baselines, ranks: dict[str, dict[str, int]]) -> Figure:
    """Return how many queries were made from words that the corpus lacks, with the baselines' figures on both parts."""
    if not material.notes:
        return absent(DIFFICULTY, HELD_OUT, "the set does not record what its queries were made from")
    apart = [any(material.notes.get(one, {}).get(key) for key in MASKS) for one in baselines.query_ids]
    values: dict[str, Value] = {"others": apart.count(False)}
    for held, part in ((True, "held out"), (False, "others")):
        rows = [row for row, found in enumerate(apart) if found is held]
        for name in baselines.names if rows else ():
            first = [ranks[name].get(baselines.query_ids[row]) == 1 for row in rows]
            values[f"{part}: {name}: nDCG@10"] = float(baselines.column(name)[rows].mean())
            values[f"{part}: {name}: hit@1"] = float(np.mean(first))
    return figure(
        DIFFICULTY,
        HELD_OUT,
        apart.count(True),
        "Queries made from a title, a heading or a sentence that is taken out of the passages. They are harder than "
        "others: look at both parts by themselves.",
        unit="queries",
        values=values,
    )


def _positives(material: DescribedSet) -> Figure:
    counts = [len(material.relevant(query_id)) for query_id in material.queries]
    mean, single = float(np.mean(counts)), sum(count == 1 for count in counts) / len(counts)
    only = sum([material.source(query_id)] == material.relevant(query_id) for query_id in material.queries)
    return figure(
        POSITIVES,
        "positives per query",
        mean,
        "Known relevant passages per query."
        + ("" if material.graded else " No pool was judged, so passages without a label may be relevant as well."),
        unit="on average",
        values={
            "share with one": single,
            "share with only the source": only / len(counts),
            "share with none": sum(not count for count in counts) / len(counts),
            "most": max(counts),
        },
        limit=("> 1.3 once a pool is judged (judgement)", mean > 1.3) if material.graded else (None, State.INFO),
    )


def _holes(material: DescribedSet, baselines: Baselines) -> Figure:
    name, rates = "hole@10 of baselines", _rates(material, baselines.ranked)
    if not rates:
        return absent(HOLES, name, "no baseline found anything")
    return figure(
        HOLES,
        name,
        max(rates.values()),
        f"Share of unjudged results in the top {DEPTH} of the baseline with the most." + _who_judged(material),
        unit="share of the first 10 results, greatest of the systems",
        values=dict(rates),
        limit=("<= 0.25 for systems outside the pool", max(rates.values()) <= _UNSEEN),
    )


def _rates(material: DescribedSet, ranked: dict[str, dict[str, list[str]]]) -> dict[str, float]:
    """Return each system's share of unjudged results; systems without results are left out."""
    judged = {query_id: grades.keys() for query_id, grades in material.qrels.items()}
    rates = {system: hole_rate(found, judged, depth=DEPTH) for system, found in ranked.items()}
    return {system: rate for system, rate in rates.items() if rate is not None}


def _who_judged(material: DescribedSet) -> str:
    if material.graded:
        return ""
    if any(material.source(query_id) is not None for query_id in material.queries):
        return " No pool was judged: only sources and their near-duplicates have labels."
    return " The files do not say which passages were judged, only which have a label."


def _left_out(material: DescribedSet) -> Figure:
    name = "hole@10, one retriever left out"
    if not material.pool:
        return absent(HOLES, name, NOT_GRADED)
    pool = [(row.query_id, row.chunk_id, row.ranks, row.origin is not None) for row in material.pool]
    retrievers = sorted({retriever for row in material.pool for retriever in row.ranks})
    rates = {retriever: left_out_holes(pool, retriever, depth=DEPTH) for retriever in retrievers}
    known = {retriever: rate for retriever, rate in rates.items() if rate is not None}
    if len(known) < 2:
        return absent(HOLES, name, "the pool comes from fewer than two retrievers, so none can be left out")
    return figure(
        HOLES,
        name,
        max(known.values()),
        f"Share of results in a retriever's top {DEPTH} that would be unjudged if it had not been in the pool: expect "
        "this of a new system.",
        unit="share of the first 10 results, greatest of the systems",
        values=dict(known),
        limit=("<= 0.25", max(known.values()) <= _UNSEEN),
    )


def _holes_of_runs(material: DescribedSet) -> Figure:
    name, found = "hole@10 of runs", dict(sorted(_rates(material, material.runs).items()))
    if not found:
        return absent(HOLES, name, f"no run stands in the folder runs of the set{_unreadable(material.unreadable)}")
    apart = max(found.values()) - min(found.values())
    unsafe = len(found) > 1 and apart > _COMPARED
    return figure(
        HOLES,
        name,
        max(found.values()),
        f"The share of unjudged results differs by {apart:.2f} between the runs, so comparing them is unsafe: judge "
        f"the missing results with {shell_command('topup')}."
        if unsafe
        else f"Share of unjudged results in the top {DEPTH} of the run with the most.",
        unit="share of the first 10 results, greatest of the systems",
        values=dict(found),
        items=[f"cannot be read as a run: {run}" for run in material.unreadable],
        limit=("<= 0.10 for systems that are compared", max(found.values()) <= _COMPARED and not unsafe),
    )


def _unreadable(files: list[str]) -> str:
    """Return the end of a sentence that names files that are no runs; empty if there are none."""
    if not files:
        return ""
    named = ", ".join([*files[:_NAMED], *(["…"] if len(files) > _NAMED else [])])
    return f" ({amount(len(files), 'file')} there cannot be read as runs: {named})"
