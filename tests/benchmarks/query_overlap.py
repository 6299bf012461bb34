"""How many of a query's content words stand in its relevant documents, for people's queries.

``python -m tests.benchmarks.query_overlap [--collections DIR]``

The card shows the range of these means beside its figure *lexical overlap*, which is computed in the same way: the mean
share over a query's relevant documents, then over queries. Ten seconds.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from goldbench.pipeline.stages.check.overlap import overlap
from goldbench.pipeline.text.language import detect_language
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load


def mean_overlap(collection: Collection) -> float:
    """Return the mean share of a query's content words that stand in a relevant document, 0 to 1."""
    found = []
    for query, relevant in zip(collection.queries, collection.gains, strict=True):
        language = detect_language(query)
        shares = [overlap(query, collection.documents[position], language) for position in relevant]
        known = [share for share in shares if share is not None]
        if known:
            found.append(np.mean(known))
    return float(np.mean(found))


def main() -> None:
    """Print the mean of every collection and their range."""
    parser = argparse.ArgumentParser(description="Overlap of people's queries with their relevant documents.")
    parser.add_argument("--collections", type=Path, default=collections_folder(), help="folder of BEIR-style folders")
    options = parser.parse_args()
    means = {}
    for folder in sorted(filter(is_collection, options.collections.iterdir())):
        means[folder.name] = mean_overlap(load(folder))
        print(f"{folder.name:16} {means[folder.name]:.0%}", flush=True)
    if means:
        print(f"{len(means)} collections: {min(means.values()):.0%} to {max(means.values()):.0%}")


if __name__ == "__main__":
    main()
