"""A small graded data set for the page, with texts that tell where they should not be seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from goldbench.records.corpus import Chunk, Span
from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.relevance import Relevance

JUDGE, SYSTEM = "secret-model/grade.v1", "secret-system"
RATIONALE = "a rationale nobody may see"
SCRIPT = "<script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"


def write_set(
    folder: Path,
    *,
    queries: int = 4,
    passages: int = 5,
    graded: bool = True,
    chunks: bool = True,
    members: Mapping[str, object] | None = None,
) -> Path:
    """Write a build folder as grading leaves it: every query with passages of all grades.

    ``members`` are the members of ``dataset.json`` that only some sets have.
    """
    folder.mkdir(parents=True, exist_ok=True)
    asked = {f"q{q:03}": f"How does machine {q} turn its wheel?" for q in range(queries)}
    texts = {
        f"c{q:03}-{c}": f"Passage {c}: machine {q} turns the wheel by a belt that is {c} metres long. "
        f"It was built in 19{c:02}. The quote of {q}-{c} ends here."
        for q in range(queries)
        for c in range(passages)
    }
    grades = {(f"q{q:03}", f"c{q:03}-{c}"): _grade(q, c) for q in range(queries) for c in range(passages)}
    scores = {q: {c: int(g) for (of, c), g in grades.items() if of == q} for q in asked}
    dataset = {
        "queries": asked,
        "corpus": texts,
        "relevant_docs": {q: [c for c, g in scores[q].items() if g >= 2] for q in asked},
        "mode": "text",
        "relevance_scores": scores,
        **(members or {}),
        "metadata": {},
    }
    (folder / "dataset.json").write_text(json.dumps(dataset))
    if graded:
        _lines(folder / "4-pool.jsonl", [_pooled(q, c) for q, c in grades])
        _lines(folder / "4-judgments.jsonl", [_judged(pair, grade, texts) for pair, grade in grades.items()])
    if chunks:
        _lines(folder / "1-chunks.jsonl", [_chunk(name, text, passages) for name, text in texts.items()])
    return folder


def judge_grades(folder: Path) -> Mapping[tuple[str, str], int]:
    """Return what the made-up judge said."""
    lines = (json.loads(line) for line in (folder / "4-judgments.jsonl").read_text().splitlines())
    return {(line["query_id"], line["chunk_id"]): line["relevance"] for line in lines}


def _grade(q: int, c: int) -> Relevance:
    return Relevance.ANSWERS if c == 0 else Relevance((q + c) % 4)


def _pooled(query_id: str, chunk_id: str) -> PooledPair:
    rank = int(chunk_id.rpartition("-")[2]) + 1
    return PooledPair(
        query_id=query_id, chunk_id=chunk_id, ranks={SYSTEM: rank}, origin=Origin.SOURCE if rank == 1 else None
    )


def _judged(pair: tuple[str, str], grade: Relevance, texts: Mapping[str, str]) -> Judgment:
    quote = texts[pair[1]].rpartition(". ")[2]
    return Judgment(
        query_id=pair[0], chunk_id=pair[1], relevance=grade, assessor=JUDGE, rationale=RATIONALE, evidence=quote
    )


def _chunk(name: str, text: str, passages: int) -> Chunk:
    q, c = name[1:].split("-")
    start = 1000 * (int(q) * passages + int(c))
    return Chunk(
        chunk_id=name,
        span=Span(doc_id=f"d{q}", start=start, end=start + len(text)),
        text=text,
        headings=("Machines", f"Machine {q}"),
        title="Handbook",
    )


def _lines(path: Path, records: list[PooledPair] | list[Judgment] | list[Chunk]) -> None:
    path.write_text("".join(record.model_dump_json() + "\n" for record in records), encoding="utf-8")
