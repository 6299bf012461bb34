"""Which share of a judge's errors people find in the first part of the queue.

``python -m tests.benchmarks.queue_validity [--seeds N]``

Judges: GPT-4 on TREC Deep Learning 2023, the 33 judges of LLMJudge one by one, and 11 panels of three of them, whose
disagreement is then known too. For each seed a random sample of 200 pairs is drawn as for people (lane A); all other
pairs (lane B) come in the order of fixed weights.
An error is a pair that NIST and the judge do not both find relevant, or both not. The table shows the mean over seeds
and judges, and that of the judge for whom an order is worst. "best order" knows the error rate of every grade (a single
judge tells no more than its grade). "below chance" counts judges for whom the first 20 % hold fewer errors
than chance, over the mean of their seeds, and single draws. The "stern judge" is simulated on the pairs of LLMJudge: of
its grades 0 to 3 people find 30, 45, 85 and 95 % relevant, so that its errors are where fixed weights look last.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.records.judgment import Judgment, PooledPair
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.review.queue import calibration, likely_errors, settled_grades
from tests.benchmarks.collections import collections_folder

Pair = tuple[str, str]
PART = 0.2
ORDERS = ("fixed weights", "best order")
NIST_DL23, GPT_DL23 = "2023.qrels.pass.withDupes.txt.gz", "2023.qrels.pass.gpt4.txt.gz"


def grades(path: Path) -> dict[Pair, Relevance]:
    """Return the grade of each pair in a file of TREC qrels, grades beyond 0 to 3 as the nearest of these."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = (line.split() for line in content.decode().splitlines())
    return {(row[0], row[2]): Relevance(min(3, max(0, int(float(row[3]))))) for row in rows if len(row) == 4}


def judges(folder: Path) -> Iterator[tuple[str, dict[Pair, Relevance], list[dict[Pair, Relevance]]]]:
    """Yield the name of each judge or panel, people's grades, and the grades of its assessors."""
    dl23 = folder / "dl23_gpt4"
    yield "GPT-4, DL 2023", grades(dl23 / NIST_DL23), [grades(dl23 / GPT_DL23)]
    people = grades(folder / "llmjudge" / "llmjudge_test_qrel_idx.txt")
    files = sorted((folder / "llmjudge" / "submissions").glob("*.txt"))
    given = [grades(file) for file in files]
    for file, one in zip(files, given, strict=True):
        yield file.stem, people, [one]
    yield "stern judge", people, [_stern(people)]
    third = len(files) // 3
    for first in range(third):
        yield f"panel {first + 1}", people, [given[first + turn * third] for turn in range(3)]


def _stern(people: Mapping[Pair, Relevance]) -> dict[Pair, Relevance]:
    """Return grades of a judge who gives 55, 25, 10 and 10 % of all pairs the grades 0 to 3, mostly too low."""
    draw = np.random.default_rng(0)
    shares, relevant = np.array([0.55, 0.25, 0.1, 0.1]), np.array([0.3, 0.45, 0.85, 0.95])
    found = {}
    for pair, grade in people.items():
        chance = shares * (relevant if grade >= RELEVANT else 1.0 - relevant)
        found[pair] = Relevance(int(draw.choice(4, p=chance / chance.sum())))
    return found


def found_shares(people: Mapping[Pair, Relevance], panel: list[dict[Pair, Relevance]], seeds: int) -> Floats:
    """Return the share of the errors in the first part of lane B, shape (seeds, orders).

    Args:
        people: People's grades.
        panel: The grades of each assessor.
        seeds: Samples to draw.
    """
    said = {
        (q, d): [
            Judgment(query_id=q, chunk_id=d, relevance=one[q, d], assessor=f"m{position}")
            for position, one in enumerate(panel)
            if (q, d) in one
        ]
        for q, d in people
        if any((q, d) in one for one in panel)
    }
    pool = [PooledPair(query_id=q, chunk_id=d) for q, d in said]
    judged = settled_grades(said)
    fixed = likely_errors(pool, said)
    wrong = {pair: (grade >= RELEVANT) != (people[pair] >= RELEVANT) for pair, grade in judged.items()}
    given = sorted(set(judged.values()))
    rates = {grade: np.mean([wrong[pair] for pair in said if judged[pair] == grade]) for grade in given}
    best = {pair: float(rates[grade]) for pair, grade in judged.items()}
    found = []
    for seed in range(seeds):
        drawn = calibration(pool, said, size=200, seed=seed)
        scores = [fixed, best]
        rest = [pair for pair in said if pair not in drawn]
        tie, truth = np.random.default_rng(seed).random(len(rest)), np.array([wrong[pair] for pair in rest])
        found.append([_share(np.array([score[pair] for pair in rest], dtype=float), tie, truth) for score in scores])
    return np.array(found)


def _share(score: Floats, tie: Floats, wrong: np.ndarray) -> float:
    ordered = wrong[np.lexsort((tie, -score))]
    return float(ordered[: round(PART * len(ordered))].sum() / max(1, ordered.sum()))


def _table(title: str, names: list[str], floats: Floats) -> None:
    """Print the table of a group of judges; ``floats`` has the shape (judges, seeds, orders)."""
    print(f"\n{title}; by chance {PART:.1%}\n{'':<18} {'mean':>6}   {'worst judge':<42} below chance")
    for position, order in enumerate(ORDERS):
        drawn = floats[:, :, position]
        mean = drawn.mean(axis=1)
        worst = int(mean.argmin())
        below = f"{int((mean < PART).sum())} of {len(names)} judges, {(drawn < PART).mean():.1%} of draws"
        print(f"{order:<18} {mean.mean():>6.1%}   {f'{mean[worst]:.1%} {names[worst]}':<42} {below}")


def main() -> None:
    """Measure every judge and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=10, help="samples drawn for each judge")
    options = parser.parse_args()
    names, results = [], []
    for name, people, panel in judges(collections_folder() / "llm_judgments"):
        names.append(name)
        results.append(found_shares(people, panel, options.seeds))
    found = np.array(results)
    groups = {
        "GPT-4, DL 2023": slice(0, 1),
        "33 judges of LLMJudge": slice(1, 34),
        "stern judge, simulated": slice(34, 35),
        "11 panels of three": slice(35, None),
    }
    for title, which in groups.items():
        _table(title, names[which], found[which])


if __name__ == "__main__":
    main()
