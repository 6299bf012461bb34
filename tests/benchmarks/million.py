"""100,000 and 1,000,000 passages from file to card: clock, CPU and memory of each command, and their growth.

Passages are paragraphs of synthetic text, a row of JSON Lines each, taken as ready chunks. Memory is the largest sum
over the command and all its processes, with shared pages divided among them, looked up every ``EVERY_S`` seconds.
``python -m tests.benchmarks million`` takes an hour or more, so the list of all measurements leaves it out.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import psutil

from tests.benchmarks import rows
from tests.benchmarks.synthetic_text import paragraphs

SIZES = (100_000, 1_000_000)
QUERIES = 1_000
GROWTH = 12.0
"""Most times that ten times the passages may take of what they took."""
EVERY_S = 0.5
STAGES = ("build", "retrieve", "card")


def write_rows(path: Path, count: int) -> None:
    """Write passages as JSON Lines."""
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(paragraphs(count)):
            file.write(json.dumps({"id": f"p{number:07}", "text": text}) + "\n")


def commands(source: Path, gold: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each stage and its command."""
    goldbench = str(Path(sys.executable).with_name("goldbench"))
    simulated = ["--generator", "simulated", "--queries", str(QUERIES), "--out", str(gold)]
    yield "build", [goldbench, "build", str(source), "--no-chunk", *simulated]
    yield "retrieve", [goldbench, "retrieve", str(gold), "--system", "bm25", "-o", str(gold / "runs" / "bm25.trec")]
    yield "card", [goldbench, "card", str(gold), "--no-write"]


def cost(command: list[str]) -> rows.Taken:
    """Run a command once; its memory is that of all its processes.

    Raises:
        SystemExit: The command failed.
    """
    peak, over = [0.0], threading.Event()
    watch = threading.Thread(target=_watch, args=(peak, over), daemon=True)
    watch.start()
    try:
        taken = rows.process(command)
    finally:
        over.set()
        watch.join()
    return replace(taken, memory=peak[0])


def _watch(peak: list[float], over: threading.Event) -> None:
    """Keep the largest memory in MB of this process's descendants in ``peak``."""
    while not over.wait(EVERY_S):
        peak[0] = max(peak[0], sum(map(_memory, psutil.Process().children(recursive=True))) / 2**20)


def _memory(process: psutil.Process) -> float:
    """Return the bytes of a process, shared pages divided among those that share them; 0 if it has ended."""
    try:
        return float(process.memory_full_info().pss)
    except psutil.Error:
        return 0.0


def costs(count: int, folder: Path) -> dict[str, rows.Taken]:
    """Write passages into a folder, and return what each stage took."""
    source = folder / "passages.jsonl"
    write_rows(source, count)
    return {stage: cost(command) for stage, command in commands(source, folder / "gold")}


def report(count: int, found: Mapping[str, rows.Taken], smaller: Mapping[str, rows.Taken] | None) -> None:
    """Print a row for each stage: its figures, and its CPU as a ratio to the size before."""
    for stage, took in found.items():
        figure = f"{took.clock:,.0f} s on the clock, {took.cpu:,.0f} s of CPU, {took.memory:,.0f} MB"
        if smaller is None:
            rows.row(f"{stage}, {count:,} passages", figure, "1", "anchor", met=True)
            continue
        growth = took.cpu / smaller[stage].cpu
        bar = f"at most {GROWTH:g} x"
        rows.row(f"{stage}, {count:,} passages", figure, f"{growth:.1f} x", bar, met=growth <= GROWTH)


def main() -> None:
    """Measure every size once and print a table."""
    rows.heading()
    smaller: dict[str, rows.Taken] | None = None
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found = costs(count, Path(folder))
        report(count, found, smaller)
        smaller = found
