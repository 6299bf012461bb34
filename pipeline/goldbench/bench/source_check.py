"""Whether simulated queries of two recipes rank an experiment's systems as the gold set does, and as each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from goldbench.bench.bench_file import Bench
from goldbench.bench.search import Outcome
from goldbench.errors import MissingExtra, RetrieverFailed
from goldbench.measures.assessment import assess
from goldbench.measures.ranks.judged_ranks import place_mapping
from goldbench.measures.result import Result
from goldbench.measures.statistics.comparison import aligned
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import ranking_agreement
from goldbench.offline.fresh_queries import DRAWS, FreshQueries, fresh_queries
from goldbench.offline.generator import RecipeName
from goldbench.ports import Progress
from goldbench.records.experiment import SourceAgreement
from goldbench.systems import Systems
from goldbench.text.language import main_language

RECIPES: tuple[RecipeName, ...] = ("terms", "held-out")
GOLD = "the gold set"
FEWEST = 10
"""Fewest queries of a source, and 2 systems, for a statement on their ranking."""


def source_agreements(
    bench: Bench,
    systems: Systems,
    passages: Mapping[str, str],
    outcome: Outcome,
    results: Mapping[str, Result],
    *,
    progress: Progress,
) -> list[SourceAgreement]:
    """Return how alike every two sources of queries rank the systems; none if the experiment does not ask for it.

    Every system that searched the gold set's own cut is indexed and searched once more for each recipe. One that fails
    is left out, and told.

    Args:
        bench: The experiment; ``validity`` is the number of simulated queries of each recipe.
        systems: Its systems.
        passages: The passages to search, by id.
        outcome: The finished runs.
        results: The results of the gold set's own queries, by system.
        progress: Shows each recipe.
    """
    names = {point.name: point.system for point in outcome.measured if point.cut is None}
    if not bench.validity or len(names) < 2:
        return []
    language = main_language([passages[doc_id] for doc_id in sorted(passages)])
    made: dict[str, FreshQueries] = {
        recipe: fresh_queries(passages, recipe, count=bench.validity, draws=DRAWS, seed=bench.seed, language=language)
        for recipe in RECIPES
    }
    made = {recipe: one for recipe, one in made.items() if len(one.queries) >= FEWEST}
    found = {recipe: _scores(bench, systems, names, recipe, one, passages, progress) for recipe, one in made.items()}
    common = [name for name in names if all(name in one for one in found.values())]
    if not found or len(common) < 2:
        return []
    first = bench.compared[0].name
    own = aligned({name: results[name] for name in common}, [first]).scores[:, :, 0]
    parts = {GOLD: [own]} if len(own) >= FEWEST else {}
    for recipe, columns in found.items():
        place = {query_id: row for row, query_id in enumerate(sorted(made[recipe].queries))}
        table = np.stack([columns[name] for name in common], axis=1)
        parts[recipe] = [table[[place[query_id] for query_id in one]] for one in made[recipe].draws if one]
    return list(_pairs(parts, len(common), first, bench.seed))


def _scores(
    bench: Bench,
    systems: Systems,
    names: Mapping[str, str],
    recipe: str,
    made: FreshQueries,
    passages: Mapping[str, str],
    progress: Progress,
) -> dict[str, Floats]:
    """Return the scores of each system by the first compared measure, in the order of the sorted query ids."""
    measure, searched, found = bench.compared[0], made.searched(passages), dict[str, "Floats"]()
    qrels = {query_id: {made.sources[query_id]: 1} for query_id in sorted(made.queries)}
    with progress.stage(f"validity, {recipe}", len(names)) as step:
        for name, system in names.items():
            step.advance(1)
            try:
                retriever = systems.retriever(system)
                retriever.index(searched)
                systems.forget()
                run = retriever.search(made.queries, k=bench.depth)
            except (RetrieverFailed, MissingExtra) as error:
                progress.note(f"{name}: left out of the check by simulated queries: {error}")
                continue
            placed = place_mapping(qrels, {one: dict(run.get(one, {})) for one in qrels}, scores="float64")
            result = assess(qrels, placed, [measure], extra=0, missing="zero", names=("simulated queries", name))
            found[name] = np.asarray(result.values[measure.name], dtype=np.float64)
    return found


def _pairs(parts: Mapping[str, Sequence[Floats]], systems: int, measure: str, seed: int) -> Iterator[SourceAgreement]:
    for first, second in combinations(parts, 2):
        found = ranking_agreement(np.concatenate(parts[first]), parts[second], seed=seed)
        if found is not None:
            yield SourceAgreement(
                first=first,
                second=second,
                measure=measure,
                systems=systems,
                tau=found.tau,
                low=found.low,
                high=found.high,
                lowest=found.lowest,
                highest=found.highest,
            )
