"""A run folder as it is reviewed: queries, passages, the pool and what the judge said about it."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from goldbench.errors import InputError
from goldbench.formats.interchange_names import BEIR_CORPUS
from goldbench.goldset.file_names import DATASET
from goldbench.goldset.folder import GoldFolder, Records
from goldbench.goldset.gold_path import notes_of_queries
from goldbench.prompts.rubric import DEFAULT, Rubric
from goldbench.records.corpus import Chunk, Span
from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.relevance import Relevance, settled
from goldbench.text.asked_query import AskedQuery, asked_queries
from goldbench.text.display import shell_command
from goldbench.text.words import content_terms, index_terms

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Position:
    """The surroundings of a passage: its document's title, the headings above it, the passages before and after it.

    ``text`` is the passage without the title it is indexed with, which is shown above it; ``span`` is where it stands
    in its document, and ``own`` its text there.
    """

    title: str = ""
    headings: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    text: str | None = None
    span: Span | None = None
    own: str | None = None


@dataclass(frozen=True)
class ReviewableSet:
    """A gold set as it is reviewed; ``judgments`` are without judge checks."""

    folder: Path
    queries: dict[str, str]
    corpus: dict[str, str]
    notes: dict[str, dict[str, Any]]
    pool: tuple[PooledPair, ...]
    judgments: tuple[Judgment, ...]
    positions: Mapping[str, Position]
    data_sha: str
    rubric: Rubric = DEFAULT
    metadata: dict[str, Any] = field(default_factory=dict)
    answers: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The reference answers, as in ``dataset.json``."""
    asked: dict[str, AskedQuery] = field(default_factory=dict)
    """The queries with what a person must see to judge them."""

    @cached_property
    def pairs(self) -> dict[Pair, PooledPair]:
        """The pool by pair."""
        return {(pooled.query_id, pooled.chunk_id): pooled for pooled in self.pool}

    @cached_property
    def judged(self) -> dict[Pair, list[Judgment]]:
        """The judgments of each pair, in the order of the assessors' names."""
        by_pair: defaultdict[Pair, list[Judgment]] = defaultdict(list)
        for judgment in sorted(self.judgments, key=attrgetter("query_id", "chunk_id", "assessor")):
            by_pair[judgment.query_id, judgment.chunk_id].append(judgment)
        return dict(by_pair)

    def grades(self) -> dict[Pair, Relevance]:
        """Return the grade that the assessors settled for each pair."""
        return {pair: settled([each.relevance for each in judgments]) for pair, judgments in self.judged.items()}

    def position(self, chunk_id: str) -> Position:
        """Return the surroundings of a passage, empty if they are not known."""
        return self.positions.get(chunk_id, Position())

    def text(self, chunk_id: str) -> str:
        """Return a passage without the title that it is indexed with."""
        text = self.position(chunk_id).text
        return self.corpus[chunk_id] if text is None else text

    def language(self, query_id: str) -> str | None:
        """Return the language of a query, or None if the build noted none."""
        language = self.notes.get(query_id, {}).get("language")
        return language if isinstance(language, str) else None

    def cover(self, query_id: str, chunk_id: str) -> float:
        """Return the share of a query's content terms that a passage holds, 0 to 1."""
        language = self.language(query_id)
        terms = set(content_terms(self.asked[query_id].judged, language))
        return len(terms & index_terms(self.corpus[chunk_id], language)) / len(terms) if terms else 0.0


def load_reviewable(folder: Path) -> ReviewableSet:
    """Return the set in a folder, to be reviewed.

    Queries that wait for a label belong to it. Where a query has no pool, its pairs that are relevant or graded in
    ``dataset.json`` are its pool.

    Raises:
        InputError: There is no data set, or one of its files is damaged or refers to a missing item.
    """
    if not folder.is_dir():
        raise InputError(folder, "not a folder; give the folder of a build")
    home = GoldFolder(folder)
    if not (folder / DATASET).is_file() and (folder / BEIR_CORPUS).is_file():
        command = shell_command("import beir", "FOLDER", out="DIR")
        raise InputError(folder, f"is a BEIR folder; make a set of it: {command}")
    dataset = home.dataset()
    waiting = {query.query_id: query for query in home.waiting()}
    queries = dataset.queries | {query_id: query.text for query_id, query in waiting.items()}
    notes = notes_of_queries(folder) | {query_id: query.model_dump() for query_id, query in waiting.items()}
    review = dataset.metadata.get("review")
    data_sha = review.get("data_sha") if isinstance(review, Mapping) else None
    rows = tuple(_pool(home.pool, queries, dataset.corpus))
    pooled = {row.query_id for row in rows}
    pool = rows + tuple(
        PooledPair(query_id=query_id, chunk_id=chunk_id, origin=_origin(notes, query_id, chunk_id))
        for query_id in dataset.queries
        if query_id not in pooled
        for chunk_id in {
            **dict.fromkeys(dataset.relevant_docs.get(query_id, ())),
            **dict.fromkeys((dataset.relevance_scores or {}).get(query_id, {})),
        }
    )
    return ReviewableSet(
        folder=folder,
        queries=queries,
        corpus=dict(dataset.corpus),
        notes=notes,
        pool=pool,
        judgments=tuple(each for each in home.judgments.read_any() if each.canary is None),
        positions=_positions(home.chunks, dataset.corpus),
        data_sha=data_sha if isinstance(data_sha, str) and data_sha else _digest(notes, queries, dataset.corpus),
        rubric=home.rubric(),
        metadata=dict(dataset.metadata),
        answers={key: answer.model_dump(mode="json", exclude_none=True) for key, answer in dataset.answers.items()},
        asked=asked_queries(dataset) | {query_id: AskedQuery(query.text) for query_id, query in waiting.items()},
    )


def _pool(records: Records[PooledPair], queries: Mapping[str, str], corpus: Mapping[str, str]) -> Iterator[PooledPair]:
    """Yield the pool of the queries in the set; others may have been rejected since."""
    seen: set[Pair] = set()
    for number, pooled in enumerate(records.read_any(), 1):
        pair = pooled.query_id, pooled.chunk_id
        if pooled.query_id not in queries:
            continue
        if pooled.chunk_id not in corpus:
            raise InputError(records.path, f"names {pooled.chunk_id!r}, which is not in the corpus", line=number)
        if pair in seen:
            raise InputError(records.path, f"holds query {pair[0]!r} with {pair[1]!r} twice", line=number)
        seen.add(pair)
        yield pooled


def _origin(notes: Mapping[str, Mapping[str, Any]], query_id: str, chunk_id: str) -> Origin | None:
    source = notes.get(query_id, {}).get("chunk_id")
    if source is None:
        return None
    return Origin.SOURCE if source == chunk_id else Origin.NEAR_DUPLICATE


def _positions(chunks: Records[Chunk], corpus: Mapping[str, str]) -> dict[str, Position]:
    """Return the surroundings of each passage; chunks are stored in the order of their documents."""
    positions: dict[str, Position] = {}
    last: Chunk | None = None
    for chunk in chunks.read_any():
        before = None
        if last is not None and last.span.doc_id == chunk.span.doc_id:
            earlier = positions[last.chunk_id]
            before = earlier.text
            positions[last.chunk_id] = replace(earlier, after=_untitled(chunk, corpus))
        positions[chunk.chunk_id] = Position(
            chunk.title, chunk.headings, before, text=_untitled(chunk, corpus), span=chunk.span, own=chunk.text
        )
        last = chunk
    return positions


def _untitled(chunk: Chunk, corpus: Mapping[str, str]) -> str:
    indexed = corpus.get(chunk.chunk_id, chunk.text)
    return chunk.text if indexed.endswith(f"\n\n{chunk.text}") else indexed


def _digest(notes: Mapping[str, Mapping[str, Any]], queries: Mapping[str, str], corpus: Mapping[str, str]) -> str:
    """Return the digest of the corpus and of the queries as they were first worded."""
    worded = {query_id: note["text"] for query_id, note in notes.items() if isinstance(note.get("text"), str)}
    digest = hashlib.sha256()
    for part in (worded or queries, corpus):
        digest.update(b"\n")
        for key in sorted(part):
            digest.update(json.dumps([key, part[key]]).encode() + b"\n")
    return digest.hexdigest()
