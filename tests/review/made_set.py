"""A small graded set as a build leaves it, people whose true grades are known, and a ledger of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.dataset import GoldContents, Passage, write_gold
from goldbench.goldset.publication import publish, staging
from goldbench.prompts.rubric import DEFAULT
from goldbench.records.corpus import Chunk, Document, Evidence, Span
from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.manifest import Manifest
from goldbench.records.query import Query, QueryKind, QueryStyle
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Event, EventKind, Lane
from goldbench.review.ledger import Ledger, open_ledger
from goldbench.review.meanings import SetMeanings
from goldbench.review.queue import QueueItem, QueueSettings, make_queue
from goldbench.review.reviewable_set import ReviewableSet, load_reviewable

Grades = dict[tuple[str, str], int]

TOO_GENEROUS = {0: [0.9, 0.1, 0, 0], 1: [0.4, 0.3, 0.2, 0.1], 2: [0.1, 0.2, 0.4, 0.3], 3: [0, 0.1, 0.2, 0.7]}
"""How the model grades what people grade 0 to 3."""


@dataclass(frozen=True)
class Made:
    """The folder, and what people would say of every pair."""

    folder: Path
    truth: Grades
    model: Grades


def make_set(folder: Path, *, queries: int = 30, pool: int = 8, seed: int = 1) -> Made:
    """Write a set of one document per query, and a pool whose first chunk is the source."""
    rng = np.random.default_rng(seed)
    documents, chunks, asked, pooled, judged = [], [], [], [], []
    truth: Grades = {}
    model: Grades = {}
    for number in range(queries):
        parts = [f"Passage {number}-{part} speaks of matter {number * 7 % 11}. " for part in range(pool)]
        text = "".join(parts)
        doc_id = f"d{number:03d}"
        documents.append(Document(doc_id=doc_id, title=f"Document {number}", text=text, source=f"{doc_id}.txt"))
        place = 0
        for part, words in enumerate(parts):
            span = Span(doc_id=doc_id, start=place, end=place + len(words))
            chunks.append(Chunk(chunk_id=f"c{number:03d}-{part}", span=span, text=words, title=f"Document {number}"))
            place += len(words)
        first = chunks[-pool]
        query = Query(
            query_id=f"q{number:03d}",
            text=f"What of matter {number}?",
            chunk_id=first.chunk_id,
            generator="by hand",
            kind=list(QueryKind)[number % 3],
            style=list(QueryStyle)[number % 2],
            evidence=(Evidence(doc_id=doc_id, start=0, end=len(parts[0]), quote=parts[0]),),
        )
        asked.append(query)
        for part in range(pool):
            pair = query.query_id, f"c{number:03d}-{part}"
            truth[pair] = 3 if part == 0 else int(rng.choice(4, p=[0.55, 0.2, 0.15, 0.1]))
            model[pair] = 3 if part == 0 else int(rng.choice(4, p=TOO_GENEROUS[truth[pair]]))
            origin = Origin.SOURCE if part == 0 else None
            pooled.append(PooledPair(query_id=pair[0], chunk_id=pair[1], ranks={"bm25": part + 1}, origin=origin))
            judged.append(
                Judgment(query_id=pair[0], chunk_id=pair[1], relevance=Relevance(model[pair]), assessor="m/grade.v1")
            )
    relevance = {
        query.query_id: {c: Relevance(g) for (q, c), g in model.items() if q == query.query_id} for query in asked
    }
    with staging(folder) as at:
        RecordFile.write(at / "0-documents.jsonl", Document, documents)
        RecordFile.write(at / "1-chunks.jsonl", Chunk, chunks)
        RecordFile.write(at / "3-queries.jsonl", Query, asked)
        RecordFile.write(at / "4-pool.jsonl", PooledPair, pooled)
        RecordFile.write(at / "4-judgments.jsonl", Judgment, judged)
        passages = [Passage(chunk.chunk_id, chunk.title, chunk.text, span=chunk.span) for chunk in chunks]
        metadata = {"generator": "by hand", "evidence_level": "model"}
        write_gold(at, GoldContents(asked, lambda: passages, relevance, metadata))
        manifest = Manifest(
            goldbench="0",
            created="2026-01-01T00:00:00+00:00",
            seconds=0,
            generator="by hand",
            evidence_level="model",
            config_sha256="0" * 64,
            documents=queries,
            queries=queries,
            stages=[],
        )
        publish(at, folder, manifest)
    return Made(folder, truth, model)


def ledger_of(folder: Path, path: Path | None = None) -> tuple[ReviewableSet, Ledger]:
    """Return the material of a folder and its ledger, open."""
    material = load_reviewable(folder)
    own = SetMeanings(material)
    return material, open_ledger(path or folder / "review.sqlite", data_sha=material.data_sha, meanings=own)


def queue_of(material: ReviewableSet, **settings: int) -> tuple[QueueItem, ...]:
    return make_queue(material.pool, material.judgments, settings=QueueSettings(**settings))  # type: ignore[arg-type]


def event(material: ReviewableSet, kind: EventKind, query_id: str, **values: object) -> Event:
    """Return an event of somebody, with an id that its content gives it."""
    chosen = {
        "annotator": "ann",
        "at": "2026-01-01T00:00:00+00:00",
        "ms": 2000 if "grade" in values else None,
        **values,
    }
    name = "-".join(str(part) for part in (kind.value, query_id, *sorted(map(str, chosen.values()))))
    client = "".join(c if c.isalnum() else "_" for c in name)[-60:]
    chosen.setdefault("client_id", f"test{client}"[:64])
    return Event(kind=kind, query_id=query_id, rubric_sha=DEFAULT.sha, data_sha=material.data_sha, **chosen)  # type: ignore[arg-type]


def judgments(
    material: ReviewableSet,
    items: Iterable[QueueItem],
    truth: Grades,
    *,
    annotator: str = "ann",
    slips: float = 0.0,
    seed: int = 0,
) -> list[Event]:
    """Return what somebody says of the items of a queue: the truth, but for slips by one grade."""
    rng = np.random.default_rng(seed)
    found = []
    for number, item in enumerate(items):
        grade = truth[item.pair]
        if rng.random() < slips:
            grade = min(3, max(0, grade + int(rng.choice([-1, 1]))))
        found.append(
            event(
                material,
                EventKind.JUDGE,
                item.query_id,
                chunk_id=item.chunk_id,
                grade=Relevance(grade),
                lane=item.lane,
                inclusion=item.inclusion,
                annotator=annotator,
                ms=900 + 10 * number,
                client_id=sha256(f"{annotator} {item.query_id} {item.chunk_id}".encode()).hexdigest(),
            )
        )
    return found


def only(items: Iterable[QueueItem], *lanes: Lane) -> list[QueueItem]:
    return [item for item in items if item.lane in lanes]
