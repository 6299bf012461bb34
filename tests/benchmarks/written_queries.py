"""Queries of a collection's documents as ``goldbench build`` writes them, in a process of its own.

Documents, sets and a model's answers are kept in a cache folder, so that a second measurement asks the model nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from goldbench.pipeline.goldset.folder import GoldFolder
from goldbench.pipeline.offline.generator import OfflineGenerator
from tests.benchmarks.collections import read_rows, text_of

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path.home() / ".cache" / "goldbench" / "benchmarks"
OPTIONS = {"local": ("--model", "local"), "simulated": ("--generator", "simulated")}
MOST_PER_DOCUMENT = 3
_DONE = (0, 3)  # exit codes of a build that wrote a set


@dataclass(frozen=True, slots=True)
class Written:
    """A query, the position of the document it was written from, and whether a model wrote it."""

    text: str
    source: int
    by_model: bool


def written(folder: Path, generator: str, *, count: int, seed: int, cache: Path) -> list[Written]:
    """Return the queries that a build writes from the documents of a collection.

    Documents that give too few queries are asked for up to three each.

    Args:
        folder: A folder of a collection; see ``collections``.
        generator: A key of ``OPTIONS``.
        count: Number of queries to ask for.
        seed: Seed of the build, which draws the documents.
        cache: Folder for documents, sets and answers.

    Raises:
        RuntimeError: The build failed; its last lines are in the message.
    """
    place = cache / generator / folder.name
    place.mkdir(parents=True, exist_ok=True)
    _write_documents(folder, place / "documents.jsonl")
    found: list[Written] = []
    for per_document in (1, MOST_PER_DOCUMENT):
        if len(found) < count:
            found = _built(place, generator, count, seed, per_document)
    return found


def _built(place: Path, generator: str, count: int, seed: int, per_document: int) -> list[Written]:
    gold = place / f"gold-{seed}"
    command = (
        sys.executable, "-m", "goldbench", "build", str(place / "documents.jsonl"), "--no-chunk",
        "--id-field", "id", "--title-field", "title", "--text-field", "text", "--out", str(gold), "--replace",
        "--queries", str(count), "--per-chunk", str(per_document), "--seed", str(seed),
        "--answers", str(place / "answers.sqlite"), *OPTIONS[generator],
    )  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    (place / f"build-{seed}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    if done.returncode not in _DONE:
        raise RuntimeError(f"{place.name}: build ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return [
        Written(query.text, int(query.chunk_id[1:]), query.generator != OfflineGenerator.name)
        for query in GoldFolder(gold).queries.read()
    ]


def _write_documents(folder: Path, path: Path) -> None:
    """Write the documents that have words, each with the text that the systems search."""
    with path.open("w", encoding="utf-8") as lines:
        for position, row in enumerate(read_rows(folder / "corpus.jsonl")):
            if text := text_of(row):
                record = {"id": f"d{position}", "title": str(row.get("title") or "").strip(), "text": text}
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
