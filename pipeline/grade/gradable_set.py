"""A run folder as grading reads it: its chunks, all of its queries, what is known of their sources, earlier grades."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.errors import InputError
from pipeline.formats.jsonl import RecordFile
from pipeline.goldset.dataset import passages
from pipeline.goldset.folder import MANIFEST, read_manifest
from schemas.corpus import Chunk
from schemas.judgment import Judgment, Origin, Pooled
from schemas.manifest import Manifest
from schemas.query import DroppedQuery, Query

CHUNKS, QUERIES = "1-chunks.jsonl", "3-queries.jsonl"
POOL, JUDGMENTS, CHECKS, DROPPED = "4-pool.jsonl", "4-judgments.jsonl", "4-source-checks.jsonl", "4-rejections.jsonl"
GIVEN, QRELS, DATASET = "trec/qrels-given.txt", "trec/qrels.txt", "dataset.json"
"""``qrels-given.txt`` holds the labels from before the first grading."""

Rankings = dict[str, dict[str, list[str]]]
"""By the name of a retriever and the id of a query: the ids of chunks, best first."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier grading of the same set left."""

    pool: tuple[Pooled, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    checks: tuple[Judgment, ...] = ()


@dataclass(frozen=True)
class Material:
    """What is graded.

    ``queries`` are all that the set was built with, those an earlier grading left out in their places among them;
    ``sources`` the chunks known to hold what each asks for, the one it was written from first.
    """

    folder: Path
    manifest: Manifest
    chunks: RecordFile[Chunk]
    queries: tuple[Query, ...]
    sources: dict[str, tuple[str, ...]]
    metadata: dict[str, Any]
    earlier: Earlier = field(default_factory=Earlier)

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each chunk stands."""
        return {chunk.chunk_id: position for position, chunk in enumerate(self.chunks)}

    def corpus(self) -> dict[str, str]:
        """Return the text of every chunk as it is indexed."""
        return {passage.chunk_id: passage.text for passage in passages(self.chunks, self.queries)}

    def text_of(self, chunk_id: str) -> str:
        """Return the text of a chunk as it stands in its document."""
        return self.chunks.at(self.positions[chunk_id]).text


def is_graded(manifest: Manifest) -> bool:
    """Whether a folder holds a pool and its judgments."""
    return manifest.grading is not None and JUDGMENTS in manifest.files


def read_material(folder: Path, manifest: Manifest) -> Material:
    """Return what a folder holds for grading.

    Raises:
        InputError: A file is missing or damaged, or they do not belong together.
    """
    chunks = RecordFile.open(folder / CHUNKS, Chunk)
    graded = is_graded(manifest)
    dropped = list(RecordFile.open(folder / DROPPED, DroppedQuery)) if graded else []
    queries = tuple(_merged(RecordFile.open(folder / QUERIES, Query), dropped))
    earlier = _earlier(folder) if graded else Earlier()
    relevant, metadata = _dataset(folder / DATASET)
    if graded:
        relevant = {}
        for row in earlier.pool:
            if row.origin is Origin.SOURCE:
                relevant.setdefault(row.query_id, []).append(row.chunk_id)
    sources = {query.query_id: _ordered(query, relevant.get(query.query_id, ())) for query in queries}
    found = Material(folder, manifest, chunks, queries, sources, metadata, earlier)
    for query in queries:
        for chunk_id in sources[query.query_id]:
            if chunk_id not in found.positions:
                raise InputError(
                    folder / QUERIES, f"query {query.query_id} names chunk {chunk_id}, which {CHUNKS} has not"
                )
    return found


def _ordered(query: Query, chunk_ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({query.chunk_id, *chunk_ids}, key=lambda chunk_id: (chunk_id != query.chunk_id, chunk_id)))


def _merged(kept: Iterable[Query], dropped: Sequence[DroppedQuery]) -> Iterator[Query]:
    """Yield all queries in the order they had before some were left out."""
    waiting = {item.position: item.query for item in dropped}
    position = 0
    for query in kept:
        while position in waiting:
            yield waiting.pop(position)
            position += 1
        yield query
        position += 1
    yield from (waiting[position] for position in sorted(waiting))


def _earlier(folder: Path) -> Earlier:
    return Earlier(
        tuple(RecordFile.open(folder / POOL, Pooled)),
        tuple(RecordFile.open(folder / JUDGMENTS, Judgment)),
        tuple(RecordFile.open(folder / CHECKS, Judgment)),
    )


def carried_rankings(folder: Path) -> Rankings:
    """Return what users' runs brought into the pool of a graded folder: by run and query, best first."""
    if not (folder / MANIFEST).is_file():
        return {}
    manifest = read_manifest(folder)
    names = set(manifest.grading.runs) if manifest.grading and is_graded(manifest) else set()
    found = rankings_of(RecordFile.open(folder / POOL, Pooled)) if names else {}
    return {name: by_query for name, by_query in found.items() if name in names}


def rankings_of(pool: Iterable[Pooled]) -> Rankings:
    """Return the rankings that a pool was made of."""
    ranked: dict[str, dict[str, dict[int, str]]] = {}
    for row in pool:
        for name, rank in row.ranks.items():
            ranked.setdefault(name, {}).setdefault(row.query_id, {})[rank] = row.chunk_id
    return {
        name: {query_id: [by_rank[rank] for rank in sorted(by_rank)] for query_id, by_rank in by_query.items()}
        for name, by_query in ranked.items()
    }


def read_metadata(folder: Path) -> dict[str, Any]:
    """Return what a set says of itself.

    Raises:
        InputError: There is no set, or it is damaged.
    """
    return _dataset(folder / DATASET)[1]


def _dataset(path: Path) -> tuple[dict[str, list[str]], dict[str, Any]]:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise InputError(path, "is missing") from None
    except (ValueError, RecursionError):
        raise InputError(path, "is no JSON") from None
    if not isinstance(found, dict) or not isinstance(found.get("relevant_docs"), dict):
        raise InputError(path, "holds no relevant_docs")
    metadata = found.get("metadata")
    return found["relevant_docs"], metadata if isinstance(metadata, dict) else {}
