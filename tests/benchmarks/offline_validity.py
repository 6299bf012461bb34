"""How well sets of queries made without people order retrieval systems, held against people's queries and judgments.

``python -m tests.benchmarks.offline_validity [--collections DIR] [--only NAME ...] [--recipes ...] [--json FILE]``
``python -m tests.benchmarks.offline_validity --generator local`` adds queries that the bundled model writes.

Sixteen lexical systems are ranked by mean nDCG@10 twice: with a collection's own queries and judgments, and with
queries made from its documents, where the source document is the one relevant one. Kendall's tau-b says how far the
two rankings agree, averaged over seeds, with a 95 % interval over the queries of a set: the set is drawn anew from its
queries, people's ranking stays. The ceiling is the agreement of two random halves of the human queries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from goldbench.pipeline.offline.generator import OfflineGenerator, RecipeName
from goldbench.pipeline.ports import Brief
from goldbench.pipeline.text.draws import key_of
from goldbench.schemas.corpus import Chunk, Span
from goldbench.schemas.query import Assignment, Constraints, QueryKind, QueryStyle
from tests.benchmarks.azzopardi import Azzopardi
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load
from tests.benchmarks.systems import LEXICAL, Analyzers, Corpus, ndcg
from tests.benchmarks.written_queries import CACHE, OPTIONS, Written, written

RECIPES: tuple[RecipeName, ...] = ("terms", "held-out", "mixed")
BASELINES = ("Azzopardi popular", "Azzopardi discriminative")
SEEDS = (1, 2, 3)
QUERIES = 300
SPLITS, RESAMPLES = 100, 1_000
FEWEST_QUERIES = 20
BRIEF = Assignment(kind=QueryKind.FACT, style=QueryStyle.KEYWORDS)
CEILING = "human, two halves"


@dataclass
class Simulated:
    """Queries, the document each was made from, and the documents that were changed for them."""

    queries: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    masked: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Tau-b with people's ranking, its interval, and of how many queries; ``by_model`` is the share a model wrote."""

    tau: float
    low: float
    high: float
    queries: int
    by_model: float | None = None


def main() -> None:
    """Measure every collection and print one table for each, then the means."""
    options = _options()
    folders = sorted(folder for folder in options.collections.iterdir() if is_collection(folder))
    chosen = [folder for folder in folders if not options.only or folder.name in options.only]
    results: dict[str, dict[str, Agreement]] = {}
    for folder in chosen:
        start = time.perf_counter()
        collection = load(folder)
        if len(collection.queries) < FEWEST_QUERIES:
            print(f"{folder.name}: {len(collection.queries)} judged queries, too few to rank systems by\n")
            continue
        made = _made(folder, options)
        results[folder.name] = measure(collection, options.recipes, options.seeds, options.queries, made)
        _print_table(collection, results[folder.name], time.perf_counter() - start)
        if options.json:
            figures = {name: {kind: asdict(one) for kind, one in found.items()} for name, found in results.items()}
            options.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    _print_means(results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kendall's tau between people's rankings of systems and others.")
    parser.add_argument("--collections", type=Path, default=collections_folder(), help="folder of BEIR-style folders")
    parser.add_argument("--only", nargs="+", default=[], help="names of the folders to measure")
    parser.add_argument("--recipes", nargs="*", default=list(RECIPES), choices=RECIPES)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--queries", type=int, default=QUERIES, help="queries per set")
    parser.add_argument("--generator", choices=sorted(OPTIONS), help="also measure sets that goldbench build writes")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for those sets and the model's answers")
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args()


def _made(folder: Path, options: argparse.Namespace) -> dict[str, list[Sequence[Written]]]:
    """Return the sets of the chosen generator, one for each seed, if a generator is chosen."""
    if options.generator is None:
        return {}
    name, count, cache = options.generator, options.queries, options.cache
    return {name: [written(folder, name, count=count, seed=seed, cache=cache) for seed in options.seeds]}


def measure(
    collection: Collection,
    recipes: Sequence[RecipeName],
    seeds: Sequence[int],
    count: int,
    made: Mapping[str, Sequence[Sequence[Written]]] | None = None,
) -> dict[str, Agreement]:
    """Return tau-b with the human ranking for every recipe, baseline and written set, and the ceiling.

    Args:
        collection: Documents, queries and judgments.
        recipes: Recipes of simulated queries.
        seeds: Seeds of the simulated sets.
        count: Most queries of a simulated set.
        made: Sets that a build has written, by name.
    """
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    corpus = Corpus(collection.documents, analyzers)
    human = ndcg(corpus.top(collection.queries), collection.gains)
    baseline = Azzopardi(collection.documents, spaceless=collection.spaceless)

    def agreement(make: Callable[[int], Simulated]) -> Agreement:
        return _mean_of([_agreement(human, _scores(corpus, make(seed))) for seed in seeds])

    out = {CEILING: _ceiling(human)}
    for name, sets in (made or {}).items():
        found = _mean_of(
            [_agreement(human, _scores(corpus, _simulated((q.source, q.text) for q in queries))) for queries in sets]
        )
        share = statistics.fmean(query.by_model for queries in sets for query in queries)
        out[f"goldbench {name}"] = replace(found, by_model=share)
    out |= {
        f"goldbench {recipe}": agreement(lambda seed, r=recipe: simulate(collection, r, seed, count))
        for recipe in recipes
    }
    for kind in ("popular", "discriminative"):
        out[f"Azzopardi {kind}"] = agreement(
            lambda seed, k=kind: _simulated(baseline.queries(k, seed=seed, count=count))
        )
    return out


def _scores(corpus: Corpus, made: Simulated) -> np.ndarray:
    indexed = corpus.replaced(made.masked) if made.masked else corpus
    return ndcg(indexed.top(made.queries), [{source: 1.0} for source in made.sources])


def _agreement(human: np.ndarray, scores: np.ndarray) -> Agreement:
    """Return tau-b of the two rankings, and its interval over the queries of ``scores``."""
    ranking, count = human.mean(axis=1), scores.shape[1]
    random = np.random.default_rng(0)
    drawn = [
        kendalltau(ranking, scores[:, random.integers(count, size=count)].mean(axis=1)).statistic
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return Agreement(float(kendalltau(ranking, scores.mean(axis=1)).statistic), float(low), float(high), count)


def _mean_of(found: Sequence[Agreement]) -> Agreement:
    means = (statistics.fmean(getattr(one, name) for one in found) for name in ("tau", "low", "high"))
    return Agreement(*means, queries=min(one.queries for one in found))


def simulate(collection: Collection, recipe: RecipeName, seed: int, count: int) -> Simulated:
    """Return at most ``count`` of our own queries, one per document."""
    chunks = {
        position: Chunk(chunk_id=f"d{position}", span=Span(doc_id=f"d{position}", start=0, end=len(text)), text=text)
        for position, text in enumerate(collection.documents)
        if text
    }
    generator = OfflineGenerator(chunks.values(), recipe=recipe, seed=seed)
    out = Simulated()

    async def draw() -> None:
        for position in sorted(chunks, key=lambda number: key_of(seed, "benchmark", number)):
            if len(out.queries) == count:
                return
            chunk = chunks[position]
            brief = Brief(chunk=chunk, assignment=BRIEF, constraints=Constraints(), language=collection.language)
            for candidate in (await generator.propose(brief)).candidates:
                out.queries.append(candidate.text)
                out.sources.append(position)
                if candidate.masked:
                    out.masked[position] = chunk.text_without(candidate.masked)

    asyncio.run(draw())
    return out


def _simulated(pairs: object) -> Simulated:
    drawn = list(pairs)  # type: ignore[call-overload]
    return Simulated([query for _, query in drawn], [position for position, _ in drawn])


def _ceiling(scores: np.ndarray) -> Agreement:
    """Return the mean tau-b between the rankings of two random halves of the queries, and the spread of the splits."""
    random = np.random.default_rng(0)
    taus = []
    for _ in range(SPLITS):
        order = random.permutation(scores.shape[1])
        first, second = np.array_split(order, 2)
        taus.append(kendalltau(scores[:, first].mean(axis=1), scores[:, second].mean(axis=1)).statistic)
    low, high = np.quantile(taus, [0.025, 0.975])
    return Agreement(statistics.fmean(taus), float(low), float(high), scores.shape[1] // 2)


def _print_table(collection: Collection, found: dict[str, Agreement], seconds: float) -> None:
    print(
        f"{collection.name}: {len(collection.documents)} documents, {len(collection.queries)} judged queries, "
        f"language {collection.language or 'not known'}, {len(LEXICAL)} systems, {seconds:.0f} s"
    )
    for name, one in found.items():
        share = "" if one.by_model is None else f", {one.by_model:.0%} written by the model"
        print(f"  {name:26} {one.tau:6.2f}  ({one.low:5.2f} to {one.high:.2f})  {one.queries} queries{share}")
    print(flush=True)


def _print_means(results: dict[str, dict[str, Agreement]]) -> None:
    if not results:
        print("no collection found: a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
        return
    names = list(next(iter(results.values())))
    print(f"mean of {len(results)} collections (Kendall's tau-b with the ranking by human queries and judgments)")
    for name in names:
        values = [found[name].tau for found in results.values()]
        print(f"  {name:26} {statistics.fmean(values):6.2f}   {min(values):5.2f} to {max(values):.2f}")


if __name__ == "__main__":
    main()
