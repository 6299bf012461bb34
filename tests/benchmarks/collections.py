"""Human-judged retrieval collections: BEIR-style folders with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``."""

from __future__ import annotations

import csv
import json
import os
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from goldbench.text.language import main_language
from goldbench.text.scripts import is_spaceless


@dataclass(frozen=True)
class Collection:
    """Documents by position, queries, and the gain of every judged document of every query."""

    name: str
    documents: list[str]
    queries: list[str]
    gains: list[dict[int, float]]
    language: str | None
    spaceless: bool


def collections_folder() -> Path:
    """Return where the collections are: ``GOLDBENCH_COLLECTIONS``, or ``../shared/data`` beside the repository."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return Path(os.environ.get("GOLDBENCH_COLLECTIONS", beside))


def is_collection(folder: Path) -> bool:
    """Whether the folder holds the three files of a collection."""
    return all((folder / name).is_file() for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))


def load(folder: Path) -> Collection:
    """Return one collection; a document's text is its title and its text, queries without a positive are left out."""
    rows = read_rows(folder / "corpus.jsonl")
    position = {str(row["_id"]): number for number, row in enumerate(rows)}
    documents = [text_of(row) for row in rows]
    judged = _gains(folder / "qrels.tsv", position)
    asked = [row for row in read_rows(folder / "queries.jsonl") if judged.get(str(row["_id"]))]
    sample = " ".join(documents[:: max(1, len(documents) // 200)])
    return Collection(
        name=folder.name,
        documents=documents,
        queries=[str(row["text"]) for row in asked],
        gains=[judged[str(row["_id"])] for row in asked],
        language=main_language(documents),
        spaceless=is_spaceless(sample),
    )


def read_rows(path: Path) -> list[dict[str, object]]:
    """Return the objects of a file of JSON Lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def text_of(row: dict[str, object]) -> str:
    """Return the title and the text of a document."""
    parts = [str(row.get(field) or "").strip() for field in ("title", "text")]
    return "\n\n".join(part for part in parts if part)


def _gains(path: Path, position: dict[str, int]) -> dict[str, dict[int, float]]:
    gains: dict[str, dict[int, float]] = defaultdict(dict)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            query, document, grade = (row[0], row[1], row[2]) if len(row) == 3 else (row[0], row[2], row[3])
            if document in position and _number(grade) > 0:
                gains[query][position[document]] = _number(grade)
    return gains


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0  # the header line
