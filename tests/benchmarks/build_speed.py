"""Chunk, select and offline generation at 10, 100 and 1000 MB of text: MB/s on one core, and peak memory.

Each size is built by a process of its own from files on disk, the whole of it, as the command does it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

SIZES = (10, 100, 1000)
BAR = ("chunk", "select", "fit", "generate")
QUERIES = 300


def processor_seconds() -> float:
    """Return the seconds of the CPU that this process and those that read documents for it have used."""
    times = os.times()
    waiting = [child.cpu_times() for child in psutil.Process().children()]
    return sum(times[:4]) + sum(one.user + one.system for one in waiting)


class Clock:
    """A ``Progress`` that shows nothing and keeps the seconds of every stage, by default of the CPU."""

    def __init__(self, now: Callable[[], float] = processor_seconds) -> None:
        self.seconds: dict[str, float] = {}
        self._now = now

    @contextlib.contextmanager
    def stage(self, name: str, total: int | None) -> Iterator[Clock]:
        started = self._now()
        yield self
        self.seconds[name] = self.seconds.get(name, 0.0) + self._now() - started

    def advance(self, count: int) -> None:
        pass

    def tell(self, line: str) -> None:
        pass

    def note(self, line: str) -> None:
        print(line, file=sys.stderr)


def child(source: str, out: str) -> None:
    """Build once and print what it took."""
    from goldbench.pipeline.build import flow
    from goldbench.pipeline.build.writers import OfflineWriter
    from goldbench.pipeline.config import load_config
    from goldbench.pipeline.formats.documents.sources import find_files

    config = load_config(None, {"generate": {"generator": "offline", "queries": QUERIES}})
    writer, clock = OfflineWriter(config, ""), Clock()
    started = processor_seconds()
    build = flow.build(writer, find_files([source]), Path(out), progress=clock)
    result = asyncio.run(build)
    print(
        json.dumps(
            {
                "seconds": clock.seconds,
                "whole": processor_seconds() - started,
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "chunks": next(r.read for r in result.manifest.stages if r.stage == "select"),
                "queries": result.manifest.queries,
            }
        )
    )


def main() -> None:
    """Measure every size and print a table."""
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or list(SIZES)
    print(f"Build of synthetic text, offline generator, {QUERIES} queries; one process, CPU seconds")
    print(f"{'MB':>6} {'chunks':>10} {'MB/s':>7} {'peak MB':>8}   seconds by stage")
    peaks: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "documents")
            write_corpus(source, size)
            command = [sys.executable, "-m", "tests.benchmarks.build_speed", str(source), str(Path(folder, "run"))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(done.stderr)
            measured = json.loads(done.stdout)
        seconds = measured["seconds"]
        bar = sum(seconds.get(name, 0.0) for name in BAR)
        peaks[size] = measured["peak_mb"]
        stages = "  ".join(f"{name} {took:.1f}" for name, took in seconds.items())
        print(
            f"{size:>6} {measured['chunks']:>10,} {size / bar:>7.2f} {measured['peak_mb']:>8.0f}   {stages}  "
            f"whole {measured['whole']:.1f}  ({measured['queries']} queries)",
            flush=True,
        )
    if len(sizes) > 1:
        print(f"peak memory, {sizes[-1]} MB against {sizes[-2]} MB: {peaks[sizes[-1]] / peaks[sizes[-2]]:.2f} x")


def write_corpus(folder: Path, megabytes: int) -> None:
    """Write the documents as Markdown files, a thousand to a folder."""
    from tests.benchmarks.synthetic_text import documents

    for number, document in enumerate(documents(megabytes)):
        path = folder / f"{number // 1000:03}" / document.source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document.text, encoding="utf-8")


if __name__ == "__main__":
    child(*sys.argv[1:])
