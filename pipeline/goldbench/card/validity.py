"""Figures on whether independent sources agree on the ranking: query sources, generators inside a set, judges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from goldbench.card.baselines import Baselines, ndcg
from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.card.fresh_rankings import fresh_scores
from goldbench.card.stability import FEWEST, TAU
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import (
    FEW_SYSTEMS,
    REFUSED,
    TRUSTED,
    RankingAgreement,
    ranking_agreement,
)
from goldbench.offline.generator import RecipeName
from goldbench.records.query import Recipe
from goldbench.records.set_card import Figure, State, Value
from goldbench.score.card_beside import SOURCES
from goldbench.text.display import queries as count_of

VALIDITY = "validity"
GENERATORS = "agreement of generators"
JUDGES = "agreement of judges on the ranking"
_OURS = "Between the baselines, not between your systems."
_TOLD = {
    State.OK: "alike. A ranking by this set is then likelier, not certain, to be the one of people's queries.",
    State.WARN: "differently. A ranking by this set may be another than that of people's queries: check some queries.",
    State.FAIL: "so differently that a ranking by this set says nothing: do not compare systems by it.",
    State.INFO: "with this tau, which has no verdict for people's queries and for queries of held-out sentences.",
}


def validity_figures(material: DescribedSet, baselines: Baselines, *, seed: int) -> Iterator[Figure]:
    """Yield the figures on independent sources.

    Args:
        material: The gold set.
        baselines: What the baselines found.
        seed: Seed of all draws, 0 or more.
    """
    yield _query_sources(material, baselines, seed)
    yield from _generators(material, baselines, seed)
    yield from _judges(material, baselines, seed)


def _query_sources(material: DescribedSet, baselines: Baselines, seed: int) -> Figure:
    if len(baselines.query_ids) < FEWEST:
        count = len(baselines.query_ids)
        return absent(VALIDITY, SOURCES, f"{count_of(count)}: too few to rank systems, at least {FEWEST} are needed")
    recipe = other_recipe(material)
    fresh = fresh_scores(material.corpus, recipe, language=material.main_language(), seed=seed)
    if sum(len(one.query_ids) for one in fresh) < FEWEST:
        return absent(VALIDITY, SOURCES, f"fewer than {FEWEST} queries could be simulated from the passages")
    names = [name for name in baselines.names if name in fresh[0].names]
    if len(names) < FEW_SYSTEMS:
        return absent(VALIDITY, SOURCES, f"{len(names)} baselines could be run, and tau needs {FEW_SYSTEMS}")
    found = ranking_agreement(_columns(baselines, names), [_columns(one, names) for one in fresh], seed=seed)
    if found is None:
        return absent(VALIDITY, SOURCES, "one of the sources gives all baselines the same score")
    values = _values(found)
    values["fresh queries"] = sum(len(one.query_ids) for one in fresh)
    values["recipe of the fresh queries"] = recipe
    state = state_of(found.tau, material)
    return figure(
        VALIDITY,
        SOURCES,
        found.tau,
        f"The set's own queries and freshly simulated ones (recipe {recipe}) order {len(names)} systems {_TOLD[state]} "
        f"{_OURS}",
        unit=TAU,
        values=values,
        limit=(None if state is State.INFO else f">= {TRUSTED}", state),
    )


def state_of(tau: float, material: DescribedSet) -> State:
    """Return the verdict on an agreement; a set fails only if its queries are simulated.

    Two kinds of sets have no verdict: those of people's or users' queries, because the simulation is the likelier error
    if the two differ, and those of held-out sentences, whose agreement was found to say nothing.

    Args:
        tau: Agreement of the set's queries with fresh ones.
        material: The gold set.
    """
    if material.level_of_evidence in {"human", "users"} or _of_held_out(material):
        return State.INFO
    if tau >= TRUSTED:
        return State.OK
    return State.FAIL if tau <= REFUSED and material.simulated else State.WARN


def other_recipe(material: DescribedSet) -> RecipeName:
    """Return a recipe that the set's queries were not made by, so that the two sources have little in common."""
    return "terms" if _of_held_out(material) else "held-out"


def _of_held_out(material: DescribedSet) -> bool:
    """Return whether most queries are made of sentences that were taken out."""
    own = [note.get("recipe") for note in material.notes.values()]
    return 2 * sum(one in {Recipe.HELD_OUT, Recipe.HELD_OUT_TERMS} for one in own) > len(own)


def _generators(material: DescribedSet, baselines: Baselines, seed: int) -> Iterator[Figure]:
    """Yield the agreement of the two generators that wrote most queries of the set."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, query_id in enumerate(baselines.query_ids):
        name = material.notes.get(query_id, {}).get("generator")
        if isinstance(name, str):
            rows[name].append(row)
    large = sorted((name for name in rows if len(rows[name]) >= FEWEST), key=lambda name: (-len(rows[name]), name))[:2]
    if len(large) < 2:
        yield absent(VALIDITY, GENERATORS, f"no two generators wrote {FEWEST} queries each")
        return
    parts = [baselines.scores[rows[name]] for name in large]
    told = f"Queries of {large[0]} and of {large[1]} in this set"
    yield _agreement(GENERATORS, told, large, parts, len(baselines.names), seed=seed, paired=False)


def _judges(material: DescribedSet, baselines: Baselines, seed: int) -> Iterator[Figure]:
    """Yield the agreement of the two judges that graded most pairs in common, by the pairs that both graded."""
    grades: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for one in material.judgments:
        if one.canary is None and one.shared_from is None:
            grades[one.assessor][one.query_id, one.chunk_id] = int(one.relevance)
    most = sorted(grades, key=lambda name: (-len(grades[name]), name))[:2]
    shared = sorted(grades[most[0]].keys() & grades[most[1]].keys()) if len(most) == 2 else []
    qrels: list[dict[str, dict[str, int]]] = [defaultdict(dict), defaultdict(dict)]
    for query_id, doc_id in shared:
        for name, judged in zip(most, qrels, strict=True):
            judged[query_id][doc_id] = grades[name][query_id, doc_id]
    asked = [
        query_id
        for query_id in baselines.query_ids
        if all(max(one.get(query_id, {}).values(), default=0) >= material.level for one in qrels)
    ]
    if len(asked) < FEWEST:
        yield absent(VALIDITY, JUDGES, f"no two judges graded the same pairs of {FEWEST} queries")
        return
    parts = [_scores({query_id: one[query_id] for query_id in asked}, baselines, asked) for one in qrels]
    told = f"Grades of {most[0]} and of {most[1]} of the same {len(shared):,} pairs"
    yield _agreement(JUDGES, told, most, parts, len(baselines.names), seed=seed, paired=True)


def _scores(qrels: Mapping[str, Mapping[str, int]], baselines: Baselines, asked: Sequence[str]) -> Floats:
    ranked = ({query_id: found[query_id] for query_id in asked} for found in baselines.ranked.values())
    return np.stack([ndcg(qrels, one) for one in ranked], axis=1)


def _agreement(
    name: str, told: str, sources: Sequence[str], parts: Sequence[Floats], systems: int, *, seed: int, paired: bool
) -> Figure:
    """Return a figure without a verdict: how alike two sources order the baselines."""
    if systems < FEW_SYSTEMS:
        return absent(VALIDITY, name, f"{systems} baselines could be run, and tau needs {FEW_SYSTEMS}")
    found = ranking_agreement(parts[0], parts[1:], seed=seed, paired=paired)
    if found is None:
        return absent(VALIDITY, name, "one of the sources gives all baselines the same score")
    return figure(
        VALIDITY,
        name,
        found.tau,
        f"{told} order {systems} systems with this tau. {_OURS}",
        unit=TAU,
        values={**_values(found), **{f"queries of {one}": len(part) for one, part in zip(sources, parts, strict=True)}},
    )


def _columns(found: Baselines, names: Sequence[str]) -> Floats:
    return np.asarray(found.scores[:, [found.names.index(name) for name in names]])


def _values(found: RankingAgreement) -> dict[str, Value]:
    return {
        "2.5 %": found.low,
        "97.5 %": found.high,
        "lowest of single draws": found.lowest,
        "highest of single draws": found.highest,
    }
