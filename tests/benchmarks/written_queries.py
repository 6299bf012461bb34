"""Queries of a collection's documents as ``goldbench build`` writes them.

Documents, sets and a model's answers are kept in a cache folder, so that a second measurement asks the model nothing.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from goldbench import build
from goldbench.goldset.folder import GoldFolder
from goldbench.offline.generator import OfflineGenerator
from tests.benchmarks.collections import read_rows, text_of

CACHE = Path.home() / ".cache" / "goldbench" / "benchmarks"
SIMULATED = "simulated"
OPTIONS: dict[str, dict[str, str]] = {
    "local": {"model": "local"},
    "served": {"model": os.environ.get("MODEL", "")},
    SIMULATED: {"generator": "simulated"},
}
MOST_PER_DOCUMENT = 3
ENOUGH = 0.9
"""Share of the queries asked for from which one query a document is enough."""


@dataclass(frozen=True, slots=True)
class WrittenSet:
    """The queries of a set, and the position of the document that each was made from.

    ``by_model`` is the share of queries that a model wrote, None where none was to.
    """

    queries: list[str]
    sources: list[int]
    by_model: float | None = None


def written(folder: Path, generator: str, *, count: int, seed: int) -> WrittenSet:
    """Return the queries that a build writes from the documents of a collection.

    Documents that give fewer than nine tenths of the queries are asked for up to three each.

    Args:
        folder: A folder of a collection; see ``collections``.
        generator: A key of ``OPTIONS``.
        count: Number of queries to ask for.
        seed: Seed of the build, which draws the documents.
    """
    place = CACHE / generator / folder.name
    place.mkdir(parents=True, exist_ok=True)
    documents = place / "documents.jsonl"
    _write_documents(folder, documents)
    found = WrittenSet([], [])
    for per_document in (1, MOST_PER_DOCUMENT):
        if len(found.queries) < ENOUGH * count:
            gold = place / f"gold-{seed}"
            build(
                documents, out=gold, replace=True, progress=False, answers=place / "answers.sqlite", no_chunk=True,
                id_field="id", title_field="title", text_field="text", queries=count, per_chunk=per_document,
                seed=seed, **OPTIONS[generator],  # type: ignore[arg-type]
            )  # fmt: skip
            found = _read(gold, asked_model="model" in OPTIONS[generator])
    return found


def _read(gold: Path, *, asked_model: bool) -> WrittenSet:
    """Return a set's queries."""
    home = GoldFolder(gold)
    queries = list(home.queries.read())
    by_model = sum(query.generator != OfflineGenerator.name for query in queries) / max(1, len(queries))
    return WrittenSet(
        [query.text for query in queries],
        [int(query.chunk_id[1:]) for query in queries],
        by_model if asked_model else None,
    )


def _write_documents(folder: Path, path: Path) -> None:
    """Write the documents that have words, each with the text that the systems search."""
    with path.open("w", encoding="utf-8") as lines:
        for position, row in enumerate(read_rows(folder / "corpus.jsonl")):
            if text := text_of(row):
                record = {"id": f"d{position}", "title": str(row.get("title") or "").strip(), "text": text}
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
