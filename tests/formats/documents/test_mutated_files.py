"""Thousands of files changed at random: each ends within its limits, and the files beside it are read as they are."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from goldbench.formats.documents.chunker import cut_documents
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.reader import read_documents
from goldbench.formats.documents.sources import find_files
from goldbench.formats.documents.worker import limits_memory
from goldbench.formats.documents.worker_pool import DocumentLimits, Workers
from tests.conftest import ROOT
from tests.formats.documents.mutants import mutants, originals
from tests.formats.documents.test_worker_pool import is_reader
from tests.peak_memory import peak_megabytes

SEED = int(os.environ.get("FUZZ_SEED", "1"))
FILES = int(os.environ.get("FUZZ_FILES", "1500"))
"""A seed and a number give the same file, so a larger number tries the same files and more."""
PARTS, BATCH = 2, 250
BUDGET = DocumentLimits(seconds=4, memory_megabytes=768, megabytes=8)
GOOD = {
    "good-a.md": "# The pump\n\nThe pump of the mill runs at night, and the miller greases it on Fridays.\n",
    "good-b.html": "<html><title>The valve</title><body><p>The valve of the dam is opened in spring.</p></body></html>",
    "good-c.csv": "title,text\nThe crane,The crane of the harbour lifts forty tons.\n",
}
UNFORESEEN = re.compile(r"Traceback|\d\.(?!docx|pptx|xlsx|epub|pdf|parquet)\w+: .*(Error|Exception|Warning)\b")
"""The name of an error where this project reads the file itself; libraries that read others have their own errors."""
LIMITS = re.compile(r"takes more than|needs more than|larger than|longer than|ended while")


def _sources() -> list[tuple[str, bytes]]:
    place = Path(os.environ.get("GOLDBENCH_COLLECTIONS", ROOT / ".." / "shared" / "data")).resolve()
    return originals(place if place.is_dir() else None)


@contextmanager
def _largest_reader() -> Iterator[list[float]]:
    """Watch the memory of the processes that read; the list holds the largest, in MB."""
    largest, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.05):
            for child in psutil.Process().children():
                try:
                    if is_reader(child):
                        largest[0] = max(largest[0], child.memory_info().rss / 2**20)
                except psutil.Error:  # it has ended
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield largest
    finally:
        ended.set()
        watcher.join()


def _read(folder: Path) -> tuple[dict[str, list[tuple[str, str]]], list[str], set[str]]:
    """Return the titles and texts by source, what is said about others, and the sources with a chunk."""
    found, said, cut = find_files([str(folder)]), [], set()
    documents: dict[str, list[tuple[str, str]]] = {}
    with Workers(BUDGET, 1) as readers, Workers(BUDGET, 1) as cutters:
        read = []
        for document in read_documents(
            found.files, ReadOptions(), readers, on_failure=lambda one: said.append(str(one))
        ):
            read.append(document)
            documents.setdefault(document.source, []).append((document.title, document.text))
        source_of = {document.doc_id: document.source for document in read}
        for chunk in cut_documents(read, cutters, size=1000, overlap=100, on_failure=lambda one: said.append(str(one))):
            cut.add(source_of[chunk.span.doc_id])
    return documents, said + [str(failure) for failure in found.failures], cut


@pytest.mark.slow
@pytest.mark.timeout(580)
@pytest.mark.parametrize("part", range(PARTS))
def test_each_file_is_read_or_named_within_its_limits_and_those_beside_it_are_read(
    part: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sources = _sources()
    for name, text in GOOD.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    alone, _, _ = _read(tmp_path)
    assert len(alone) == len(GOOD)
    before, each = peak_megabytes(), FILES // PARTS
    with _largest_reader() as largest:
        for first in range(part * each, (part + 1) * each, BATCH):
            numbers = range(first, min(first + BATCH, (part + 1) * each))
            for name, data in mutants(SEED, numbers, sources):
                (tmp_path / name).write_bytes(data)
            began = time.monotonic()
            documents, said, cut = _read(tmp_path)
            took = time.monotonic() - began
            told = f"seed {SEED}, files {numbers.start} to {numbers.stop}"
            assert {name: documents.get(name) for name in alone} == alone, told
            assert cut == set(documents), told
            read = {source.partition("#")[0] for source in documents}
            for path in tmp_path.glob("[0-9]*"):
                assert path.name in read or any(path.name in line for line in said), (told, path.name)
                path.unlink()
            assert all(line.isprintable() and len(line) < 400 for line in said), (told, said)
            unforeseen = [line for line in said if UNFORESEEN.search(line)]
            assert not unforeseen, (told, unforeseen)
            over = sum(bool(LIMITS.search(line)) for line in said)
            assert took < 60 + 2 * BUDGET.seconds * over, (told, took)
    printed = capfd.readouterr()
    assert printed.out + printed.err == ""
    assert peak_megabytes() - before < 200
    if limits_memory():
        assert largest[0] <= BUDGET.memory_megabytes


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_set_is_built_of_what_can_be_read(tmp_path: Path) -> None:
    for name, text in GOOD.items():
        (tmp_path / name).write_text(text * 8, encoding="utf-8")
    for name, data in mutants(SEED + 1, range(200), _sources()):
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-m", "goldbench", "build", tmp_path, "--out", tmp_path / "set", "--queries", "20"]
    done = subprocess.run(
        [*map(str, command)], cwd=ROOT, capture_output=True, text=True, timeout=280, check=False, encoding="utf-8"
    )
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr
    sources = (tmp_path / "set" / "0-documents.jsonl").read_text(encoding="utf-8")
    assert all(f'"{name}' in sources for name in GOOD)
