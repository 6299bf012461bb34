"""Reading the example, War and Peace and 10,000 small files to chunks, on one processor and on two.

Each is a process of its own, from its start to the last chunk, as ``goldbench build`` does it, beside the splitter
alone on the same texts. From 2,000 chunks on, chunks are examined and sketched on the way, which takes most time.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.benchmarks import rows
from tests.benchmarks.collections import collections_folder

SMALL = 10_000
SPLITTER = """
import sys
from pathlib import Path
from langchain_text_splitters import RecursiveCharacterTextSplitter
splitter = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=100)
for path in sorted(Path(sys.argv[1]).rglob("*")):
    if path.suffix in {".txt", ".md", ".html"}:
        splitter.split_text(path.read_text("utf-8", "replace"))
"""


def child(source: str, out: str) -> None:
    """Read and cut once."""
    from goldbench.config import Config
    from goldbench.generate.flow import walk
    from goldbench.generate.inputs import find_documents
    from goldbench.generate.steps import Run
    from goldbench.goldset.folder import Draft
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


def reading(source: Path, processors: set[int]) -> rows.Taken:
    """Return what one reading took."""
    with tempfile.TemporaryDirectory() as out:
        return rows.process([*_on(processors), "-c", f"from {__name__} import child; child({str(source)!r}, {out!r})"])


def splitting(source: Path, processors: set[int]) -> rows.Taken:
    """Return what the splitter alone takes for the same texts."""
    return rows.process([*_on(processors), "-c", SPLITTER, str(source)])


def _on(processors: set[int]) -> list[str]:
    return ["taskset", "--cpu-list", ",".join(map(str, sorted(processors))), sys.executable]


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
    """Print a row for each corpus and number of processors."""
    novel = collections_folder() / "war_and_peace"
    print("\nfrom the start of the process to the last chunk")
    rows.heading()
    with tempfile.TemporaryDirectory() as small:
        write_notes(Path(small), (novel / "2600-0.txt").read_text(encoding="utf-8"))
        for name, source in (
            ("example", Path("data/example/documents")),
            ("war and peace", novel),
            (f"{SMALL:,} files", Path(small)),
        ):
            for count in (1, 2):
                usable = set(sorted(os.sched_getaffinity(0))[:count])
                takes = {"ours": partial(reading, source, usable), "alone": partial(splitting, source, usable)}
                taken = rows.in_turn(takes)
                ours, ratio = taken["ours"], taken["ours"].clock / taken["alone"].clock
                what, told = f"{name}, {count} processor{'s' * (count > 1)}", f"{ratio:.1f} x the splitter alone"
                figure = f"{ours.clock:.2f} s, of the processors {ours.cpu:.2f} s"
                rows.row(what, figure, told, "none", met=True)
