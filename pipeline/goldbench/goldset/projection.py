"""Put the queries of a gold set on another chunking of the same documents; no model is asked."""

from __future__ import annotations

import functools
import hashlib
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldbench.errors import InputError, Message, UnreadableDocument, UsageError
from goldbench.formats.documents.chunker import cut_documents
from goldbench.formats.documents.worker_pool import DocumentLimits, Workers
from goldbench.goldset.dataset import GoldContents, passages, title_use
from goldbench.goldset.file_names import CHUNKS, DATASET, DOCUMENTS, QUERIES, RELEVANCE
from goldbench.goldset.folder import GoldFolder, ReplacePolicy, stamp
from goldbench.goldset.transfer import add_chunk
from goldbench.records.corpus import Chunk
from goldbench.records.manifest import UNREADABLE, Failure, Manifest, StageReport
from goldbench.records.query import Query, Rejection, TextRelevance
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.stages.chunk import check_sizes
from goldbench.stages.project import Cuts, Projection, judged_passage, project
from goldbench.text.title_path import titled

NOT_PROJECTED = "not-projected"


@dataclass(frozen=True, slots=True)
class RechunkedSet:
    """A gold set on another chunking, in memory.

    ``corpus`` is the text of each chunk by its id, in reading order; ``qrels`` the grades by query and chunk, ``level``
    the lowest relevant one; ``lost`` the ids of the queries whose evidence no chunk holds.
    """

    corpus: dict[str, str]
    qrels: dict[str, dict[str, int]]
    level: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProjectedSet:
    """A written set.

    Attributes:
        manifest: Its manifest.
        left_out: Why queries were left out, by query.
        passages_lost: How many relevant passages got no label.
        skipped: A line for each document that could not be cut and gives no chunk.
        set_aside: A line for each folder of results on an earlier set that was renamed.
    """

    manifest: Manifest
    left_out: Mapping[str, str]
    passages_lost: int
    skipped: tuple[str, ...]
    set_aside: Sequence[str]


def rechunk(folder: Path, *, size: int, overlap: int) -> RechunkedSet:
    """Return the gold set of a run folder on another chunking; nothing is written.

    Args:
        folder: The folder of a build, or of an earlier ``rechunk``.
        size: Characters per chunk.
        overlap: Characters that neighbours share, 0 or more.

    Raises:
        UsageError: The sizes are impossible.
        InputError: The folder is not that of a finished run, no query of it has evidence, or a document takes too much
            time or memory to cut.
    """
    check_sizes(size, overlap)
    home = GoldFolder(folder)
    relevance = read_relevance(home)
    chunks = list(_cut(home, size, overlap, on_failure=_refuse))
    projected, left_out = _project(relevance, chunks)
    cut = passages(chunks, title_use(home.metadata()))
    return RechunkedSet(
        corpus={passage.chunk_id: titled(passage.title, passage.text) for passage in cut},
        qrels={
            query.query_id: {chunk_id: int(grade) for chunk_id, grade in sorted(projection.grades.items())}
            for query, projection in projected
        },
        level=int(RELEVANT),
        lost=tuple(sorted(left_out)),
    )


def _project(
    relevance: Sequence[TextRelevance], chunks: Iterable[Chunk]
) -> tuple[list[tuple[Query, Projection]], dict[str, str]]:
    """Return the projection of each query on chunks, and by query id why the others have none."""
    cuts: dict[str, Cuts] = {}
    for chunk in chunks:
        add_chunk(cuts, chunk)
    kept_queries: list[tuple[Query, Projection]] = []
    left_out: dict[str, str] = {}
    for item in relevance:
        projection = project(item, cuts)
        if isinstance(projection, str):
            left_out[item.query.query_id] = projection
        else:
            kept_queries.append((item.query, projection))
    return kept_queries, left_out


def write_rechunked(folder: Path, out: Path, *, size: int, overlap: int, replace: bool = False) -> ProjectedSet:
    """Write the gold set of a run folder on another chunking to a folder of its own.

    Args:
        out: The new run folder.
        replace: Whether another run in ``out`` may be replaced.

    Raises:
        UsageError: The sizes are impossible, or ``out`` is ``folder``.
        InputError: The folder is not that of a finished run, or no query of it can be projected.
        OutputError: The output folder cannot be written.
    """
    check_sizes(size, overlap)
    if out.resolve() == folder.resolve():
        raise UsageError(Message("{}: is the run itself; give another {out=}", out))
    home = GoldFolder(folder)
    started = time.monotonic()
    before = home.manifest()
    relevance = read_relevance(home)
    settings = {**home.settings(), "chunk": {"size": size, "overlap": overlap}}
    fingerprint = _digest([before.files.get(QUERIES), before.files.get(DOCUMENTS), settings])
    with GoldFolder(out).replacing(ReplacePolicy(settings, fingerprint, replace=replace)) as draft:
        documents = draft.documents.write(home.documents.read())
        failures: list[Failure] = []
        chunks = draft.chunks.write(
            _cut(home, size, overlap, on_failure=lambda error: failures.append(_failure(error)))
        )
        projected, left_out = _project(relevance, chunks)
        if not projected:
            raise InputError(folder, f"no query can be projected on chunks of {size}: {next(iter(left_out.values()))}")
        queries = [_moved(query, projection) for query, projection in projected]
        draft.relevance.write(relevance)
        draft.queries.write(queries)
        draft.rejections.write(_rejections(relevance, left_out))
        metadata = home.dataset().metadata | {
            "chunk": {"size": size, "overlap": overlap},
            "rechunked": {"queries": len(relevance), "left_out": len(left_out)},
        }
        draft.write_gold(
            GoldContents(
                queries=queries,
                corpus=functools.partial(passages, chunks, title_use(metadata)),
                relevance={query.query_id: projection.grades for query, projection in projected},
                metadata=metadata,
                unanswerable=list(home.unanswerable.read_any()),
                derived={query.query_id: item.derived for query, item in projected if item.derived},
            )
        )
        draft.write_settings(settings)
        report = StageReport(
            stage="project",
            reads=RELEVANCE,
            writes=DATASET,
            read=len(relevance),
            written=len(projected),
            rejected=len(left_out),
            rules={NOT_PROJECTED: len(left_out)} if left_out else {},
        )
        cut = StageReport(stage="chunk", reads=DOCUMENTS, writes=CHUNKS, read=len(documents), written=len(documents))
        cut = cut.model_copy(update={"written": cut.read - len(failures), "failed": len(failures)})
        manifest = before.model_copy(
            update={
                **stamp(started),
                "config_sha256": fingerprint,
                "queries": len(queries),
                "target": None,
                "stages": [cut, report],
                "failures": [*before.failures, *failures],
                "usage": {},
            }
        )
        draft.finish(manifest)
    lost = sum(projection.lost for _, projection in projected)
    skipped = tuple(failure.message for failure in failures)
    return ProjectedSet(GoldFolder(out).manifest(), left_out, lost, skipped, draft.set_aside)


def read_relevance(folder: GoldFolder) -> list[TextRelevance]:
    """Return what is relevant to each query whatever the chunking; a rechunked set that nobody judged has it in a file.

    Raises:
        InputError: The folder is not that of a finished run, or no query of it has evidence.
    """
    folder.manifest()
    if folder.relevance.exists() and not folder.judgments.exists():
        return list(folder.relevance.read())
    positives = _positives(folder)
    if not any(positive.query.evidence for positive in positives):
        raise InputError(
            folder.path, "no query has evidence in a document, so nothing tells which part of a text is relevant"
        )
    return positives


def _positives(folder: GoldFolder) -> list[TextRelevance]:
    dataset = folder.dataset()
    grades = dataset.relevance_scores or {}
    queries = list(folder.queries.read())
    judged = {chunk_id for judged_passages in grades.values() for chunk_id in judged_passages}
    chunks = {chunk.chunk_id: chunk for chunk in folder.chunks.read() if chunk.chunk_id in judged}
    quotes: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for judgment in folder.judgments.read_any():
        if judgment.canary is None and judgment.relevance >= RELEVANT and judgment.evidence:
            quotes[judgment.query_id, judgment.chunk_id].append(judgment.evidence)
    return [
        TextRelevance(
            query=query,
            passages=tuple(
                judged_passage(query, chunks[chunk_id], Relevance(grade), quotes[query.query_id, chunk_id]).model_copy(
                    update={"derived": chunk_id in dataset.derived.get(query.query_id, ())}
                )
                for chunk_id, grade in sorted(grades.get(query.query_id, {}).items())
            ),
        )
        for query in queries
    ]


def _problem(error: UnreadableDocument) -> str:
    return f"cannot be cut into chunks: it {error.problem.partition(': ')[0]}"  # what follows is a setting of a build


def _refuse(error: UnreadableDocument) -> None:
    raise UnreadableDocument(error.path, f"{_problem(error)}; leave this chunk size out")


def _failure(error: UnreadableDocument) -> Failure:
    message = f"{error.path}: {_problem(error)}"
    return Failure(stage="chunk", item=str(error.path), kind=UNREADABLE, message=message)


def _cut(
    folder: GoldFolder, size: int, overlap: int, *, on_failure: Callable[[UnreadableDocument], None]
) -> Iterator[Chunk]:
    documents = folder.documents.read()
    whole = (document.model_copy(update={"ready": False}) if document.ready else document for document in documents)
    with Workers(DocumentLimits()) as workers:
        yield from cut_documents(whole, workers, size=size, overlap=overlap, on_failure=on_failure)


def _moved(query: Query, projection: Projection) -> Query:
    """Return a query about the new passages, without the difficulty, which was measured on the earlier ones."""
    moved = {"chunk_id": projection.source, "evidence": projection.evidence, "needs": projection.needs}
    return query.model_copy(update={**moved, "difficulty": None})


def _rejections(relevance: Iterable[TextRelevance], left_out: Mapping[str, str]) -> Iterator[Rejection]:
    for positive in relevance:
        reason = left_out.get(positive.query.query_id)
        if reason is not None:
            yield Rejection(
                chunk_id=positive.query.chunk_id, filter=NOT_PROJECTED, reason=f"{positive.query.query_id}: {reason}"
            )


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
