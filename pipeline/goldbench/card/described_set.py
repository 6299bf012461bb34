"""A gold set as its card describes it, read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from goldbench.errors import GoldbenchError, InputError
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.gold_path import holds_no_query, metadata_of
from goldbench.records.judgment import Judgment
from goldbench.records.manifest import Manifest
from goldbench.score.runs import Gold, load_gold, load_run, top_documents
from goldbench.text.language import detect_language, main_language

DEPTH = 10
_IMPORT = "import"
"""The table that only an import has in its configuration."""


@dataclass(frozen=True)
class DescribedSet:
    """A gold set and what is known about how it was made.

    ``qrels`` are grades by query and passage, ``level`` the smallest relevant grade; ``notes`` what a build noted about
    each query; ``document_of`` the source document of each passage; ``runs`` the first results of the runs beside the
    set, ``unreadable`` the files beside them that cannot be read as runs. ``settings`` is the configuration of the
    build.
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
        """The set's own level of evidence: ``smoke``, ``model``, ``users``, ``human``, or None."""
        if self.manifest is not None:
            return self.manifest.evidence_level
        level = self.metadata.get("evidence_level")
        return level if isinstance(level, str) else None

    @property
    def simulated(self) -> bool:
        """Whether no model and no person wrote the queries."""
        return self.level_of_evidence == "smoke"

    def relevant(self, query_id: str) -> list[str]:
        """Return the relevant passages of a query, sorted."""
        return sorted(doc_id for doc_id, grade in self.qrels.get(query_id, {}).items() if grade >= self.level)

    def source(self, query_id: str) -> str | None:
        """Return the passage a query was written from, or None if it is unknown.

        An imported query has a passage too, but it is the source only if an answer is quoted from it.
        """
        note = self.notes.get(query_id, {})
        if _IMPORT in self.settings and not note.get("evidence"):
            return None
        source = note.get("chunk_id")
        return source if isinstance(source, str) and source in self.corpus else None

    @cached_property
    def main_language(self) -> str | None:
        """The language of most passages of a sample, or None if no language has more than half."""
        return main_language([self.corpus[doc_id] for doc_id in sorted(self.corpus)])


def read_described(folder: Path) -> DescribedSet:
    """Return the gold set in a folder, to be described.

    Args:
        folder: A build, graded or not, an import, a BEIR folder, or a folder with ``dataset.json``.

    Raises:
        InputError: There is no gold set, it has no texts, or one of its files is damaged.
    """
    if not folder.is_dir():
        problem = "is a file" if folder.exists() else "folder not found"
        raise InputError(folder, f"{problem}; give the folder of a gold set")
    home = GoldFolder(folder)
    gold = load_gold(folder)
    queries = gold.queries()
    corpus = gold.corpus()
    if not gold.qrels:
        raise InputError(str(folder), f"{holds_no_query(folder)}: there is nothing to describe")
    for what, texts in (("query", queries), ("passage", corpus)):
        if not texts:
            raise InputError(folder, f"holds no text of a {what}, which a card needs; name the folder of a build")
    runs, unreadable = _runs(home, gold)
    notes = gold.about()
    return DescribedSet(
        name=folder.resolve().name,
        fingerprint=gold.fingerprint(),
        qrels={query_id: judged for query_id, judged in gold.qrels.items() if query_id in queries},
        level=gold.level,
        queries={query_id: queries[query_id] for query_id in sorted(queries)},
        corpus=corpus,
        notes=notes,
        metadata=metadata_of(folder),
        manifest=home.manifest() if home.is_finished() else None,
        settings=home.settings(),
        document_of={chunk.chunk_id: chunk.span.doc_id for chunk in home.chunks.read_any()},
        judgments=list(home.judgments.read_any()),
        languages={query_id: _language(notes.get(query_id, {}), text) for query_id, text in queries.items()},
        runs=runs,
        unreadable=unreadable,
    )


def _language(note: dict[str, Any], text: str) -> str | None:
    language = note.get("language")
    return language if isinstance(language, str) else detect_language(text)


def _runs(folder: GoldFolder, gold: Gold) -> tuple[dict[str, dict[str, list[str]]], list[str]]:
    runs: dict[str, dict[str, list[str]]] = {}
    unreadable = []
    for name, path in folder.named_runs().items():
        try:
            retrieved = top_documents(gold, load_run(path), depth=DEPTH)
        except GoldbenchError:
            unreadable.append(path.name)
        else:
            runs[name] = {query_id: [result.doc_id for result in top] for query_id, top in retrieved.items()}
    return runs, unreadable
