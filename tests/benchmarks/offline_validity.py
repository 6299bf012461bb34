"""How well sets of simulated queries order retrieval systems, held against people's queries and judgments.

``python -m tests.benchmarks.offline_validity [--collections DIR] [--only NAME ...] [--recipes ...] [--json FILE]``

Sixteen lexical systems are ranked by mean nDCG@10 twice: with a collection's own queries and judgments, and with
queries simulated from its documents, where the source document is the one relevant one. Kendall's tau-b says how far
the two rankings agree, averaged over seeds. The ceiling is the agreement of two random halves of the human queries.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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

RECIPES: tuple[RecipeName, ...] = ("terms", "held-out", "mixed")
BASELINES = ("Azzopardi popular", "Azzopardi discriminative")
SEEDS = (1, 2, 3)
QUERIES = 300
SPLITS = 100
FEWEST_QUERIES = 20
BRIEF = Assignment(kind=QueryKind.FACT, style=QueryStyle.KEYWORDS)
CEILING = "human, two halves"


@dataclass
class Simulated:
    """Queries, the document each was made from, and the documents that were changed for them."""

    queries: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    masked: dict[int, str] = field(default_factory=dict)


def main() -> None:
    """Measure every collection and print one table for each, then the means."""
    options = _options()
    folders = sorted(folder for folder in options.collections.iterdir() if is_collection(folder))
    chosen = [folder for folder in folders if not options.only or folder.name in options.only]
    results: dict[str, dict[str, float]] = {}
    for folder in chosen:
        start = time.perf_counter()
        collection = load(folder)
        if len(collection.queries) < FEWEST_QUERIES:
            print(f"{folder.name}: {len(collection.queries)} judged queries, too few to rank systems by\n")
            continue
        results[folder.name] = measure(collection, options.recipes, options.seeds, options.queries)
        _print_table(collection, results[folder.name], time.perf_counter() - start)
    _print_means(results)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kendall's tau between human and simulated rankings of systems.")
    parser.add_argument("--collections", type=Path, default=collections_folder(), help="folder of BEIR-style folders")
    parser.add_argument("--only", nargs="+", default=[], help="names of the folders to measure")
    parser.add_argument("--recipes", nargs="*", default=list(RECIPES), choices=RECIPES)
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--queries", type=int, default=QUERIES, help="simulated queries per set")
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args()


def measure(
    collection: Collection, recipes: Sequence[RecipeName], seeds: Sequence[int], count: int
) -> dict[str, float]:
    """Return tau-b with the human ranking for every recipe and baseline, and the ceiling."""
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    corpus = Corpus(collection.documents, analyzers)
    human = ndcg(corpus.top(collection.queries), collection.gains)
    baseline = Azzopardi(collection.documents, spaceless=collection.spaceless)

    def tau(make: Callable[[int], Simulated]) -> float:
        taus = []
        for seed in seeds:
            simulated = make(seed)
            indexed = corpus.replaced(simulated.masked) if simulated.masked else corpus
            gains = [{source: 1.0} for source in simulated.sources]
            scores = ndcg(indexed.top(simulated.queries), gains)
            taus.append(kendalltau(human.mean(axis=1), scores.mean(axis=1)).statistic)
        return statistics.fmean(taus)

    out = {CEILING: _ceiling(human)}
    out |= {
        f"goldbench {recipe}": tau(lambda seed, r=recipe: simulate(collection, r, seed, count)) for recipe in recipes
    }
    out["Azzopardi popular"] = tau(lambda seed: _simulated(baseline.queries("popular", seed=seed, count=count)))
    out["Azzopardi discriminative"] = tau(
        lambda seed: _simulated(baseline.queries("discriminative", seed=seed, count=count))
    )
    return out


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


def _ceiling(scores: np.ndarray) -> float:
    """Return the mean tau-b between the rankings of two random halves of the queries."""
    random = np.random.default_rng(0)
    taus = []
    for _ in range(SPLITS):
        order = random.permutation(scores.shape[1])
        first, second = np.array_split(order, 2)
        taus.append(kendalltau(scores[:, first].mean(axis=1), scores[:, second].mean(axis=1)).statistic)
    return statistics.fmean(taus)


def _print_table(collection: Collection, taus: dict[str, float], seconds: float) -> None:
    print(
        f"{collection.name}: {len(collection.documents)} documents, {len(collection.queries)} judged queries, "
        f"language {collection.language or 'not known'}, {len(LEXICAL)} systems, {seconds:.0f} s"
    )
    for name, value in taus.items():
        print(f"  {name:26} {value:6.2f}")
    print(flush=True)


def _print_means(results: dict[str, dict[str, float]]) -> None:
    if not results:
        print("no collection found: a folder with corpus.jsonl, queries.jsonl and qrels.tsv")
        return
    names = list(next(iter(results.values())))
    print(f"mean of {len(results)} collections (Kendall's tau-b with the ranking by human queries and judgments)")
    for name in names:
        values = [taus[name] for taus in results.values()]
        print(f"  {name:26} {statistics.fmean(values):6.2f}   {min(values):5.2f} to {max(values):.2f}")


if __name__ == "__main__":
    main()
