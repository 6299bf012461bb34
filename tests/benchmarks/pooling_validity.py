"""What a pool is worth: rankings of systems by one label per query, and by pools of several depths, against all labels.

``python -m tests.benchmarks.pooling_validity [--only NAME ...]``

Sixteen lexical systems are ranked by mean nDCG@10 with all human labels of a collection, and again with less: a single
relevant document of each query (by MRR@10, as is usual with one label), and what the built-in pool of BM25, character
n-grams and LSI brings up, judged by people, or by a judge that finds 62 % of what is relevant and takes 5 % of the rest
for relevant. "no stems" is a pool of retrievers that do not know the language. Kendall's tau-b says how far two
rankings agree. Holes are the share of the ten first documents of a system that the pool has not judged: on average over
the systems that are not in the pool, and over those whose family is not in it either (cosine of TF or TF-IDF vectors of
words, one of them without any IDF).
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
DEPTHS = (3, 5, 10, 20)
CHOSEN = ("cranfield", "cisi", "med", "cystic_fibrosis", "npl")
SENSITIVITY, FALSE_POSITIVES = 0.62, 0.05
SEEDS, SPLITS = (1, 2, 3), 100
SEEN = frozenset(
    ("BM25, stems without stop words", "LSI 200, stems without stop words", "TF-IDF cosine, character n-grams")
)
"""Systems that are nearly those of the pool, in English."""
UNSEEN = tuple(place for place, system in enumerate(LEXICAL) if system.name not in SEEN)
FOREIGN = tuple(place for place in UNSEEN if LEXICAL[place].name.startswith("TF"))

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


HEADS = ("hole@10 unseen", "other families", "judged a query")
COLUMNS = (("tau", 6, 2), ("unseen", 15, 2), ("foreign", 15, 2), ("judged", 15, 1))


def measure(collection: Collection) -> dict[str, dict[str, float]]:
    """Return by row of the table: tau with all labels, holes of unseen and of all systems, documents judged a query."""
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    found = Corpus(collection.documents, analyzers).top(collection.queries)
    table = ndcg(found, collection.gains)
    whole = table.mean(axis=1)
    rows = {"two halves of the queries": {"tau": _ceiling(table)}}
    single = [_tau(_mrr(found, _one_each(collection.gains, seed)), whole) for seed in SEEDS]
    rows["one label (MRR@10)"] = {"tau": statistics.fmean(single), "judged": 1.0}
    rankings, plain = _rankings(collection), _rankings(collection, stemmed=False)
    for depth in DEPTHS:
        pools = [_pool(rankings, query, depth, _source(gains, 1)) for query, gains in enumerate(collection.gains)]
        rows[f"pool {depth} x 3, people"] = {
            "tau": _tau(ndcg(found, _within(collection.gains, pools)).mean(axis=1), whole),
            "unseen": _holes([found[place] for place in UNSEEN], pools),
            "foreign": _holes([found[place] for place in FOREIGN], pools),
            "judged": statistics.fmean(map(len, pools)),
        }
        taus = [_tau(ndcg(found, _noisy(collection.gains, pools, seed)).mean(axis=1), whole) for seed in SEEDS]
        rows[f"pool {depth} x 3, fallible judge"] = {"tau": statistics.fmean(taus)}
        unstemmed = [_pool(plain, query, depth, _source(gains, 1)) for query, gains in enumerate(collection.gains)]
        tau = _tau(ndcg(found, _within(collection.gains, unstemmed)).mean(axis=1), whole)
        rows[f"pool {depth} x 3, people, no stems"] = {"tau": tau, "judged": statistics.fmean(map(len, unstemmed))}
    return rows


def _within(gains: Gains, pools: Sequence[set[int]]) -> Gains:
    return [{doc: gain for doc, gain in truth.items() if doc in pool} for truth, pool in zip(gains, pools, strict=True)]


def _rankings(collection: Collection, *, stemmed: bool = True) -> list[list[list[int]]]:
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
            runs.append(system.search(queries, k=max(DEPTHS)))
    return [[[int(doc) for doc in run.get(query, {})] for run in runs] for query in queries]


def _pool(rankings: Sequence[Sequence[Sequence[int]]], query: int, depth: int, source: int) -> set[int]:
    cut = {name: [str(doc) for doc in found[:depth]] for name, found in zip(POOL, rankings[query], strict=True)}
    pooled = pool_query(str(query), rankings=cut, sources=[str(source)], cluster_of=lambda doc: (doc,))
    return {int(row.chunk_id) for row in pooled}


def _source(gains: dict[int, float], seed: int) -> int:
    """Return the document that stands for the one a query was written from: one of the most relevant, drawn."""
    best = max(gains.values())
    return min((doc for doc, gain in gains.items() if gain == best), key=lambda doc: _chance(seed, "source", doc))


def _one_each(gains: Gains, seed: int) -> list[int]:
    return [_source(of_query, seed) for of_query in gains]


def _noisy(gains: Gains, pools: Sequence[set[int]], seed: int) -> Gains:
    """Return what a fallible judge makes of the pools; the source is known to be relevant."""
    judged: Gains = []
    for query, (truth, pool) in enumerate(zip(gains, pools, strict=True)):
        kept = {_source(truth, 1): 1.0}
        for doc in pool:
            rate = SENSITIVITY if doc in truth else FALSE_POSITIVES
            if _chance(seed, query, doc) < rate:
                kept[doc] = 1.0
        judged.append(kept)
    return judged


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


def _ceiling(table: np.ndarray) -> float:
    rng = np.random.default_rng(0)
    taus = []
    for _ in range(SPLITS):
        order = rng.permutation(table.shape[1])
        half = len(order) // 2
        taus.append(_tau(table[:, order[:half]].mean(axis=1), table[:, order[half:]].mean(axis=1)))
    return statistics.fmean(taus)


def _tau(one: np.ndarray, other: np.ndarray) -> float:
    return float(kendalltau(one, other).statistic)


if __name__ == "__main__":
    main()
