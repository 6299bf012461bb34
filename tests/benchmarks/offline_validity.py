"""How well sets of queries made without people rank retrieval systems, held against people's queries and judgments.

``python -m tests.benchmarks.offline_validity [--only NAME ...] [--seeds ...]``
``python -m tests.benchmarks.offline_validity --sources simulated local`` adds queries that the bundled model writes,
the source ``served`` those of the model ``$MODEL`` on the server ``$OPENAI_BASE_URL``.

Systems are ranked by mean nDCG@10 twice: with a collection's own queries and judgments, and with queries that
``goldbench build`` makes from its documents, of which the source is the one relevant document. Kendall's tau-b says how
far the two rankings of sixteen lexical systems agree. Collections that are translations of one another are one corpus:
intervals of means draw corpora. About 10 minutes of one processor.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from goldbench.offline.notice import HIGHEST, LOWEST, TAU
from tests.benchmarks.collections import collections_folder, is_collection
from tests.benchmarks.source_scores import Scores, Sources
from tests.benchmarks.systems import LEXICAL
from tests.benchmarks.validity_statistics import Interval, ceiling, halves, mean_tau, over_groups, tau
from tests.benchmarks.written_queries import OPTIONS, SIMULATED

AZZOPARDI = ("Azzopardi popular", "Azzopardi discriminative")
SEEDS = (1, 2, 3)
QUERIES = 150
FEWEST_QUERIES = 20
CEILING, HALVES = "people, two full sets", "people, two halves"


@dataclass
class Measured:
    """One collection: scores by people's queries, and by made sets by source and seed."""

    people: Scores
    made: dict[str, list[Scores]]


def main() -> None:
    """Measure every collection and print its table, then what holds over all of them."""
    options = _options()
    taus: dict[str, dict[str, Interval]] = {}
    for folder in sorted(filter(is_collection, collections_folder().iterdir())):
        if options.only and folder.name not in options.only:
            continue
        sources = Sources(folder, count=options.queries)
        if len(sources.collection.queries) < FEWEST_QUERIES:
            print(f"{folder.name}: {len(sources.collection.queries)} judged queries, too few to rank systems by\n")
            continue
        made = {name: [sources.made(name, seed) for seed in options.seeds] for name in options.sources}
        measured = Measured(sources.people(), made)
        taus[folder.name] = taus_of(measured)
        _print_collection(sources, taus[folder.name], measured)
    if not taus:
        print("no collection found: a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
        return
    _print_means(taus)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kendall's tau between people's rankings of systems and others.")
    every = [*OPTIONS, *AZZOPARDI]
    parser.add_argument("--only", nargs="+", default=[], help="names of the folders to measure")
    parser.add_argument(
        "--sources", nargs="+", default=[SIMULATED, *AZZOPARDI], choices=every, help="who makes queries"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries per set")
    return parser.parse_args()


def corpus_of(collection: str) -> str:
    """Return the corpus of a collection; the translations of XQuAD are one."""
    return collection.split("_", maxsplit=1)[0] if collection.startswith("xquad") else collection


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
        told = f"  (notice.py: {TAU}, {LOWEST}, {HIGHEST})" if name == SIMULATED else ""
        print(f"  {name:26} {mean.value:5.2f}  ({mean.low:5.2f} to {mean.high:5.2f})  {spread}{told}")
    print()


if __name__ == "__main__":
    main()
