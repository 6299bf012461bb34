"""The card of a set of 1,000 queries over 10,000 and 100,000 passages: CPU seconds, peak memory, growth.

Each size is measured in a process of its own. ``SIZES=10000,20000`` measures others.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (10_000, 100_000)
QUERIES, LENGTH, WORDS = 1_000, 1_000, 8


def write_set(folder: Path, passages: int) -> None:
    """Write a ``dataset.json``: passages of synthetic text, queries of words of one passage each."""
    from tests.benchmarks.synthetic_text import documents

    corpus: dict[str, str] = {}
    for document in documents(passages * LENGTH * 1.2 / 1e6):
        for start in range(0, len(document.text) - LENGTH // 2, LENGTH):
            if len(corpus) < passages:
                corpus[f"{document.doc_id}:{start}"] = document.text[start : start + LENGTH]
    assert len(corpus) == passages
    chance, ids = random.Random(3), list(corpus)
    queries, relevant = {}, {}
    for number, doc_id in enumerate(chance.sample(ids, QUERIES)):
        words = corpus[doc_id].split()
        queries[f"q{number}"] = " ".join(chance.sample(words, min(WORDS, len(words))))
        relevant[f"q{number}"] = [doc_id]
    dataset = {"queries": queries, "corpus": corpus, "relevant_docs": relevant, "mode": "text"}
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")


def child(folder: str) -> None:
    """Make the card once and print what it took."""
    from goldbench.pipeline.card import make_card

    wall, cpu = time.perf_counter(), time.process_time()
    card = make_card(Path(folder))
    print(
        json.dumps(
            {
                "wall": time.perf_counter() - wall,
                "cpu": time.process_time() - cpu,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "baselines": len(card.baselines),
            }
        )
    )


def main() -> None:
    """Measure every size and print a table."""
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or list(SIZES)
    print(f"Card of {QUERIES:,} queries; one process")
    print(f"{'passages':>9} {'CPU s':>7} {'wall s':>7} {'peak MB':>8}  systems")
    taken: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            write_set(Path(folder), size)
            command = [sys.executable, "-m", "tests.benchmarks.card_speed", folder]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        found = json.loads(done.stdout)
        taken[size] = found["cpu"]
        print(
            f"{size:>9,} {found['cpu']:>7.1f} {found['wall']:>7.1f} {found['peak_mb']:>8,.0f}  {found['baselines']}",
            flush=True,
        )
    if len(sizes) > 1:
        growth = (taken[sizes[-1]] / taken[sizes[0]]) / (sizes[-1] / sizes[0])
        print(f"CPU per passage, {sizes[-1]:,} against {sizes[0]:,}: {growth:.2f} x")


if __name__ == "__main__":
    child(*sys.argv[1:])
