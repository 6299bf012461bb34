"""A small graded set in German, Arabic and Chinese with a hostile query, two runs, and rejected queries."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from goldbench.formats.jsonl import RecordFile
from goldbench.formats.runs.trec import write_run
from goldbench.goldset.dataset import GoldContents, Passage, write_gold
from goldbench.goldset.publication import publish, staging
from goldbench.records.corpus import Chunk, Document, Span
from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.manifest import Manifest
from goldbench.records.query import Candidate, DroppedQuery, Query, QueryKind, Rejection
from goldbench.records.relevance import Relevance

SCRIPT = "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
ARABIC = "كم يبلغ ضغط الماء في الصمام MV-20؟"
ARABIC_TEXT = "يبلغ ضغط الماء في الصمام MV-20 ثلاثة بار (3 bar) عند درجة حرارة 20.\n\nافتح الصمام ببطء."
CHINESE = "阀门的最大水压是多少？"
CHINESE_TEXT = "阀门的最大水压是三巴。请慢慢打开阀门，并检查密封圈。"
GERMAN = "Wie hoch ist der Wasserdruck am Ventil?"
GERMAN_TEXT = (
    "## Ventil\n\nDer **Wasserdruck** am Ventil beträgt 3 bar.\n\n| Größe | Druck |\n| --- | --- |\n| MV-20 | 3 bar |\n"
    "\nÖffnen Sie das Ventil langsam. 😀 Prüfen Sie die Dichtung."
)
REASON = "It states the pressure & nothing <b>else</b>."
JUDGE = "judge-model/grade.v1"

TEXTS = {
    "de1": GERMAN_TEXT,
    "de2": "Die Garantie gilt zwei Jahre. " * 3,
    "de3": "Der Wasserdruck am Ventil beträgt 3 bar. Öffnen Sie das Ventil langsam und prüfen Sie die Dichtung. Bald.",
    "ar1": ARABIC_TEXT,
    "ar2": "تسري الضمانة سنتين من تاريخ الشراء.",
    "zh1": CHINESE_TEXT,
    "zh2": "保修期为两年。",
    "en1": f"Close the valve. {SCRIPT} \u202eright to left override and a [link](javascript:alert(1)).",
    "en2": "Warranty of two years, for pumps only.",
}
QUERIES = {
    "q-de": (GERMAN, "de1", "Der **Wasserdruck** am Ventil beträgt 3 bar.", "de"),
    "q-ar": (ARABIC, "ar1", "يبلغ ضغط الماء في الصمام MV-20 ثلاثة بار (3 bar)", "ar"),
    "q-zh": (CHINESE, "zh1", "阀门的最大水压是三巴。", "zh"),
    "q-x": (f"Which valve? {SCRIPT}", "en1", "Close the valve.", "en"),
}
GRADES = {"q-de": {"de1": 3, "de2": 0}, "q-ar": {"ar1": 3, "ar2": 0}, "q-zh": {"zh1": 3}, "q-x": {"en1": 2, "en2": 1}}
WORDS = {
    "q-de": {"de1": 9.0, "de3": 8.0, "de2": 1.0},
    "q-ar": {"ar1": 5.0, "ar2": 2.0},
    "q-zh": {"zh1": 5.0, "zh2": 2.0},
    "q-x": {"en2": 4.0, "en1": 3.0},
}
"""A run that finds everything in the first place, except for q-x."""
VECTORS = {
    "q-de": {"de3": 0.9, "en2": 0.8, "zh2": 0.7, "de2": 0.2, "de1": 0.1},
    "q-ar": {"ar2": 0.5, "zh2": 0.5, "ar1": 0.5},
    "q-x": {"zh1": 0.5, "zh2": 0.4},
}
"""A run that finds what it should at rank 5 (q-de), behind ties (q-ar) and not at all (q-x), and lacks q-zh."""


@dataclass
class _Parts:
    documents: list[Document] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    pooled: list[PooledPair] = field(default_factory=list)
    judged: list[Judgment] = field(default_factory=list)


def write_workbench_set(folder: Path, *, runs: bool = True) -> Path:
    """Write the set as a build and a grading leave it."""
    parts = _Parts()
    for chunk_id, text in TEXTS.items():
        doc_id, before = f"doc-{chunk_id}", "Vorwort. "
        parts.documents.append(
            Document(doc_id=doc_id, title=f"Heft {chunk_id}", text=before + text, source=f"{doc_id}.md")
        )
        span = Span(doc_id=doc_id, start=len(before), end=len(before) + len(text))
        parts.chunks.append(Chunk(chunk_id=chunk_id, span=span, text=text, title=f"Heft {chunk_id}"))
    for query_id in QUERIES:
        _add_query(parts, query_id)
    relevance = {one: {c: Relevance(g) for c, g in grades.items()} for one, grades in GRADES.items()}
    with staging(folder) as at:
        RecordFile.write(at / "0-documents.jsonl", Document, parts.documents)
        RecordFile.write(at / "1-chunks.jsonl", Chunk, parts.chunks)
        RecordFile.write(at / "3-queries.jsonl", Query, parts.queries)
        RecordFile.write(at / "3-rejections.jsonl", Rejection, _rejections())
        RecordFile.write(at / "4-pool.jsonl", PooledPair, parts.pooled)
        RecordFile.write(at / "4-judgments.jsonl", Judgment, parts.judged)
        RecordFile.write(at / "4-rejections.jsonl", DroppedQuery, [_dropped(parts.queries[0])])
        passages = [Passage(chunk.chunk_id, "", chunk.text, span=chunk.span) for chunk in parts.chunks]
        metadata = {"generator": "by hand", "evidence_level": "model", "notice": "A made-up set: <b>for tests</b>."}
        write_gold(at, GoldContents(parts.queries, lambda: passages, relevance, metadata))
        publish(at, folder, _manifest(len(parts.documents), len(parts.queries)))
    if runs:
        write_runs(folder)
    return folder


def write_runs(folder: Path) -> None:
    """Write both runs beside the set."""
    (folder / "runs").mkdir(exist_ok=True)
    write_run(folder / "runs" / "words.trec", WORDS, tag="words")
    write_run(folder / "runs" / "vectors.trec", VECTORS, tag="vectors")


def _add_query(parts: _Parts, query_id: str) -> None:
    text, chunk_id, quote, language = QUERIES[query_id]
    chunk = next(one for one in parts.chunks if one.chunk_id == chunk_id)
    start = chunk.text.index(quote)
    parts.queries.append(
        Query(
            query_id=query_id,
            text=text,
            chunk_id=chunk_id,
            generator="by hand",
            kind=QueryKind.FACT,
            language=language,
            answer="3 bar",
            evidence=(chunk.evidence(start, start + len(quote)),),
        )
    )
    for one, grade in GRADES[query_id].items():
        origin = Origin.SOURCE if one == chunk_id else None
        parts.pooled.append(PooledPair(query_id=query_id, chunk_id=one, ranks={"bm25": 1}, origin=origin))
        said = {"relevance": Relevance(grade), "assessor": JUDGE, "rationale": REASON if grade else "Another subject."}
        parts.judged.append(Judgment(query_id=query_id, chunk_id=one, evidence=quote if grade > 1 else "", **said))


def _rejections() -> list[Rejection]:
    copied = Candidate(chunk_id="de1", text="Wie hoch ist er dort?", generator="by hand", language="de")
    reason = "it points at something its reader cannot see: 'dort'"
    return [
        Rejection(chunk_id="de1", filter="deixis", reason=reason, candidate=copied),
        Rejection(chunk_id="de2", filter="skipped", reason="no query proposed"),
    ]


def _dropped(query: Query) -> DroppedQuery:
    other = query.model_copy(update={"query_id": "q-dropped", "text": "Wie alt ist das Ventil?"})
    return DroppedQuery(
        position=1, filter="judge-check", reason="no chunk of its pool of 2 is graded 2 or more", query=other
    )


def _manifest(documents: int, queries: int) -> Manifest:
    return Manifest(
        goldbench="0",
        created="2026-01-01T00:00:00+00:00",
        seconds=0,
        generator="by hand",
        evidence_level="model",
        config_sha256="0" * 64,
        documents=documents,
        queries=queries,
        stages=[],
    )
