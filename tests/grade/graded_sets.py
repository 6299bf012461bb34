"""A small set whose every grade is known: subjects with a passage that answers, one that helps, one that does not.

Written as a build writes it, so that grading reads it as it reads any build.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldbench.config import Config, load_config
from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.dataset import GoldContents, Passage, write_gold
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.publication import publish, staging
from goldbench.grade.panel import ModelPanel
from goldbench.grade.pool import Pools
from goldbench.grade.session import GradingRequest, GradingResult, Work, grade_folder
from goldbench.ports import Retriever
from goldbench.records.corpus import Chunk, Document, Evidence, Span
from goldbench.records.manifest import Manifest
from goldbench.records.query import Query
from goldbench.records.relevance import Relevance
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.system_settings import Analyzer, BM25Settings
from goldbench.retrieval.tokens import tokenizer
from goldbench.score.runs import load_run
from tests.benchmarks.build_speed import Clock
from tests.model_server.fixture import ServerHandle

SUBJECTS = (
    *("pump", "valve", "filter", "boiler", "sensor", "cable", "ladder", "hatch", "crane", "engine", "rudder", "anchor"),
    *("winch", "bilge", "galley", "mast", "keel", "buoy", "funnel", "radar", "compass", "sextant", "hawser", "capstan"),
    *("davit", "gangway", "bulkhead", "porthole", "scupper", "stanchion"),
)
TEXTS = (
    "The {it} must be greased every {n} weeks by the deck crew. Whoever greases the {it} notes the date in book {n}.",
    "Weekly work includes the {it}, greased in rotation with other gear. See book {n} for the rotation of this watch.",
    "The {it} was delivered in nineteen {n} by a yard in the north. Its colour is grey and its weight is {n} tonnes.",
    "Cook {n} peels potatoes at dawn while gulls circle over the harbour, and nobody thinks of the day ahead of them.",
)
GRADES = (3, 2, 1, 0)


@dataclass(frozen=True)
class KnownSet:
    """A set in a folder; ``truth`` is by the texts of query and passage, as the judge of the test server takes it."""

    folder: Path
    truth: dict[str, dict[str, int]]
    ids: dict[str, dict[str, int]]
    texts: dict[str, str]


def write_set(
    folder: Path, *, subjects: int = 8, extra: Mapping[str, str] | None = None, answers: bool = True
) -> KnownSet:
    """Write a set of so many subjects; ``extra`` are more documents by id, relevant to nothing."""
    documents, queries, truth, ids = [], [], {}, {}
    for number, it in enumerate(SUBJECTS[:subjects]):
        texts = [text.format(it=it, n=number + 31) for text in TEXTS]
        documents += [document(f"{it}-{grade}", text) for grade, text in zip(GRADES, texts, strict=True)]
        quote = texts[0].split(". ")[0] + "."
        queries.append(
            Query(
                query_id=f"q-{it}",
                chunk_id=f"{it}-3:0-{len(texts[0])}",
                text=f"how often is the {it} greased",
                generator="test",
                evidence=(Evidence(doc_id=f"{it}-3", start=0, end=len(quote), quote=quote),),
                answer=f"every {number + 31} weeks" if answers else None,
                language="en",
            )
        )
        truth[queries[-1].text] = dict(zip(texts, GRADES, strict=True))
        ids[queries[-1].query_id] = {
            f"{it}-{grade}:0-{len(text)}": grade for grade, text in zip(GRADES, texts, strict=True)
        }
    documents += [document(name, text) for name, text in (extra or {}).items()]
    chunks = [chunk(item) for item in documents]
    with staging(folder) as place:
        RecordFile.write(place / "0-documents.jsonl", Document, documents)
        RecordFile.write(place / "1-chunks.jsonl", Chunk, chunks)
        RecordFile.write(place / "3-queries.jsonl", Query, queries)
        relevance = {query.query_id: {query.chunk_id: Relevance.ANSWERS} for query in queries}
        corpus = [Passage(chunk_id=item.chunk_id, title="", text=item.text, span=item.span) for item in chunks]
        write_gold(place, GoldContents(queries, lambda: corpus, relevance, {"evidence_level": "model"}))
        manifest = Manifest(
            goldbench="0", created="2026-01-01T00:00:00+00:00", seconds=0.0, generator="test", evidence_level="model",
            config_sha256="c", documents=len(documents), queries=len(queries), stages=[],
        )  # fmt: skip
        publish(place, folder, manifest)
    return KnownSet(folder, truth, ids, {item.chunk_id: item.text for item in chunks})


def document(doc_id: str, text: str) -> Document:
    return Document(doc_id=doc_id, title="", text=text, source=doc_id)


def chunk(source: Document) -> Chunk:
    end = len(source.text)
    return Chunk(
        chunk_id=f"{source.doc_id}:0-{end}", span=Span(doc_id=source.doc_id, start=0, end=end), text=source.text
    )


def retrievers() -> dict[str, Retriever]:
    """Two real ones, which take no time to build."""
    return {
        "bm25": BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE)),
        "stems": BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE, language="en")),
    }


def settings(server: ServerHandle, *, model: Mapping[str, Any] | None = None, **grade: Any) -> Config:
    told = {"name": "m", "base_url": server.base_url, "concurrency": 8, **(model or {})}
    return load_config(None, {"model": told, "grade": {"depth": 5, **grade}})


def grade(
    folder: Path,
    config: Config,
    *,
    store: Path | None = None,
    runs: Mapping[str, Path] | None = None,
    again: bool = False,
    replace: bool = False,
    force: bool = False,
    said: list[str] | None = None,
    feedback: Mapping[str, Sequence[str]] | None = None,
    people: Mapping[str, Mapping[str, int]] | None = None,
    batch: bool = False,
) -> GradingResult:
    """Grade a folder in this process, over real HTTP."""
    store = store or folder.parent / "answers.sqlite"
    pools = Pools(
        tuple(retrievers()),
        lambda _: retrievers(),
        {name: load_run(path) for name, path in (runs or {}).items()},
        again=again or people is not None,
        feedback=feedback or {},
    )
    say = (said if said is not None else []).append
    work = Work(
        panel=ModelPanel(config, store, batches=say if batch else None, rubric=GoldFolder(folder).rubric()),
        pools=pools,
        progress=Clock(),
        say=say,
        options=GradingRequest(replace=replace, force=force, people=people),
    )
    return asyncio.run(grade_folder(folder, work))


def artifacts(folder: Path) -> dict[str, bytes]:
    """Return every file of a set but its manifest, which holds times."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    left_out = {"manifest.json", ".lock"}
    return {name: data for name, data in found.items() if name not in left_out}


__all__ = ["KnownSet", "artifacts", "grade", "retrievers", "settings", "write_set"]
