"""The card of the sample documents, and of 1,000 queries over 100,000 passages: seconds, peak memory, growth.

The bars are seconds on the clock of a machine with two quiet cores; CPU seconds, children included, are printed beside.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from pathlib import Path

from tests.benchmarks import rows

SMALL, LARGE = 10_000, 100_000
QUERIES, LENGTH, WORDS = 1_000, 1_000, 8
EXAMPLE_S, LARGE_S, GROWTH = 3.0, 60.0, 12.0
"""The bars: seconds on the clock, and how often the CPU of the smaller set may be taken."""
EXAMPLE = Path(__file__).resolve().parents[2] / "data" / "example"
GOLDBENCH = str(Path(sys.executable).with_name("goldbench"))


def write_set(folder: Path, passages: int, asked: int = QUERIES) -> None:
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
    for number, doc_id in enumerate(chance.sample(ids, asked)):
        words = corpus[doc_id].split()
        queries[f"q{number}"] = " ".join(chance.sample(words, min(WORDS, len(words))))
        relevant[f"q{number}"] = [doc_id]
    dataset = {"queries": queries, "corpus": corpus, "relevant_docs": relevant, "mode": "text"}
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")


def card_of(folder: Path) -> rows.Taken:
    """Make the card of a set several times, and return the medians."""
    command = [GOLDBENCH, "card", str(folder), "--no-write"]
    return rows.in_turn({"card": lambda: rows.process(command)})["card"]


def example(folder: Path) -> Path:
    """Build a set of the sample documents in a folder, and return it."""
    config = ["--config", str(EXAMPLE / "goldbench.toml"), "--generator", "simulated", "--out", str(folder / "gold")]
    rows.process([GOLDBENCH, "build", str(EXAMPLE / "documents"), *config])
    return folder / "gold"


def report(what: str, took: rows.Taken, bar: float) -> None:
    """Print the row of a card that may take ``bar`` seconds on the clock."""
    figure = f"{took.clock:.1f} s on the clock, {took.cpu:.1f} s of CPU, {took.memory:,.0f} MB in the largest process"
    rows.row(f"card, {what}", figure, f"{took.clock / bar:.2f} x", f"{bar:g} s", met=took.clock <= bar)


def main() -> None:
    """Measure the example and both sizes, and print a table."""
    rows.heading()
    with tempfile.TemporaryDirectory() as place:
        report("the example", card_of(example(Path(place))), EXAMPLE_S)
    taken = {}
    for size in (SMALL, LARGE):
        with tempfile.TemporaryDirectory() as place:
            write_set(Path(place), size)
            taken[size] = card_of(Path(place))
    report(f"{LARGE:,} passages, {QUERIES:,} queries", taken[LARGE], LARGE_S)
    growth = taken[LARGE].cpu / taken[SMALL].cpu
    figure = f"{taken[SMALL].cpu:.1f} s and {taken[LARGE].cpu:.1f} s of CPU"
    rows.row(f"card, {SMALL:,} to {LARGE:,} passages", figure, f"{growth:.1f} x", f"{GROWTH:g} x", met=growth <= GROWTH)
