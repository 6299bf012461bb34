"""What a card is made from: the files of a gold set, read once."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.errors import GoldsetError, InputError
from pipeline.formats.jsonl import RecordFile
from pipeline.goldset.folder import CONFIG, MANIFEST, read_manifest
from pipeline.goldset.provenance import metadata_of
from pipeline.score.runs import load_gold, load_run, top_documents
from pipeline.text.language import detect_language
from schemas.judgment import Judgment, Pooled
from schemas.manifest import Manifest

POOL, JUDGMENTS, CHUNKS = "4-pool.jsonl", "4-judgments.jsonl", "1-chunks.jsonl"
DEPTH = 10
_IMPORT = "import"
"""The table that only an import has in its configuration."""


@dataclass(frozen=True, slots=True)
class Material:
    """A gold set and what is known of how it was made.

    ``qrels`` are grades by passage and query, ``level`` the smallest that is relevant; ``notes`` what a build wrote of
    each query; ``document_of`` the source document of each passage; ``runs`` the first results of the runs beside the
    set, ``unreadable`` those that cannot be read. ``settings`` is the configuration of the build.
    """

    name: str
    fingerprint: str
    qrels: dict[str, dict[str, int]]
    level: int
    queries: dict[str, str]
    corpus: dict[str, str]
    notes: dict[str, dict[str, Any]]
    metadata: dict[str, Any]
    manifest: Manifest | None
    settings: dict[str, Any]
    document_of: dict[str, str]
    pool: list[Pooled]
    judgments: list[Judgment]
    languages: dict[str, str | None]
    runs: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    @property
    def graded(self) -> bool:
        """Whether a pool was judged."""
        return bool(self.judgments) or (self.manifest is not None and self.manifest.grading is not None)

    @property
    def level_of_evidence(self) -> str | None:
        """What the set says of itself: ``smoke``, ``model``, ``human``."""
        if self.manifest is not None:
            return self.manifest.evidence_level
        found = self.metadata.get("evidence_level")
        return found if isinstance(found, str) else None

    @property
    def simulated(self) -> bool:
        """Whether no model and no person wrote the queries."""
        return self.level_of_evidence == "smoke"

    def relevant(self, query_id: str) -> list[str]:
        """Return the relevant passages of a query, sorted."""
        return sorted(doc_id for doc_id, grade in self.qrels.get(query_id, {}).items() if grade >= self.level)

    def source(self, query_id: str) -> str | None:
        """Return the passage a query was written from, None where nobody says.

        An imported query has a passage of its own too, but that is the source only where an answer is quoted from it.
        """
        note = self.notes.get(query_id, {})
        if _IMPORT in self.settings and not note.get("evidence"):
            return None
        found = note.get("chunk_id")
        return found if isinstance(found, str) and found in self.corpus else None

    def main_language(self) -> str | None:
        """Return the language of most passages of a sample, None where there is no such."""
        ids = sorted(self.corpus)
        counts = Counter(detect_language(self.corpus[doc_id]) for doc_id in ids[:: max(1, len(ids) // 100)])
        best = max(counts, key=lambda name: (counts[name], name or "")) if counts else None
        return best if best and 2 * counts[best] > counts.total() else None


def read_material(folder: Path) -> Material:
    """Return what the card of a gold set is made from.

    Args:
        folder: a build, graded or not, an import, a BEIR folder, or a folder with ``dataset.json``.

    Raises:
        InputError: There is no gold set, it has no texts, or one of its files is damaged.
    """
    if not folder.is_dir():
        problem = "is a file; name the folder of a gold set" if folder.exists() else "there is no such folder"
        raise InputError(folder, problem)
    gold = load_gold(folder)
    queries, corpus = gold.queries(), gold.corpus()
    for what, texts in (("query", queries), ("passage", corpus)):
        if not texts:
            raise InputError(folder, f"holds no {what}, or only its id: without texts there is no card")
    known = {query_id: judged for query_id, judged in gold.qrels.items() if query_id in queries}
    runs, unreadable = _runs(folder, gold.path)
    notes = gold.about()
    return Material(
        name=folder.resolve().name,
        fingerprint=gold.fingerprint(),
        qrels=known,
        level=gold.level,
        queries={query_id: queries[query_id] for query_id in sorted(queries)},
        corpus=corpus,
        notes=notes,
        metadata=metadata_of(folder),
        manifest=read_manifest(folder) if (folder / MANIFEST).is_file() else None,
        settings=_settings(folder / CONFIG),
        document_of=_documents(folder / CHUNKS),
        pool=list(RecordFile.open(folder / POOL, Pooled)) if (folder / POOL).is_file() else [],
        judgments=list(RecordFile.open(folder / JUDGMENTS, Judgment)) if (folder / JUDGMENTS).is_file() else [],
        languages={query_id: _language(notes.get(query_id, {}), text) for query_id, text in queries.items()},
        runs=runs,
        unreadable=unreadable,
    )


def _language(note: dict[str, Any], text: str) -> str | None:
    found = note.get("language")
    return found if isinstance(found, str) else detect_language(text)


def _settings(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(path, "is damaged: run the build again") from None


def _documents(path: Path) -> dict[str, str]:
    """Return the document of each chunk; only ids are kept, so nothing is checked but them."""
    if not path.is_file():
        return {}
    found = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                chunk = json.loads(line)
                found[str(chunk["chunk_id"])] = str(chunk["span"]["doc_id"])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise InputError(path, "is no chunk", line=number) from None
    return found


def _runs(folder: Path, gold_path: Path) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    gold = load_gold(gold_path)
    runs: dict[str, dict[str, list[str]]] = {}
    unreadable = []
    for path in sorted((folder / "runs").glob("*.trec")):
        try:
            found = top_documents(gold, load_run(path), depth=DEPTH)
        except GoldsetError:
            unreadable.append(path.stem)
        else:
            runs[path.stem] = {query_id: [one.doc_id for one in top] for query_id, top in found.items()}
    return runs, unreadable
