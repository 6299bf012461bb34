"""Whether the card's "worth of the pool" is right about pools that do harm, on collections with all labels.

``python -m tests.benchmarks.pool_worth_validity [--collections DIR] [--only NAME ...]``

A judge grades the pool of BM25, character n-grams and LSI with the errors that were measured on the same pairs as
people's: GPT-4's of TREC Deep Learning 2023 and those of six judges of LLMJudge; "few errors" finds 62 % of what is
relevant and takes 5 % of the rest for relevant. People judge a random sample of 200 pairs. From it the product predicts
Kendall's tau of the pool and of the single known label for eight systems; what is true follows from all labels of the
collection. ``NAME:few`` is a collection without the queries that have more than five relevant documents.

The first table shows tau by depth, a mean over judges and two seeds; the second how often a pool did harm (by all
labels), how often the product said so and was right, and the same for pools that it said would help. The "nine of ten"
was chosen after the sign of the expected gain had failed on these collections: only others can confirm it.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.pool_worth import JudgedPool, PoolWorth, pool_worth, relevance_rates
from goldbench.records.relevance import RELEVANT
from tests.benchmarks import pooling_validity
from tests.benchmarks.collections import Collection, collections_folder, is_collection, load
from tests.benchmarks.queue_validity import GPT_DL23, NIST_DL23, grades
from tests.benchmarks.systems import Analyzers, Corpus, ndcg

CHOSEN = ("cranfield", "cranfield:few", "cisi", "med", "cystic_fibrosis", "npl", "xquad_en", "arcd")
DEPTHS = (1, 3, 5, 10, 20, 50)
POOLS = (5, 10, 20, 50)
"""Depths of pools that a user may have graded."""
SEEDS = (1, 2)
OWN = (0, 3, 5, 8, 10, 11, 13, 15)
"""The systems of the user, by their place among the sixteen."""
MOST_QUERIES = 150
JUDGES = ("h2oloo-zeroshot2", "h2oloo-fewself", "Olz-multiprompt", "TREMA-nuggets", "TREMA-4prompts", "TREMA-rubric0")
FEW_ERRORS = np.array([[0.75, 0.2, 0.03, 0.02], [0.2, 0.18, 0.3, 0.32]])
SAMPLE = {0: 60, 1: 60, 2: 40, 3: 40}


def confusions(folder: Path) -> dict[str, Floats]:
    """Return the shares of the grades 0 to 3 that each judge gives to what is not relevant, and to what is; (2, 4)."""
    dl23, llmjudge = folder / "dl23_gpt4", folder / "llmjudge"
    people = grades(llmjudge / "llmjudge_test_qrel_idx.txt")
    measured = {"GPT-4, DL 2023": (grades(dl23 / NIST_DL23), grades(dl23 / GPT_DL23))}
    measured |= {name: (people, grades(llmjudge / "submissions" / f"{name}.txt")) for name in JUDGES}
    found = {"few errors": FEW_ERRORS}
    for name, (truth, judge) in measured.items():
        counts = np.zeros((2, 4))
        for pair in truth.keys() & judge.keys():
            counts[int(truth[pair] >= RELEVANT), judge[pair]] += 1
        found[name] = counts / counts.sum(axis=1, keepdims=True)
    return found


@dataclasses.dataclass(frozen=True)
class Pooled:
    """The pool of a collection at the greatest depth, in one order, and what the systems found in it."""

    pairs: JudgedPool
    relevant: np.ndarray
    documents: np.ndarray


def pooled(collection: Collection, found: np.ndarray) -> Pooled:
    """Return the pool, with all labels in place of a judge's."""
    pooling_validity.DEPTHS = DEPTHS
    rankings = pooling_validity._rankings(collection)
    rows: list[tuple[int, int, int, bool, bool]] = []
    for query, (runs, gains) in enumerate(zip(rankings, collection.gains, strict=True)):
        source = pooling_validity._source(gains, 1)
        best: dict[int, int] = {}
        for run in runs:
            for rank, doc in enumerate(run, 1):
                best[doc] = min(best.get(doc, rank), rank)
        best.setdefault(source, 1)
        rows += [(query, doc, rank, doc in gains, doc == source) for doc, rank in best.items()]
    query, doc, rank, relevant, source = (np.array(column) for column in zip(*rows, strict=True))
    place = {(q, d): at for at, (q, d) in enumerate(zip(query.tolist(), doc.tolist(), strict=True))}
    top = np.array([[[place.get((q, int(d)), -1) for d in row] for q, row in enumerate(run)] for run in found])
    return Pooled(JudgedPool(relevant.astype(float), relevant, source, rank, query, top), relevant, doc)


def predicted(pool: Pooled, grade: np.ndarray, depth: int, depths: Sequence[int], seed: int) -> list[PoolWorth]:
    """Return what the product says of a pool of this depth, after people judged a sample of it."""
    whole, rng = pool.pairs, np.random.default_rng(seed)
    inside = np.flatnonzero((whole.rank <= depth) | whole.source)
    sample = {}
    for level, wanted in SAMPLE.items():
        stratum = inside[(grade[inside] == level) & ~whole.source[inside]]
        drawn = rng.choice(stratum, min(wanted, len(stratum)), replace=False)
        sample[level] = (len(drawn), int(pool.relevant[drawn].sum()))
    chance = np.where(whole.source, 1.0, np.array(relevance_rates(sample))[grade])
    now = np.full(len(grade) + 1, -1)
    now[inside] = np.arange(len(inside))
    part = JudgedPool(
        chance[inside],
        grade[inside] >= RELEVANT,
        whole.source[inside],
        whole.rank[inside],
        whole.query[inside],
        now[whole.top],
    )
    return pool_worth(part, tuple(depths), seed=seed)


def measure(
    collection: Collection, judges: dict[str, Floats]
) -> tuple[list[float], list[tuple[int, float, PoolWorth, float]]]:
    """Return tau of the single label; for each judge, seed and pool its depth, tau, prediction and false share."""
    analyzers = Analyzers(collection.documents, language=collection.language, spaceless=collection.spaceless)
    found = np.stack(Corpus(collection.documents, analyzers).top(collection.queries))[list(OWN)]
    pool = pooled(collection, found)
    truth = ndcg(found, collection.gains).mean(axis=1)

    def tau(labels: np.ndarray) -> float:
        gains: list[dict[int, float]] = [{} for _ in collection.queries]
        for at in np.flatnonzero(labels):
            gains[pool.pairs.query[at]][int(pool.documents[at])] = 1.0
        return float(np.nan_to_num(kendalltau(ndcg(found, gains).mean(axis=1), truth).statistic))

    results = []
    for shares in judges.values():
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            grade = (
                rng.random(len(pool.relevant))[:, None] > np.cumsum(shares, axis=1)[pool.relevant.astype(int)]
            ).sum(axis=1)
            grade = np.minimum(grade, 3)
            for depth in DEPTHS:
                added = (grade >= RELEVANT) & (pool.pairs.rank <= depth) & ~pool.pairs.source
                false = float((~pool.relevant[added]).mean()) if added.any() else 0.0
                said = predicted(pool, grade, depth, [depth], seed)[0]
                results.append((depth, tau(added | pool.pairs.source), said, false))
    return [tau(pool.pairs.source)], results


def chosen(folder: Path, name: str) -> Collection:
    """Return a collection, or the part of it that the name says, with at most 150 queries."""
    whole = load(folder / name.partition(":")[0])
    kept = [at for at, gains in enumerate(whole.gains) if not name.endswith(":few") or len(gains) <= 5]
    kept = kept[:: -(-len(kept) // MOST_QUERIES)]
    return dataclasses.replace(
        whole, queries=[whole.queries[at] for at in kept], gains=[whole.gains[at] for at in kept]
    )


def main() -> None:
    """Measure every collection and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--collections", type=Path, default=collections_folder(), help="folder of BEIR-style folders")
    parser.add_argument("--only", nargs="+", default=list(CHOSEN), help="names of the folders to measure")
    options = parser.parse_args()
    judges = confusions(options.collections / "llm_judgments")
    print(f"{'tau by depth':<16} one label " + " ".join(f"{depth:>5}" for depth in DEPTHS))
    lines, total = [], np.zeros(6, dtype=int)
    for name in options.only:
        if not is_collection(options.collections / name.partition(":")[0]):
            print(f"{name}: is not at {options.collections}")
            continue
        [single], results = measure(chosen(options.collections, name), judges)
        means = [np.mean([tau for depth, tau, _, _ in results if depth == one]) for one in DEPTHS]
        print(f"{name:<16} {single:9.2f} " + " ".join(f"{mean:5.2f}" for mean in means), flush=True)
        pools = [row for row in results if row[0] in POOLS]
        harm = np.array([tau < single for _, tau, _, _ in pools])
        said = np.array([worth.harms is True for _, _, worth, _ in pools])
        helps = np.array([worth.harms is False for _, _, worth, _ in pools])
        off = np.mean([abs((worth.false_share or 0.0) - false) for _, _, worth, false in pools])
        counts = np.array([len(pools), harm.sum(), said.sum(), (harm & said).sum(), helps.sum(), (helps & ~harm).sum()])
        total += counts
        lines.append((name, counts, off))
    print(f"\n{'':<16} pools   harm  said harm (right)  said help (right)   false share off by")
    for name, counts, off in [*lines, ("all", total, float("nan"))]:
        print(f"{name:<16} " + "  ".join(f"{count:5}" for count in counts) + f"   {off:.3f}")


if __name__ == "__main__":
    main()
