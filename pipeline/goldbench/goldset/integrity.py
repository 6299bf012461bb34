"""Read a run folder again and check every file, reference and span in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.content_digest import read_content
from goldbench.goldset.dataset import passages, title_use
from goldbench.goldset.file_names import CHUNKS, DATASET, MANIFEST, QUERIES
from goldbench.goldset.folder import GoldFolder, is_graded
from goldbench.records.corpus import Chunk, Document, Evidence
from goldbench.records.manifest import Manifest
from goldbench.records.query import Query
from goldbench.records.relevance import Relevance, settled
from goldbench.records.testset import TestSet


@dataclass(frozen=True, slots=True)
class Validation:
    """How much was checked, every problem found, one line each, and the digest of the set's content."""

    documents: int
    chunks: int
    queries: int
    labels: int
    problems: tuple[str, ...]
    content_sha256: str | None = None


def validate(folder: Path) -> Validation:
    """Return the problems of a run folder.

    Raises:
        InputError: The folder is not that of a finished run, or one of its files cannot be read.
    """
    home = GoldFolder(folder)
    manifest = home.manifest()
    gold = home.dataset()
    documents = home.documents.read()
    chunks = home.chunks.read()
    queries = list(home.queries.read())
    graded = is_graded(manifest)
    reviewed = "review" in gold.metadata
    dropped = [item.query for item in home.ungraded.read()] if graded else []
    problems = [
        *home.changed_files(),
        *_problems_of_spans(documents, chunks, [*queries, *dropped], gold),
        *_problems_of_queries(queries, gold, judged=reviewed or home.judgments.exists()),
        *(_problems_of_grades(home, gold, renewed=manifest.renewed is not None) if graded and not reviewed else ()),
        *_problems_of_content(home, manifest, gold),
    ]
    labels = sum(len(ids) for ids in gold.relevant_docs.values())
    return Validation(len(documents), len(chunks), len(queries), labels, tuple(problems), manifest.content_sha256)


def _problems_of_content(folder: GoldFolder, manifest: Manifest, gold: TestSet) -> Iterator[str]:
    """Compare the content digest of the manifest with that of the set's metadata, and with what the set holds."""
    if manifest.content_sha256 is None:
        return
    if manifest.content_sha256 != gold.metadata.get("content_sha256"):
        yield f"the metadata of {DATASET} name another content digest than {MANIFEST}"
    if read_content(folder.file(DATASET)).sha256 != manifest.content_sha256:
        yield f"{DATASET} does not have the content that it had when it was written"


def _problems_of_spans(
    documents: RecordFile[Document], chunks: RecordFile[Chunk], queries: list[Query], gold: TestSet
) -> Iterator[str]:
    """Walk documents and their chunks side by side; only one document is held."""
    evidence = _by_document(item for query in queries for item in query.evidence)
    titles = title_use(gold.metadata)
    indexed = passages(chunks, titles)
    waiting = iter(chunks)
    chunk = next(waiting, None)
    for document in documents:
        for item in evidence.pop(document.doc_id, ()):
            if document.text[item.start : item.end] != item.quote:
                yield f"evidence {item.doc_id} {item.start}-{item.end} is not the text of its document there"
        while chunk is not None and chunk.span.doc_id == document.doc_id:
            if document.text[chunk.span.start : chunk.span.end] != chunk.text:
                yield f"chunk {chunk.chunk_id} is not the text of its document at its span"
            if gold.corpus.get(chunk.chunk_id) != next(indexed).text_with_title(titles):
                yield f"chunk {chunk.chunk_id} is missing from the corpus of {DATASET}, or has another text there"
            chunk = next(waiting, None)
    if chunk is not None:
        yield f"chunk {chunk.chunk_id} belongs to document {chunk.span.doc_id}, which is missing or out of order"
    if len(chunks) != len(gold.corpus):
        yield f"the corpus of {DATASET} holds {len(gold.corpus)} passages, {CHUNKS} {len(chunks)}"
    for doc_id in evidence:
        yield f"evidence names document {doc_id}, which is missing"


def _by_document(items: Iterable[Evidence]) -> dict[str, list[Evidence]]:
    grouped: dict[str, list[Evidence]] = {}
    for item in items:
        grouped.setdefault(item.doc_id, []).append(item)
    return grouped


def _problems_of_queries(queries: list[Query], gold: TestSet, *, judged: bool) -> Iterator[str]:
    """Compare the queries with the set; a source that a judge or a person graded need not be relevant."""
    if [query.query_id for query in queries] != list(gold.queries):
        yield f"{QUERIES} and {DATASET} do not hold the same queries"
    for query in queries:
        if gold.queries.get(query.query_id) != query.text:
            yield f"query {query.query_id} has another text in {DATASET}"
        refuted = judged and query.chunk_id in (gold.relevance_scores or {}).get(query.query_id, {})
        if query.chunk_id not in gold.relevant_docs.get(query.query_id, ()) and not refuted:
            yield f"query {query.query_id}: its source chunk {query.chunk_id} is not among its relevant chunks"


def _problems_of_grades(folder: GoldFolder, gold: TestSet, *, renewed: bool) -> Iterator[str]:
    """Compare the labels with the judgments they come from: every grade is settled by those of its pair.

    In a set whose documents changed, labels of changed passages and of new queries follow from their evidence alone.
    A query that was added with labels since the grading has no judgment.
    """
    grades: dict[tuple[str, str], list[Relevance]] = {}
    for judgment in folder.judgments.read():
        if judgment.canary is None:
            grades.setdefault((judgment.query_id, judgment.chunk_id), []).append(judgment.relevance)
    judged = {query_id for query_id, _ in grades}
    for query_id, labels in (gold.relevance_scores or {}).items():
        for chunk_id, grade in labels.items() if query_id in judged else ():
            stored = grades.get((query_id, chunk_id))
            if (stored is None and not renewed) or (stored is not None and settled(stored) != grade):
                yield f"query {query_id}: chunk {chunk_id} has another grade than its judgments give"
