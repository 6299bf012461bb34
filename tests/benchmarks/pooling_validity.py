"""What a pool is worth: rankings of systems by one label per query, and by pools of depth 10, against all labels.

``python -m tests.benchmarks.pooling_validity [--only NAME ...]``

Sixteen lexical systems are ranked by mean nDCG@10 with all human labels of a collection, and again with less: a single
relevant document of each query (by MRR@10, as is usual with one label), and what the built-in pool of BM25, character
n-grams and LSI brings up, judged by people. "no stems" is a pool of retrievers that do not know the language. Kendall's
tau-b says how far two rankings agree. Holes are the share of the ten first documents of a system that the pool has not
judged, on average over the systems that are not in the pool.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import time
from collections.abc import Sequence

import numpy as np
from scipy.stats import kendalltau

from goldbench.grade.pool import pool_settings
from goldbench.stages.pool import pool_query
from goldbench.systems import open_systems
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load
from tests.benchmarks.systems import DEPTH, LEXICAL, Analyzers, Corpus, ndcg

POOL = ("bm25", "ngrams", "lsi")
CHOSEN = ("cranfield", "cisi", "med", "cystic_fibrosis", "npl")
SEEDS = (1, 2, 3)
SEEN = frozenset(
    ("BM25, stems without stop words", "LSI 200, stems without stop words", "TF-IDF cosine, character n-grams")
)
"""Systems that are nearly those of the pool, in English."""
UNSEEN = tuple(place for place, system in enumerate(LEXICAL) if system.name not in SEEN)

Gains = list[dict[int, float]]


def main() -> None:
    """Measure every collection and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", default=list(CHOSEN), help="names of the folders to measure")
    options = parser.parse_args()
    print(f"{'collection':<16} {'what':<32} {'tau':>6} " + " ".join(f"{head:>15}" for head in HEADS))
    for name in options.only:
        folder = collections_folder() / name
        if not is_collection(folder):
            print(f"{name}: is not at {folder}")
            continue
        started = time.perf_counter()
        for what, row in measure(load(folder)).items():
            cells = [f"{row[key]:{width}.{digits}f}" if key in row else " " * width for key, width, digits in COLUMNS]
            print(f"{name:<16} {what:<32} {' '.join(cells)}")
        print(f"{name:<16} {time.perf_counter() - started:.0f} s", flush=True)


HEADS = ("hole@10 unseen", "judged a query")
COLUMNS = (("tau", 6, 2), ("unseen", 15, 2), ("judged", 15, 1))


def measure(collection: Collection) -> dict[str, dict[str, float]]:
    """Return by row of the table: tau with all labels, holes of unseen systems, documents judged a query."""
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    found = Corpus(collection.documents, analyzers).top(collection.queries)
    whole = ndcg(found, collection.gains).mean(axis=1)
    single = [_tau(_mrr(found, _one_each(collection.gains, seed)), whole) for seed in SEEDS]
    rows = {"one label (MRR@10)": {"tau": statistics.fmean(single), "judged": 1.0}}
    for stemmed in (True, False):
        rankings = _rankings(collection, stemmed=stemmed)
        pools = [_pool(rankings, query, _source(gains, 1)) for query, gains in enumerate(collection.gains)]
        rows[f"pool {DEPTH} x 3, {'stems' if stemmed else 'no stems'}"] = {
            "tau": _tau(ndcg(found, _within(collection.gains, pools)).mean(axis=1), whole),
            "unseen": _holes([found[place] for place in UNSEEN], pools),
            "judged": statistics.fmean(map(len, pools)),
        }
    return rows


def _within(gains: Gains, pools: Sequence[set[int]]) -> Gains:
    return [{doc: gain for doc, gain in truth.items() if doc in pool} for truth, pool in zip(gains, pools, strict=True)]


def _rankings(collection: Collection, *, stemmed: bool) -> list[list[list[int]]]:
    """Return for every query what each retriever of the pool finds, best first.

    Args:
        collection: What is searched.
        stemmed: Whether the retrievers know the language, and so stem words and leave out function words.
    """
    corpus = {f"{position:07}": text for position, text in enumerate(collection.documents)}
    queries = {f"{place:07}": text for place, text in enumerate(collection.queries)}
    with open_systems(POOL, pool_settings(collection.language if stemmed else None)) as systems:
        runs = []
        for name in POOL:
            system = systems.retriever(name)
            system.index(corpus)
            runs.append(system.search(queries, k=DEPTH))
    return [[[int(doc) for doc in run.get(query, {})] for run in runs] for query in queries]


def _pool(rankings: Sequence[Sequence[Sequence[int]]], query: int, source: int) -> set[int]:
    cut = {name: [str(doc) for doc in found[:DEPTH]] for name, found in zip(POOL, rankings[query], strict=True)}
    pooled = pool_query(str(query), rankings=cut, sources=[str(source)], cluster_of=lambda doc: (doc,))
    return {int(row.chunk_id) for row in pooled}


def _source(gains: dict[int, float], seed: int) -> int:
    """Return the document that stands for the one a query was written from: one of the most relevant, drawn."""
    best = max(gains.values())
    return min((doc for doc, gain in gains.items() if gain == best), key=lambda doc: _chance(seed, "source", doc))


def _one_each(gains: Gains, seed: int) -> list[int]:
    return [_source(of_query, seed) for of_query in gains]


def _chance(*parts: object) -> float:
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "big") / 2**64


def _mrr(found: Sequence[np.ndarray], sources: Sequence[int]) -> np.ndarray:
    hits = np.stack(found) == np.array(sources)[None, :, None]
    return (hits / np.arange(1, DEPTH + 1)).sum(axis=2).mean(axis=1)


def _holes(found: Sequence[np.ndarray], pools: Sequence[set[int]]) -> float:
    """Return the share of the first ten documents that no pool holds, over systems and queries."""
    shares = [
        sum(int(doc) not in pool for doc in row if doc >= 0) / max(1, sum(doc >= 0 for doc in row))
        for system in found
        for row, pool in zip(system, pools, strict=True)
    ]
    return statistics.fmean(shares)


def _tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(kendalltau(one, other).statistic)


if __name__ == "__main__":
    main()
