"""The card's figure on word order, for people's queries, simulated ones, and people's words in random order.

``python -m tests.benchmarks.naturalness [--collections DIR] [--only NAME ...] [--queries N] [--json FILE]``

The figure is the share of random orders of a query's words that the passages make less likely than its own order, with
a 95 % interval of the mean over queries. Collections where it is not measured are listed with the reason.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.word_order import MOST_PASSAGES, query_orders
from goldbench.text.language import detect_language
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load
from tests.benchmarks.written_queries import CACHE, SIMULATED, written

SHUFFLED = "shuffled"
KINDS = ("people", SIMULATED, SHUFFLED)
FEWEST_MEASURED = 10


def main() -> None:
    """Measure every collection and print a table."""
    parser = argparse.ArgumentParser(description="Word order of people's and of simulated queries.")
    parser.add_argument("--collections", type=Path, default=collections_folder(), help="folder of BEIR-style folders")
    parser.add_argument("--only", nargs="+", default=[], help="names of the folders to measure")
    parser.add_argument("--queries", type=int, default=300, help="most queries of a kind")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    results: dict[str, dict[str, list[float]]] = {}
    print(f"{'collection':16}" + "".join(f"{kind:>18}" for kind in KINDS))
    for folder in sorted(filter(is_collection, options.collections.iterdir())):
        if options.only and folder.name not in options.only:
            continue
        collection = load(folder)
        measured = {
            kind: measure(texts, collection) for kind, texts in kinds(folder, collection, options.queries).items()
        }
        results[folder.name] = {kind: found for kind, found in measured.items() if isinstance(found, list)}
        print(f"{folder.name:16}" + "".join(f"{_cell(found):>18}" for found in measured.values()), flush=True)
        for kind, reason in measured.items():
            if isinstance(reason, str):
                print(f"  {kind} not measured: {reason}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def kinds(folder: Path, collection: Collection, count: int) -> dict[str, list[str]]:
    """Return at most ``count`` queries of every kind."""
    chance = random.Random(0)
    people = collection.queries if len(collection.queries) <= count else chance.sample(collection.queries, count)
    split = [text.split() for text in people]
    return {
        "people": people,
        SIMULATED: written(folder, SIMULATED, count=count, seed=1, cache=CACHE).queries,
        SHUFFLED: [" ".join(chance.sample(words, len(words))) for words in split],
    }


def measure(texts: Sequence[str], collection: Collection) -> list[float] | str:
    """Return the mean of the queries, the ends of its interval and the number measured, or why there is no mean."""
    queries = {str(number): text for number, text in enumerate(texts)}
    languages = {number: detect_language(text) for number, text in queries.items()}
    step = max(1, len(collection.documents) // MOST_PASSAGES)
    found = query_orders(queries, languages, collection.documents[::step], seed=0)
    if len(found.ranks) < FEWEST_MEASURED:
        return "; ".join(f"{count} {reason}" for reason, count in found.left_out.items())
    ranks = np.array(list(found.ranks.values()))
    ends = bootstrap_intervals(ranks[:, None, None], [], resamples=2_000, seed=0)
    return [float(ranks.mean()), float(ends.mean_low[0, 0]), float(ends.mean_high[0, 0]), len(ranks)]


def _cell(found: list[float] | str) -> str:
    if isinstance(found, str):
        return "-"
    return f"{found[0]:.2f} ({found[1]:.2f}-{found[2]:.2f})"


if __name__ == "__main__":
    main()
