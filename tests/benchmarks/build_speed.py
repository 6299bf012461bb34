"""The command ``goldbench build`` without a model, as a user runs it: 10 MB, 100 MB, real documentation, memory.

Every figure is a process of its own, from its start to its end, on all processors. ``SIZES`` names the sizes in MB, as
``SIZES=10,100,1000``; of a size of 1,000 and more there is one run. The text of ``synthetic_text`` is split by the
splitter alone for an anchor, the pages of the documentation are parsed by lxml alone.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from tests.benchmarks import rows

SIZES = (10, 100)
QUERIES = 300
MOST_S, LEAST_SPEED, MOST_GROWTH = 6.0, 8.0, 1.5
"""The bars: seconds for 10 MB, MB a second of larger sizes, and how much more memory ten times the text may take."""
DONE_IN_PART = 3
"""Exit code of a build that skipped a document, as it does one of the documentation."""
DOCUMENTATION, MOST_DOCUMENTATION_S = Path("/usr/share/doc/python3.11/html"), 40.0
"""The pages and sources of Debian's package ``python3.11-doc``, and the bar for them."""
SPLITTER = """
import sys
from pathlib import Path
from langchain_text_splitters import RecursiveCharacterTextSplitter
splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100)
for path in sorted(Path(sys.argv[1]).rglob("*.md")):
    splitter.split_text(path.read_text("utf-8"))
"""
PARSER = """
import sys
from pathlib import Path
from lxml import html
for path in sorted(Path(sys.argv[1]).rglob("*.html")):
    html.fromstring(path.read_bytes())
"""


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


def built(source: Path, folder: Path) -> rows.Taken:
    """Build a set in a folder that is removed again, and return what it took."""
    out = folder / "run"
    command = [sys.executable, "-m", "goldbench", "build", str(source), "--out", str(out)]
    try:
        return rows.process([*command, "--generator", "simulated", "--queries", str(QUERIES)], codes=(0, DONE_IN_PART))
    finally:
        shutil.rmtree(out, ignore_errors=True)


def alone(code: str, source: Path) -> rows.Taken:
    """Return what a program takes for the same files."""
    return rows.process([sys.executable, "-c", code, str(source)])


def measured(source: Path, folder: Path, code: str, *, often: bool) -> tuple[rows.Taken, rows.Taken]:
    """Return what a build takes, and what its anchor takes in the same run; medians, unless it is done once.

    Args:
        source: The documents.
        folder: Where to build.
        code: The program of the anchor.
        often: Whether both are measured several times.
    """
    takes = {"build": functools.partial(built, source, folder), "anchor": functools.partial(alone, code, source)}
    found = rows.in_turn(takes) if often else {name: take() for name, take in takes.items()}
    return found["build"], found["anchor"]


def main() -> None:
    """Print the rows of every size, of the documentation, and of the memory."""
    sizes = [int(size) for size in os.environ.get("SIZES", "").split(",") if size] or list(SIZES)
    rows.heading()
    peaks: dict[int, float] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "documents")
            write_corpus(source, size)
            took, splitter = measured(source, Path(folder), SPLITTER, often=size < 1000)
        peaks[size] = took.memory
        speed, ratio = size / took.clock, f"{took.clock / splitter.clock:.1f} x the splitter alone"
        if size <= 10:
            rows.row(f"build of {size} MB", f"{took.clock:.1f} s", ratio, f"{MOST_S:.0f} s", met=took.clock <= MOST_S)
        else:
            figure, met = f"{speed:.1f} MB/s, {took.clock:.0f} s", speed >= LEAST_SPEED
            rows.row(f"build of {size} MB", figure, ratio, f"{LEAST_SPEED:.0f} MB/s", met=met)
    for less, more in itertools.pairwise(sizes):
        growth, figure = peaks[more] / peaks[less], f"{peaks[more]:.0f} MB"
        ratio = f"{growth:.2f} x that of {less} MB"
        rows.row(
            f"memory of the largest process, {more} MB", figure, ratio, f"{MOST_GROWTH} x", met=growth <= MOST_GROWTH
        )
    documentation()


def documentation() -> None:
    """Print the row of real documentation, if it is installed."""
    if not DOCUMENTATION.is_dir():
        print(f"{DOCUMENTATION} is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        took, parser = measured(DOCUMENTATION, Path(folder), PARSER, often=True)
    ratio = f"{took.clock / parser.clock:.1f} x lxml alone on the pages"
    bar, met = f"{MOST_DOCUMENTATION_S:.0f} s", took.clock <= MOST_DOCUMENTATION_S
    rows.row("build of python3-doc", f"{took.clock:.1f} s", ratio, bar, met=met)


def write_corpus(folder: Path, megabytes: int) -> None:
    """Write the documents as Markdown files, a thousand to a folder."""
    from tests.benchmarks.synthetic_text import documents

    for number, document in enumerate(documents(megabytes)):
        path = folder / f"{number // 1000:03}" / document.source
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document.text, encoding="utf-8")
