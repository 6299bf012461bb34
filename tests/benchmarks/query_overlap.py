"""How many of a query's content words stand in its relevant documents, for people's queries.

``python -m tests.benchmarks.query_overlap``

The card shows the range beside its figure *lexical overlap*, which is computed in the same way: the mean share over a
query's relevant documents, then over queries. Half a minute.
"""

from __future__ import annotations

import numpy as np

from goldbench.stages.check.overlap import overlap
from goldbench.text.language import detect_language
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load


def mean_overlap(collection: Collection) -> float:
    """Return the mean share of a collection, 0 to 1."""
    means = []
    for query, relevant in zip(collection.queries, collection.gains, strict=True):
        language = detect_language(query)
        shares = [overlap(query, collection.documents[position], language) for position in relevant]
        if known := [share for share in shares if share is not None]:
            means.append(np.mean(known))
    return float(np.mean(means))


def main() -> None:
    """Print the share of every collection and the range."""
    means = []
    for folder in sorted(filter(is_collection, collections_folder().iterdir())):
        means.append(mean_overlap(load(folder)))
        print(f"{folder.name:16}{means[-1]:>8.0%}", flush=True)
    print(f"{len(means)} collections: {min(means):.0%} to {max(means):.0%}")


if __name__ == "__main__":
    main()
