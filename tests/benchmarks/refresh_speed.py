"""``goldbench refresh`` after a small edit, against ``goldbench chunk``, which reads and cuts the same documents.

The text is synthetic; one document in a hundred is edited, and no query loses its evidence, so that none is written.
Each command is a process of its own. The medians of ``TIMES`` are printed, and how they compare.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.benchmarks.synthetic_text import documents

MEGABYTES, TIMES, QUERIES = 58.0, 5, 100
EDITED = 100
"""One document of so many is edited."""


def write_documents(folder: Path, megabytes: float) -> None:
    """Write the documents as Markdown files."""
    folder.mkdir()
    for number, document in enumerate(documents(megabytes)):
        (folder / f"{number:05}.md").write_text(f"# {document.title}\n\n{document.text}", encoding="utf-8")


def edit(folder: Path) -> None:
    """Add a paragraph to one document in a hundred."""
    for path in sorted(folder.iterdir())[::EDITED]:
        with path.open("a", encoding="utf-8") as file:
            file.write("\n\nThe notice at the gate was changed last week, and every visitor should read it again.\n")


def spent(*command: object) -> tuple[float, float]:
    """Return the seconds on the clock and of the processors that a command takes."""
    before, started = os.times(), time.perf_counter()
    arguments = [sys.executable, "-m", "goldbench", *map(str, command)]
    with tempfile.TemporaryFile() as nowhere:
        subprocess.run(arguments, check=True, stdout=nowhere, stderr=subprocess.DEVNULL)
    took, after = time.perf_counter() - started, os.times()
    return took, after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure ``MEGABYTES`` of text; the environment variable of that name sets another size."""
    megabytes = float(os.environ.get("MEGABYTES", MEGABYTES))
    with tempfile.TemporaryDirectory() as place:
        docs, built, run = Path(place, "docs"), Path(place, "built"), Path(place, "run")
        write_documents(docs, megabytes)
        spent("build", docs, "--out", built, "--generator", "simulated", "--queries", QUERIES)
        edit(docs)
        took: dict[str, list[tuple[float, float]]] = {"chunk": [], "refresh": []}
        for _ in range(TIMES):
            shutil.rmtree(run, ignore_errors=True)
            shutil.copytree(built, run)
            took["chunk"].append(spent("chunk", docs))
            took["refresh"].append(spent("refresh", run))
        with (built / "1-chunks.jsonl").open("rb") as file:
            count = sum(1 for _ in file)
    print(f"\n{count:,} chunks, one document in {EDITED} edited; medians of {TIMES}, load {psutil.getloadavg()[0]:.1f}")
    clock = {name: statistics.median(one for one, _ in found) for name, found in took.items()}
    cpu = {name: statistics.median(one for _, one in found) for name, found in took.items()}
    for name in took:
        print(f"{name:>8}: {clock[name]:6.2f} s on the clock, {cpu[name]:6.2f} s of the processors")
    on_clock, of_cpu = (found["refresh"] / found["chunk"] for found in (clock, cpu))
    print(f"refresh / chunk: {on_clock:.2f} on the clock, {of_cpu:.2f} of the processors")
