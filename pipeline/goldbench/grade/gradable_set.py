"""A run folder as grading reads it: its chunks, all of its queries, their known sources, and earlier grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from goldbench.errors import InputError
from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.dataset import Held, held_out, passages, title_use
from goldbench.goldset.file_names import CHUNKS
from goldbench.goldset.folder import GoldFolder, is_graded
from goldbench.records.corpus import Chunk, TitleUse
from goldbench.records.judgment import Judgment, Origin, Pooled
from goldbench.records.manifest import Manifest
from goldbench.records.query import DroppedQuery, Query
from goldbench.text.title_path import title_path, titled

Rankings = dict[str, dict[str, list[str]]]
"""By the name of a retriever and the id of a query: the ids of chunks, best first."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The pool, judgments and source checks of an earlier grading of the same set."""

    pool: tuple[Pooled, ...] = ()
    judgments: tuple[Judgment, ...] = ()
    checks: tuple[Judgment, ...] = ()


@dataclass(frozen=True)
class GradableSet:
    """A gold set as it is graded.

    ``queries`` are all queries the set was built with, in their order, also those that an earlier grading left out,
    and after them the ``unlabelled``, which came without a label. ``sources`` are the chunks known to hold what each
    query asks for, the chunk it was written from first; none for the unlabelled.
    """

    folder: GoldFolder
    manifest: Manifest
    chunks: RecordFile[Chunk]
    queries: tuple[Query, ...]
    sources: dict[str, tuple[str, ...]]
    metadata: dict[str, Any]
    earlier: Earlier = field(default_factory=Earlier)
    unlabelled: frozenset[str] = frozenset()

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each chunk in the corpus."""
        return {chunk.chunk_id: position for position, chunk in enumerate(self.chunks)}

    def corpus(self) -> dict[str, str]:
        """Return the text of every chunk as it is indexed."""
        indexed = passages(self.chunks, self.queries, title_use(self.metadata))
        return {passage.chunk_id: titled(passage.title, passage.text) for passage in indexed}

    @cached_property
    def _held_out(self) -> dict[str, Held]:
        return held_out(self.queries)

    def text_of(self, chunk_id: str) -> str:
        """Return a chunk as it is judged: its emitted title, and its text as it stands in its document."""
        chunk = self.chunks.at(self.positions[chunk_id])
        emits = title_use(self.metadata) is not TitleUse.NONE
        held = self._held_out.get(chunk.span.doc_id)
        title = title_path(chunk, held.titles if held else ()) if emits else ""
        return chunk.text if chunk.text == title else titled(title, chunk.text)


def read_gradable(folder: GoldFolder, manifest: Manifest) -> GradableSet:
    """Return the set in a folder, to be graded.

    Raises:
        InputError: A file is missing or damaged, or they do not belong together.
    """
    chunks, gold, graded = folder.chunks.read(), folder.dataset(), is_graded(manifest)
    unlabelled = {query.query_id: query for query in folder.unlabelled.read_any()}
    labelled = (query for query in folder.queries.read() if query.query_id not in unlabelled)
    built = list(_merged(labelled, list(folder.ungraded.read()) if graded else []))
    queries = (*built, *(query.asked() for query in unlabelled.values()))
    earlier = _earlier(folder) if graded else Earlier()
    relevant = gold.relevant_docs
    if graded:
        pooled = {row.query_id for row in earlier.pool}
        relevant = {query_id: list(found) for query_id, found in relevant.items() if query_id not in pooled}
        for row in earlier.pool:
            if row.origin is Origin.SOURCE:
                relevant.setdefault(row.query_id, []).append(row.chunk_id)
    sources = {query.query_id: _ordered(query, relevant.get(query.query_id, ())) for query in built}
    sources |= dict.fromkeys(unlabelled, ())
    found = GradableSet(folder, manifest, chunks, queries, sources, gold.metadata, earlier, frozenset(unlabelled))
    for query in queries:
        for chunk_id in sources[query.query_id]:
            if chunk_id not in found.positions:
                raise InputError(
                    folder.queries.path,
                    f"query {query.query_id} names chunk {chunk_id}, which is missing from {CHUNKS}",
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


def _earlier(folder: GoldFolder) -> Earlier:
    return Earlier(tuple(folder.pool.read()), tuple(folder.judgments.read()), tuple(folder.checks.read()))


def carried_rankings(folder: GoldFolder) -> Rankings:
    """Return what users' runs brought into the pool of a graded folder: by run and query, best first."""
    if not folder.is_finished():
        return {}
    manifest = folder.manifest()
    names = set(manifest.grading.runs) if manifest.grading and is_graded(manifest) else set()
    found = rankings_of(folder.pool.read()) if names else {}
    return {name: by_query for name, by_query in found.items() if name in names}


def carried_feedback(folder: GoldFolder) -> dict[str, list[str]]:
    """Return what users' clicks and votes brought into the pool of a graded folder: the chunks by query."""
    if not folder.is_finished() or not is_graded(folder.manifest()):
        return {}
    return feedback_of(folder.pool.read())


def feedback_of(pool: Iterable[Pooled]) -> dict[str, list[str]]:
    """Return the chunks that users clicked or voted on, by query."""
    found: dict[str, list[str]] = {}
    for row in pool:
        if row.origin is Origin.FEEDBACK:
            found.setdefault(row.query_id, []).append(row.chunk_id)
    return found


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
