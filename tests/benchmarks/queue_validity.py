"""Which share of a judge's errors people find in the first part of the queue.

``python -m tests.benchmarks.queue_validity [--seeds N]``

Judges: GPT-4 on TREC Deep Learning 2023, the 33 judges of LLMJudge one by one, and 11 panels of three of them, whose
disagreement is then known too. For each seed a random sample of 200 pairs is drawn as for people (lane A); all other
pairs (lane B) come in the order of fixed weights.
An error is a pair that NIST and the judge do not both find relevant, or both not. The table shows the mean over seeds:
of GPT-4, over judges (with the middle 95 % of resampled judges), and of the judge for whom an order is worst. "by
chance" is the share of the queue, "best order" knows the error rate of every grade (a single judge tells no more than
its grade), "all errors first" knows every error. "below chance" counts judges for whom the first 20 % hold fewer errors
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
PARTS = (0.1, 0.2, 0.5)
ORDERS = ("fixed weights", "best order", "all errors first")
RESAMPLES = 2000
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
    """Return the share of the errors in each first part of lane B, shape (seeds, orders, parts).

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
        scores = [fixed, best, wrong]
        rest = [pair for pair in said if pair not in drawn]
        tie, truth = np.random.default_rng(seed).random(len(rest)), np.array([wrong[pair] for pair in rest])
        found.append([_shares(np.array([score[pair] for pair in rest], dtype=float), tie, truth) for score in scores])
    return np.array(found)


def _shares(score: Floats, tie: Floats, wrong: np.ndarray) -> list[float]:
    ordered = wrong[np.lexsort((tie, -score))]
    return [float(ordered[: round(part * len(ordered))].sum() / max(1, ordered.sum())) for part in PARTS]


def _interval(values: Floats) -> str:
    """Return the middle 95 % of the means of resampled judges, of one value by judge."""
    draws = np.random.default_rng(0).integers(0, len(values), (RESAMPLES, len(values)))
    low, high = np.quantile(values[draws].mean(axis=1), [0.025, 0.975])
    return f"{low:.1%}-{high:.1%}"


def _table(title: str, names: list[str], floats: Floats) -> None:
    """Print the table of a group of judges; ``floats`` has the shape (judges, seeds, orders, parts)."""
    mean = floats.mean(axis=1)
    heads = " ".join(f"{f'first {part:.0%}':>25}" for part in PARTS)
    print(f"\n{title}\n{'':<18} {heads}   worst judge, first 20 %{'':<20} below chance")
    print(f"{'by chance':<18} " + " ".join(f"{part:>25.1%}" for part in PARTS))
    for position, order in enumerate(ORDERS):
        cells = []
        for part in range(len(PARTS)):
            interval = f" ({_interval(mean[:, position, part])})" if len(names) > 1 else ""
            cells.append(f"{f'{mean[:, position, part].mean():.1%}{interval}':>25}")
        worst = int(mean[:, position, 1].argmin())
        below = int((mean[:, position, 1] < PARTS[1]).sum()), float((floats[:, :, position, 1] < PARTS[1]).mean())
        print(
            f"{order:<18} {' '.join(cells)}   {f'{mean[worst, position, 1]:.1%} {names[worst]}':<42} "
            f"{below[0]} of {len(names)} judges, {below[1]:.1%} of draws"
        )


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
