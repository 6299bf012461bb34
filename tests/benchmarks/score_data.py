"""Generated runs and judgments for measuring the scorer: the shapes of MS MARCO, of TREC DL, and of a small gold set.

A third of the queries have scores rounded to two decimals, so that many tie, and ties do not stand in id order.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

CORPUS = 8_841_823
SEED = 7


@dataclass(frozen=True, slots=True)
class Shape:
    """``queries`` with ``depth`` retrieved documents each, ``judged`` judgments per query on the average."""

    queries: int
    depth: int
    judged: float


SHAPES = {"marco": Shape(6980, 1000, 1.065), "dl": Shape(50, 1000, 200), "small": Shape(300, 100, 1.13)}


def write_run(path: Path, shape: Shape) -> None:
    """Write a TREC run, grouped by query and best first."""
    random = np.random.default_rng(SEED)
    with path.open("w", encoding="ascii") as file:
        for query in range(shape.queries):
            docs = random.choice(CORPUS, shape.depth, replace=False)
            scores = np.sort(random.gamma(4, 4, shape.depth))[::-1]
            shown = [f"{s:.2f}" for s in scores] if query % 3 == 0 else [f"{s:.6f}" for s in scores]
            ranked = enumerate(zip(docs, shown, strict=True), 1)
            file.writelines(f"{100000 + query * 7} Q0 {d} {r} {s} bench\n" for r, (d, s) in ranked)


def write_qrels(path: Path, shape: Shape) -> None:
    """Write TREC judgments of which about seven in ten are retrieved by ``write_run``."""
    retrieved, other = np.random.default_rng(SEED), np.random.default_rng(SEED + 1)
    with path.open("w", encoding="ascii") as file:
        for query in range(shape.queries):
            docs = retrieved.choice(CORPUS, shape.depth, replace=False)
            retrieved.gamma(4, 4, shape.depth)
            count = int(shape.judged) + (other.random() < shape.judged % 1)
            inside = np.sort((other.random(count) ** 2 * shape.depth).astype(int))
            chosen = {int(docs[i]) for i in inside if other.random() < 0.7}
            while len(chosen) < count:
                chosen.add(int(other.integers(CORPUS)))
            top = 1 if shape.judged < 2 else 4
            for doc in sorted(chosen):
                grade = 1 if top == 1 else int(other.integers(top))
                file.write(f"{100000 + query * 7} 0 {doc} {grade}\n")
