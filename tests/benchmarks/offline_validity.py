"""How well sets of queries made without people rank retrieval systems, held against people's queries and judgments.

``python -m tests.benchmarks.offline_validity [--collections DIR] [--only NAME ...] [--seeds ...] [--json FILE]``
``python -m tests.benchmarks.offline_validity --sources terms local`` adds queries that the bundled model writes, the
source ``served`` those of the model ``$MODEL`` on the server ``$OPENAI_BASE_URL``.

Systems are ranked by mean nDCG@10 twice: with a collection's own queries and judgments, and with queries that
``goldbench build`` makes from its documents, of which the source is the one relevant document. Kendall's tau-b says how
far the two rankings agree. Sixteen lexical systems give the table; the card's eight baselines give the last part, which
asks whether two sources of made queries that agree are right. Collections that are translations of one another are one
corpus: intervals of means draw corpora, and a choice is made on the other corpora. About 20 minutes of one processor
without the cache, 1 minute with it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.rank_correlation import REFUSED, TRUSTED
from goldbench.offline.generator import RecipeName
from goldbench.offline.notice import TAU
from tests.benchmarks.collections import collections_folder, is_collection
from tests.benchmarks.source_scores import Scores, Sources
from tests.benchmarks.systems import LEXICAL
from tests.benchmarks.validity_statistics import (
    Interval,
    ceiling,
    chosen_elsewhere,
    correlation,
    halves,
    mean_tau,
    over_groups,
    refused_elsewhere,
    tau,
)
from tests.benchmarks.written_queries import CACHE, OPTIONS

RECIPES: tuple[RecipeName, ...] = ("terms", "held-out", "mixed")
AZZOPARDI = ("Azzopardi popular", "Azzopardi discriminative")
OTHER: dict[RecipeName, RecipeName] = {"terms": "held-out", "held-out": "terms", "mixed": "held-out"}
"""The recipe of the fresh queries that a card compares a set of a recipe with."""
SEEDS = (1, 2, 3)
QUERIES = 150
FEWEST_QUERIES = 20
CEILING, HALVES = "people, two full sets", "people, two halves"
VALID = 0.5
"""Tau with people's ranking from which a set is called valid in the last part."""


@dataclass
class Measured:
    """One collection: scores by people's queries and by made sets, by source and seed; fresh scores by recipe, seed."""

    people: Scores
    made: dict[str, list[Scores]]
    fresh: dict[str, list[list[Floats]]] = field(default_factory=dict)


def main() -> None:
    """Measure every collection and print its table, then what holds over all of them."""
    options = _options()
    found: dict[str, Measured] = {}
    taus: dict[str, dict[str, Interval]] = {}
    kinds: dict[str, str] = {}
    for folder in sorted(filter(is_collection, options.collections.iterdir())):
        if options.only and folder.name not in options.only:
            continue
        sources = Sources(folder, count=options.queries, cache=options.cache)
        if len(sources.collection.queries) < FEWEST_QUERIES:
            print(f"{folder.name}: {len(sources.collection.queries)} judged queries, too few to rank systems by\n")
            continue
        made = {name: [sources.made(name, seed) for seed in options.seeds] for name in options.sources}
        recipes = {OTHER[name] for name in RECIPES if name in made}
        fresh = {name: [sources.fresh(name, seed) for seed in options.seeds] for name in recipes}
        found[folder.name] = Measured(sources.people(), made, fresh)
        kinds[folder.name] = _kind_of_language(sources)
        taus[folder.name] = taus_of(found[folder.name])
        _print_collection(sources, taus[folder.name], found[folder.name])
    if not found:
        print("no collection found: a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
        return
    _print_means(taus)
    _print_choice(taus, kinds)
    _print_signal(found)
    if options.json:
        figures = {name: {kind: asdict(one) for kind, one in here.items()} for name, here in taus.items()}
        options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kendall's tau between people's rankings of systems and others.")
    every = [*OPTIONS, *AZZOPARDI]
    parser.add_argument("--collections", type=Path, default=collections_folder(), help="folder of BEIR-style folders")
    parser.add_argument("--only", nargs="+", default=[], help="names of the folders to measure")
    parser.add_argument("--sources", nargs="+", default=[*RECIPES, *AZZOPARDI], choices=every, help="who makes queries")
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries per set")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for sets, scores and a model's answers")
    parser.add_argument("--json", type=Path, help="file for the figures of the table")
    return parser.parse_args()


def corpus_of(collection: str) -> str:
    """Return the corpus of a collection; the translations of XQuAD are one."""
    return collection.split("_", maxsplit=1)[0] if collection.startswith("xquad") else collection


def _kind_of_language(sources: Sources) -> str:
    """Return whether the language is English, another one with spaces between words, or one without."""
    here = sources.collection
    return "without spaces" if here.spaceless else "English" if here.language == "en" else "with spaces"


def taus_of(measured: Measured) -> dict[str, Interval]:
    """Return the ceilings and the tau of every source with people's ranking, for the lexical systems."""
    people = measured.people.lexical
    made = {name: mean_tau(people, [one.lexical for one in sets]) for name, sets in measured.made.items()}
    return {CEILING: ceiling(people), HALVES: halves(people), **made}


def _print_collection(sources: Sources, taus: Mapping[str, Interval], measured: Measured) -> None:
    here = sources.collection
    print(
        f"{here.name}: {len(here.documents):,} documents, {len(here.queries):,} judged queries, language "
        f"{here.language or 'not known'}, {len(LEXICAL)} systems"
    )
    print(f"  {'':26}  tau   95 % interval    single seeds    a set's own halves")
    for name, one in taus.items():
        sets = measured.made.get(name, ())
        singles = [tau(measured.people.lexical, each.lexical) for each in sets]
        spread = f"{min(singles):5.2f} to {max(singles):5.2f}" if singles else ""
        own = f"{np.mean([halves(each.lexical).value for each in sets]):5.2f}" if sets else ""
        share = np.mean([each.by_model for each in sets]) if sets else np.nan
        by = "" if np.isnan(share) else f"  {share:.0%} written by the model"
        print(f"  {name:26} {one.value:5.2f}  ({one.low:5.2f} to {one.high:5.2f})  {spread:14}  {own}{by}")
    print(flush=True)


def _print_means(taus: Mapping[str, Mapping[str, Interval]]) -> None:
    corpora = len({corpus_of(name) for name in taus})
    print(f"Mean of {len(taus)} collections ({corpora} corpora), 95 % interval over corpora, lowest and highest")
    for name in next(iter(taus.values())):
        values = {collection: here[name].value for collection, here in taus.items()}
        mean, spread = over_groups(values, corpus_of), f"{min(values.values()):5.2f} to {max(values.values()):.2f}"
        told = f"  (notice.py: {', '.join(TAU[name])})" if name in TAU else ""
        print(f"  {name:26} {mean.value:5.2f}  ({mean.low:5.2f} to {mean.high:5.2f})  {spread}{told}")
    print()


def _print_choice(taus: Mapping[str, Mapping[str, Interval]], kinds: Mapping[str, str]) -> None:
    """Print what a recipe reaches on a corpus if it is chosen on the others, for all or for a kind of language.

    Args:
        taus: The figures of the table.
        kinds: The kind of language of each collection.
    """
    recipes = {
        name: {recipe: here[recipe].value for recipe in RECIPES if recipe in here} for name, here in taus.items()
    }
    if len({corpus_of(name) for name in taus}) < 3 or any("terms" not in here for here in recipes.values()):
        return
    choices = {
        "on the other corpora": chosen_elsewhere(recipes, corpus_of),
        "there, for its kind of language": chosen_elsewhere(recipes, corpus_of, kinds.__getitem__),
    }
    for told, chosen in choices.items():
        reached = over_groups({name: value for name, (_, value) in chosen.items()}, corpus_of)
        gain = over_groups({name: value - recipes[name]["terms"] for name, (_, value) in chosen.items()}, corpus_of)
        print(f"Recipe chosen {told}:", ", ".join(f"{name} {recipe}" for name, (recipe, _) in chosen.items()))
        print(
            f"  reaches {reached.value:5.2f}  ({reached.low:5.2f} to {reached.high:5.2f}); minus terms: "
            f"{gain.value:5.2f}  ({gain.low:5.2f} to {gain.high:5.2f})"
        )
    for first, second in (("held-out", "terms"), ("mixed", "terms"), ("mixed", "held-out")):
        if all({first, second} <= here.keys() for here in recipes.values()):
            gap = over_groups({name: here[first] - here[second] for name, here in recipes.items()}, corpus_of)
            print(f"  {first} minus {second}: {gap.value:5.2f}  ({gap.low:5.2f} to {gap.high:5.2f})")
    print()


def signals(found: Mapping[str, Measured], recipe: RecipeName) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return, by collection and for each seed, a set's agreement with fresh queries and its tau with people's ranking.

    Both are of the card's baselines, and the fresh queries are those of a card.

    Args:
        found: The collections.
        recipe: The recipe of the sets.
    """
    agreement: dict[str, list[float]] = {}
    truth: dict[str, list[float]] = {}
    for name, here in found.items():
        draws = [np.concatenate(one).T for one in here.fresh[OTHER[recipe]]]
        pairs = [
            (tau(one.card, fresh), tau(here.people.card, one.card))
            for one, fresh in zip(here.made[recipe], draws, strict=True)
        ]
        agreement[name], truth[name] = ([pair[side] for pair in pairs] for side in (0, 1))
    return agreement, truth


def _print_signal(found: Mapping[str, Measured]) -> None:
    for recipe in RECIPES:
        if any(recipe not in here.made or OTHER[recipe] not in here.fresh for here in found.values()):
            continue
        agreement, truth = signals(found, recipe)
        one = correlation(agreement, truth, corpus_of)
        print(f"Sets of {recipe}, agreement with fresh {OTHER[recipe]} queries and tau with people, card's baselines")
        for name, values in agreement.items():
            pairs = ", ".join(f"{left:5.2f} {right:5.2f}" for left, right in zip(values, truth[name], strict=True))
            print(f"  {name:16} {pairs}")
        spread, widest = max((max(values) - min(values), name) for name, values in agreement.items())
        print(f"  single agreements of one collection differ by up to {spread:.2f} ({widest})")
        print(f"  true tau {np.mean(list(truth.values())):.2f} on average")
        print(f"  correlation {one.value:.2f} ({one.low:.2f} to {one.high:.2f}), interval over corpora")
        _print_rule(agreement, truth)


def _print_rule(agreement: Mapping[str, Sequence[float]], truth: Mapping[str, Sequence[float]]) -> None:
    pairs = np.array([pair for name in agreement for pair in zip(agreement[name], truth[name], strict=True)])
    kinds = (
        (f"refused (<= {REFUSED})", pairs[:, 0] <= REFUSED),
        ("warned", (pairs[:, 0] > REFUSED) & (pairs[:, 0] < TRUSTED)),
        (f"passed (>= {TRUSTED})", pairs[:, 0] >= TRUSTED),
    )
    for kind, chosen in kinds:
        if chosen.any():
            values = pairs[chosen, 1]
            print(
                f"  {kind}: {chosen.sum()} sets, true tau {values.mean():.2f} on average, {values.min():.2f} to "
                f"{values.max():.2f}, {np.mean(values >= VALID):.0%} at least {VALID}"
            )
    if len({corpus_of(name) for name in agreement}) < 2:
        print()
        return
    limits, refused = refused_elsewhere(agreement, truth, corpus_of, valid=VALID)
    told = f", {np.mean(np.array(refused) >= VALID):.0%} at least {VALID}" if refused else ""
    span = f"{min(limits)} to {max(limits)}"
    print(f"  refusal at a limit chosen on the other corpora ({span}): {len(refused)} sets{told}\n")


if __name__ == "__main__":
    main()
