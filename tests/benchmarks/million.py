"""10,000 to 1,000,000 passages from file to card: clock, CPU and memory of each command, their growth, a cost model.

Passages are paragraphs of synthetic text, a row of JSON Lines each, taken as ready chunks. Memory is the largest sum
over the command and all its processes, with shared pages divided among them, looked up every ``EVERY_S`` seconds.
``python -m tests.benchmarks million`` takes a quarter of an hour, so the list of all measurements leaves it out.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import psutil

from tests.benchmarks import rows
from tests.benchmarks.synthetic_text import paragraphs

SIZES = [int(size) for size in os.environ.get("SIZES", "10000,100000,1000000").split(",")]
"""Three sizes, each ten times the one before."""
FORETOLD = 100_000_000
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
        if smaller is None:
            rows.row(f"{stage}, {count:,} passages", _figure(took), "1", "anchor", met=True)
            continue
        growth = took.cpu / smaller[stage].cpu
        bar = f"at most {GROWTH:g} x"
        rows.row(f"{stage}, {count:,} passages", _figure(took), f"{growth:.1f} x", bar, met=growth <= GROWTH)


def _figure(took: rows.Taken) -> str:
    return f"{took.clock:,.0f} s on the clock, {took.cpu:,.0f} s of CPU, {took.memory:,.0f} MB"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a stage costs: a fixed part, and a part for each passage."""

    fixed: rows.Taken
    each: rows.Taken

    @classmethod
    def through(cls, measured: Mapping[int, rows.Taken]) -> Cost:
        """Return the straight line through two sizes; a fixed part below 0 counts as 0."""
        (less, low), (more, high) = sorted(measured.items())
        each = [max(0.0, b - a) / (more - less) for a, b in zip(astuple(low), astuple(high), strict=True)]
        fixed = [max(0.0, b - one * more) for b, one in zip(astuple(high), each, strict=True)]
        return cls(rows.Taken(*fixed), rows.Taken(*each))

    def of(self, passages: int) -> rows.Taken:
        """Return the cost of a corpus."""
        parts = zip(astuple(self.fixed), astuple(self.each), strict=True)
        return rows.Taken(*(fixed + passages * each for fixed, each in parts))


def model(found: Mapping[int, Mapping[str, rows.Taken]]) -> None:
    """Print what the two smaller of three sizes foretell of the largest, and what the two larger ones foretell."""
    small, middle, large = sorted(found)
    for stage in STAGES:
        told = Cost.through({size: found[size][stage] for size in (small, middle)}).of(large)
        was = found[large][stage]
        ratio = f"{was.cpu / told.cpu:.2f} of the CPU, {was.memory / told.memory:.2f} of the memory foretold"
        within = all(0.5 <= one <= 2 for one in (was.cpu / told.cpu, was.memory / told.memory))
        rows.row(f"{stage}, {large:,} passages, by the two smaller sizes", _figure(told), ratio, "0.5 to 2", met=within)
    for stage in STAGES:
        cost = Cost.through({size: found[size][stage] for size in (middle, large)})
        told = cost.of(FORETOLD)
        each = f"{cost.each.cpu * 1e6:.0f} µs of CPU and {cost.each.memory * 2**20:.0f} bytes of memory a passage"
        figure = f"{told.cpu / 3600:.1f} hours of CPU, {told.memory / 1024:.0f} GB"
        rows.row(f"{stage}, {FORETOLD:,} passages, by the two larger sizes", figure, each, "none", met=True)


def main() -> None:
    """Measure every size once and print a table."""
    rows.heading()
    found: dict[int, dict[str, rows.Taken]] = {}
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            found[count] = costs(count, Path(folder))
            disk = sum(path.stat().st_size for path in Path(folder, "gold").rglob("*") if path.is_file())
        rows.row(
            f"disk, {count:,} passages",
            f"{disk / 2**20:,.0f} MB",
            f"{disk / count:,.0f} bytes a passage",
            "none",
            met=True,
        )
        report(count, found[count], found.get(count // 10))
    model(found)
