"""Reading and cutting the example, War and Peace and 10,000 small files, on one processor and on two.

Each is a process of its own, from its start to the last chunk, as ``goldbench build`` reads and cuts. The median of
five is printed: seconds on the clock, and of the processors.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.collections import collections_folder

TIMES, SMALL = 5, 10_000


def child(source: str, out: str) -> None:
    """Read and cut once."""
    from goldbench.pipeline.build.flow import walk
    from goldbench.pipeline.build.inputs import find_documents
    from goldbench.pipeline.build.steps import Run
    from goldbench.pipeline.config import Config
    from goldbench.pipeline.goldset.folder import Draft
    from tests.benchmarks.build_speed import Clock

    run = Run(
        config=Config(),
        found=find_documents([source]),
        place=Draft(Path(out)),
        progress=Clock(),
        accept=lambda _: None,
        opened=lambda _: None,
    )
    asyncio.run(walk(run, until="chunk"))


def seconds(source: Path, processors: set[int]) -> tuple[float, float]:
    """Return how long one reading took, on the clock and of the processors."""
    with tempfile.TemporaryDirectory() as out:
        before, started = os.times(), time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", f"from {__name__} import child; child({str(source)!r}, {out!r})"],
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
        )
        took, after = time.perf_counter() - started, os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return took, spent


def write_notes(folder: Path, text: str) -> None:
    """Write small files of text and Markdown, 240 words each."""
    words, draw = text.split(), random.Random(1)
    for number in range(SMALL):
        start = draw.randrange(len(words) - 240)
        heading = f"# Note {number}\n\n" if number % 2 else ""
        parts = (" ".join(words[place : place + 80]) for place in range(start, start + 240, 80))
        path = folder / f"{number // 100:02}" / f"{number}.{'md' if number % 2 else 'txt'}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(heading + "\n\n".join(parts) + "\n", encoding="utf-8")


def main() -> None:
    novel = collections_folder() / "war_and_peace"
    print("\nreading and cutting, median of five: seconds on the clock, of the processors")
    with tempfile.TemporaryDirectory() as small:
        write_notes(Path(small), (novel / "2600-0.txt").read_text(encoding="utf-8"))
        for name, source in (
            ("example", Path("data/example/documents")),
            ("war and peace", novel),
            (f"{SMALL:,} files", Path(small)),
        ):
            for count in (1, 2):
                usable = set(sorted(os.sched_getaffinity(0))[:count])
                taken = [seconds(source, usable) for _ in range(TIMES)]
                clock, spent = (statistics.median(one) for one in zip(*taken, strict=True))
                print(f"{name:>15} {count} processor{'s' * (count > 1):1} {clock:>7.2f} {spent:>7.2f}")
