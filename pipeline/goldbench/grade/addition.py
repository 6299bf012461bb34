"""Queries added to a set: those with a label join it, the others wait with a pool of passages to judge."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from goldbench.config import Config
from goldbench.errors import OutputError
from goldbench.formats.faults import Fault
from goldbench.formats.own_queries import OwnQuery
from goldbench.formats.query_logs import folded
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import ADD, OWN, POOL, QUERIES, UNLABELLED, answers_beside
from goldbench.goldset.folder import Draft, GoldFolder, is_graded, with_reports
from goldbench.goldset.publication import sha256_of
from goldbench.grade.pool import open_pools, read_gradable, waiting_pool
from goldbench.ports import Progress
from goldbench.records.corpus import Chunk, Document, Evidence
from goldbench.records.judgment import PooledPair
from goldbench.records.manifest import StageReport
from goldbench.records.query import Query, UnlabelledQuery
from goldbench.records.relevance import Relevance
from goldbench.stages.check.single_checks import query_id
from goldbench.stages.pool import language_of
from goldbench.text.display import shell_command, shown
from goldbench.text.evidence import find_quote


@dataclass(slots=True)
class Addition:
    """Queries to add: those with a label and their grades, those without; ``repeated`` are in the set already."""

    labelled: list[Query] = field(default_factory=list)
    relevance: dict[str, dict[str, Relevance]] = field(default_factory=dict)
    waiting: list[UnlabelledQuery] = field(default_factory=list)
    repeated: list[OwnQuery] = field(default_factory=list)


def add_queries(
    folder: Path,
    own_queries: Sequence[OwnQuery],
    name: str,
    config: Config,
    *,
    progress: Progress,
    dry_run: bool = False,
) -> Addition:
    """Add queries to the set in a folder, at once or not at all.

    Args:
        folder: The folder of a gold set.
        own_queries: The queries.
        name: The file they come from, named in errors.
        config: The configuration; its depth and retrievers make the pool of the queries without a label.
        progress: Shows how far the pooling is.
        dry_run: Return what would be added and change nothing.

    Raises:
        InputError: The folder holds no finished set or a damaged one, or a query names a passage, a document or a
            quotation that is not in the set.
        OutputError: A file of the set was changed, or the folder cannot be written.
    """
    home = GoldFolder(folder)
    home.manifest()
    if dry_run:
        return _match(home, own_queries, name)
    with home.rewriting() as draft:
        problem = next(home.changed_files(), None)
        if problem is not None:
            raise OutputError(f"{folder}: {problem}; see {shell_command('validate', str(folder))}")
        addition = _match(home, own_queries, name)
        if addition.waiting:
            _write_waiting(home, draft, addition, _pool(home, addition, config, progress))
        if addition.labelled:
            _write_labelled(home, draft, addition)
        if addition.labelled or (addition.waiting and home.is_reviewed()):
            _write_gold(home, draft, addition)
        if addition.labelled or addition.waiting:
            _finish(home, draft, addition, len(own_queries), name)
    return addition


def _match(home: GoldFolder, own_queries: Sequence[OwnQuery], name: str) -> Addition:
    """Return the queries as records of the set; ids and quotations are looked up."""
    known = set(_known_texts(home))
    addition = Addition()
    new: list[OwnQuery] = []
    for query in own_queries:
        form = folded(query.text)
        (addition.repeated if form in known else new).append(query)
        known.add(form)
    evidence = {}
    documents = list(home.documents.read()) if any(query.quote for query in new) else []
    for query in new:
        if query.quote:
            evidence[query.line] = _locate(query, documents, name)
    language = language_of(home.chunks.read())
    chunks = list(home.chunks.read())
    for query in new:
        record = UnlabelledQuery(
            query_id=query_id(query.text), text=query.text, generator=OWN, language=language, answer=query.answer
        )
        if not query.is_labelled:
            addition.waiting.append(record)
            continue
        chunk_ids = _holders(query, chunks, evidence.get(query.line), name)
        labelled = record.asked(chunk_ids[0])
        if query.quote:
            labelled = labelled.model_copy(update={"evidence": (evidence[query.line],)})
        addition.labelled.append(labelled)
        addition.relevance[labelled.query_id] = dict.fromkeys(chunk_ids, Relevance.ANSWERS)
    return addition


def _known_texts(home: GoldFolder) -> Iterator[str]:
    """Yield the folded texts of the queries that the set holds, or that a judge or a person left out of it."""
    for records in (home.queries, home.unlabelled, home.unanswerable):
        yield from (folded(query.text) for query in records.read_any())
    for dropped in (*home.ungraded.read_any(), *home.rejected.read_any()):
        yield folded(dropped.query.text)


def _locate(query: OwnQuery, documents: Sequence[Document], name: str) -> Evidence:
    """Return where the quotation of a query stands; one document holds it."""
    named = [document for document in documents if query.document is None or _is_named(document, query.document)]
    if query.document is not None and not named:
        file = PurePath(query.document).name
        alike = next((document.source for document in documents if PurePath(document.source).name == file), None)
        advice = f"did you mean {shown(alike)}?" if alike else "0-documents.jsonl holds the name of each (source)"
        raise Fault(f"column document: {shown(query.document)} is not in the set; {advice}", line=query.line).of(name)
    places = []
    for document in named:
        span = find_quote(query.quote or "", document.text)
        if span is not None:
            quote = document.text[slice(*span)]
            places.append(Evidence(doc_id=document.doc_id, start=span[0], end=span[1], quote=quote))
    if len(places) == 1:
        return places[0]
    problem = f"its quotation does not stand in {'that document' if query.document else 'any document of the set'}"
    if places:
        problem = f"its quotation stands in {len(places):,} documents; name one in a column document"
    raise Fault(problem, line=query.line).of(name)


def _is_named(document: Document, path: str) -> bool:
    return path in {document.doc_id, document.source} or document.source.endswith(f"/{path}")


def _holders(query: OwnQuery, chunks: Sequence[Chunk], evidence: Evidence | None, name: str) -> list[str]:
    """Return the passages that answer a query: those it names, else those that hold its quotation."""
    ids = {chunk.chunk_id for chunk in chunks}
    unknown = next((chunk_id for chunk_id in query.passages if chunk_id not in ids), None)
    if unknown is not None:
        problem = f"column passages: {shown(unknown)} is not in the set; 1-chunks.jsonl holds the id of each"
        raise Fault(problem, line=query.line).of(name)
    holders = [chunk.chunk_id for chunk in chunks if evidence is not None and chunk.span.contains(evidence)]
    if query.quote and not holders:
        raise Fault("its quotation stands in no single passage; give fewer words of it", line=query.line).of(name)
    return list(query.passages) or holders


def _pool(home: GoldFolder, addition: Addition, config: Config, progress: Progress) -> list[PooledPair]:
    """Return the pool of the queries without a label, made by the built-in retrievers alone."""
    gold = read_gradable(home, home.manifest())
    grading = gold.manifest.grading if is_graded(gold.manifest) else None
    depth = grading.depth if grading else config.grade.depth
    with open_pools(config, answers_beside(home.path), dry_run=True) as opened:
        return waiting_pool(gold, [query.asked() for query in addition.waiting], opened, progress, depth=depth)


def _write_waiting(home: GoldFolder, draft: Draft, addition: Addition, rows: Sequence[PooledPair]) -> None:
    """Write the queries without a label and their pool, also to what is kept of the set before its review."""
    draft.unlabelled.write((*home.unlabelled.read_any(), *addition.waiting))
    draft.pool.write((*home.pool.read_any(), *rows))
    if home.has_reviews_applied():
        draft.unreviewed.path.mkdir(parents=True, exist_ok=True)
        draft.unreviewed.pool.write((*home.unreviewed.pool.read_any(), *rows))


def _write_labelled(home: GoldFolder, draft: Draft, addition: Addition) -> None:
    """Write the queries with a label, also to what is kept of the set before its grading or review."""
    draft.queries.write((*home.queries.read(), *addition.labelled))
    lines = "".join(
        f"{key} 0 {chunk_id} {grade:d}\n"
        for key, grades in addition.relevance.items()
        for chunk_id, grade in grades.items()
    )
    labels = [(home.given_labels, draft.given_labels)]
    if home.has_reviews_applied():
        draft.unreviewed.path.mkdir(parents=True, exist_ok=True)
        draft.unreviewed.queries.write((*home.unreviewed.queries.read_any(), *addition.labelled))
        labels.append((home.unreviewed_labels, draft.unreviewed_labels))
    for before, now in labels:
        if before.is_file():
            now.parent.mkdir(parents=True, exist_ok=True)
            now.write_bytes(before.read_bytes() + lines.encode())


def _write_gold(home: GoldFolder, draft: Draft, addition: Addition) -> None:
    gold = home.dataset()
    queries = [*home.queries.read(), *addition.labelled]
    scores = gold.relevance_scores or {
        key: dict.fromkeys(chunk_ids, Relevance.ANSWERS) for key, chunk_ids in gold.relevant_docs.items()
    }
    draft.write_gold(
        GoldContents(
            queries=queries,
            corpus=functools.partial(passages, home.chunks.read(), title_use(gold.metadata)),
            relevance={**scores, **addition.relevance},
            metadata=_metadata(gold.metadata, draft),
            unanswerable=list(home.unanswerable.read_any()),
            derived=gold.derived,
        )
    )


def _metadata(metadata: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    """Return the metadata of the set; for an applied review, with the digests of its new files."""
    review = metadata.get("review")
    if not isinstance(review, Mapping):
        return dict(metadata)
    written = {name: sha256_of(draft.file(name)) for name in (QUERIES, POOL) if draft.file(name).is_file()}
    return {**metadata, "review": {**review, "files": {**review.get("files", {}), **written}}}


def _finish(home: GoldFolder, draft: Draft, addition: Addition, count: int, name: str) -> None:
    manifest = home.manifest()
    report = StageReport(
        stage=ADD,
        reads=Path(name).name,
        writes=QUERIES if addition.labelled else UNLABELLED,
        read=count,
        written=len(addition.labelled) + len(addition.waiting),
        unused=len(addition.repeated),
    )
    stages = with_reports(manifest.stages, [report])
    queries = manifest.queries + len(addition.labelled)
    draft.finish(manifest.model_copy(update={"queries": queries, "stages": stages}))
