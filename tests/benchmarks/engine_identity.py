"""The same gold set from one process, from two, and from a Ray cluster: bytes, and what it takes.

Each engine builds a set of 100,000 short files (``FILES``) with simulated queries, and searches it with BM25. The
clock of Ray holds its start, of which a row tells the seconds.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from goldbench.goldset.file_names import MANIFEST
from tests.benchmarks import rows

FILES = int(os.environ.get("FILES", "100000"))
SENTENCES = (
    "The pump {} of hall {} was checked on the last day of the month, and its pressure is now {} bar.",
    "If valve {} leaks, close the slide in front of station {} first, then wait for {} minutes before you open it.",
    "Operators of line {} wash the filters in basin {} every night, because clay settles in them after {} hours.",
)
ENGINES = {"jobs 1": ("jobs = 1", "local"), "jobs 2": ("jobs = 2", "local"), "ray": ("", "ray")}
CLOCK = re.compile(rb'"(created|at|seconds)": [^\n]*')


def main() -> None:
    """Build and search with each engine, compare all bytes, and print what each took."""
    rows.heading()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        megabytes = write_files(path / "documents", FILES)
        empty = start_seconds(path)
        taken = {name: built(path, name) for name in ENGINES}
        sets = {name: files_of(path / name) for name in ENGINES}
        searched = [(path / f"{name}.trec").read_bytes() for name in ENGINES]
    rows.row("Ray: start and end of a cluster of this machine", f"{empty:.1f} s", "", "none", met=True)
    alone = taken["jobs 2"]
    for name, one in taken.items():
        same = sets[name] == sets["jobs 1"]
        figure = f"{megabytes / one.clock:.2f} MB/s, {one.clock:.0f} s clock, {one.cpu:.0f} s CPU, {one.memory:.0f} MB"
        what = f"{FILES:,} short files, {megabytes:.0f} MB, {name}, {len(sets[name])} files of the set"
        rows.row(what, figure, f"{one.clock / alone.clock:.2f} of jobs 2", "bytes as jobs 1", met=same)
    rows.row("BM25 run of each engine", f"{len(searched[0]):,} bytes", "", "equal", met=len(set(searched)) == 1)


def write_files(folder: Path, count: int) -> float:
    """Write short files, a thousand to a folder, and return their megabytes."""
    size = 0
    for number in range(count):
        path = folder / f"{number // 1000:03}" / f"note-{number:06}.md"
        if number % 1000 == 0:
            path.parent.mkdir(parents=True)
        said = (
            SENTENCES[(number + at) % 3].format(number % 977, number % 89, number * 7 % 53)
            for at in range(number % 4 + 1)
        )
        size += path.write_text(f"# Note {number}\n\n" + " ".join(said) + "\n", "utf-8")
    return size / 2**20


def built(path: Path, name: str) -> rows.Taken:
    """Build and search with an engine, and return what the build took."""
    jobs, engine = ENGINES[name]
    config = path / "goldbench.toml"
    config.write_text(f"[documents]\n{jobs}\n", "utf-8")
    documents = str(path / "documents")
    command = goldbench("build", documents, "--out", str(path / name), "--config", str(config), "--engine", engine)
    taken = rows.process([*command, "--generator", "simulated", "--queries", "100"], folder=path)
    rows.process(goldbench("retrieve", str(path / name), "-o", str(path / f"{name}.trec"), "--engine", engine))
    return taken


def goldbench(*arguments: str) -> list[str]:
    """Return the command line of goldbench."""
    return [sys.executable, "-m", "goldbench", *arguments]


def start_seconds(path: Path) -> float:
    """Return the seconds that a cluster adds to a command which reads one file."""
    (path / "one.md").write_text("# One\n\nA word.\n", "utf-8")

    def chunked(engine: str) -> float:
        out = str(path / "one.jsonl")
        return rows.process(goldbench("chunk", str(path / "one.md"), "--out", out, "--engine", engine)).clock

    return chunked("ray") - chunked("local")


def files_of(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files of a set, without what the clock decides in its manifest."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files[MANIFEST] = CLOCK.sub(b"", files[MANIFEST])
    return files


if __name__ == "__main__":
    main()
