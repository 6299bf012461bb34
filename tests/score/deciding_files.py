"""Judgments and runs of known quality, written as TREC files."""

from __future__ import annotations

import random
from pathlib import Path

QUERIES = 60


def write_gold(folder: Path, *, queries: int = QUERIES, name: str = "gold.qrels") -> Path:
    """One relevant document per query."""
    path = folder / name
    path.write_text("".join(f"q{n:03} 0 d{n:03} 1\n" for n in range(queries)), encoding="utf-8")
    return path


def write_run(folder: Path, name: str, *, skill: float, seed: int = 0, queries: int = QUERIES) -> Path:
    """The relevant document of a query is at rank 1 with probability ``skill``, else at some rank up to 20."""
    draw = random.Random(f"{seed} {skill}")
    path = folder / name
    lines = []
    for number in range(queries):
        others = [f"x{number:03}-{rank}" for rank in range(20)]
        place = 0 if draw.random() < skill else draw.randrange(1, 20)
        documents = [*others[:place], f"d{number:03}", *others[place:]]
        lines += [f"q{number:03} Q0 {doc} {rank} {100 - rank} t\n" for rank, doc in enumerate(documents, start=1)]
    path.write_text("".join(lines), encoding="utf-8")
    return path
