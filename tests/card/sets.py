"""Small gold sets for tests of the card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldbench.records.judgment import Judgment, Origin, PooledPair
from goldbench.records.relevance import Relevance

TOPICS = (
    "pump filter water valve pressure", "tractor harvest wheat field combine", "violin orchestra concerto bow string",
    "glacier moraine ice crevasse snow", "invoice ledger payment tax account", "enzyme protein cell membrane receptor",
)  # fmt: skip


def write_dataset(folder: Path, *, queries: Mapping[str, str], corpus: Mapping[str, str], **more: Any) -> Path:
    """Write a ``dataset.json`` and return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    dataset = {"queries": dict(queries), "corpus": dict(corpus), "mode": "text", **more}
    (folder / "dataset.json").write_text(json.dumps(dataset), encoding="utf-8")
    return folder


def topical(count: int) -> tuple[dict[str, str], dict[str, str], dict[str, list[str]]]:
    """Return queries, passages and labels: one passage in ten answers each query, some hard to find."""
    corpus, queries, relevant = {}, {}, {}
    for number in range(count * 2):
        words = TOPICS[number % len(TOPICS)].split()
        turned = words[number % 5 :] + words[: number % 5]
        corpus[f"d{number}"] = f"The {turned[0]} and the {turned[1]} of item{number} need a {turned[2]} number{number}."
    for number in range(count):
        words = TOPICS[number % len(TOPICS)].split()
        rare = f"item{number}" if number % 3 else f"number{number + 1}"
        queries[f"q{number}"] = f"what does the {words[number % 5]} of {rare} need"
        relevant[f"q{number}"] = [f"d{number}"]
    return queries, corpus, relevant


def graded(folder: Path, *, fooled: int = 0, canaries: int = 20) -> Path:
    """Write a graded set: a pool of two retrievers, a judge, canaries of which some were graded 3."""
    queries, corpus, relevant = topical(12)
    scores: dict[str, dict[str, int]] = {}
    pool, judgments = [], []
    for number, query_id in enumerate(queries):
        source, other, third = relevant[query_id][0], f"d{number + 12}", f"d{(number + 3) % 24}"
        scores[query_id] = {source: 3, other: 1, third: 0}
        pool += [
            PooledPair(query_id=query_id, chunk_id=source, ranks={"bm25": 1}, origin=Origin.SOURCE),
            PooledPair(query_id=query_id, chunk_id=other, ranks={"bm25": 2, "lsi": 1}),
            PooledPair(query_id=query_id, chunk_id=third, ranks={"lsi": 2}),
        ]
        judgments += [
            Judgment(query_id=query_id, chunk_id=chunk_id, relevance=Relevance(grade), assessor="gpt-x/grade.v1")
            for chunk_id, grade in scores[query_id].items()
        ]
    judgments.append(judgments[0].model_copy(update={"assessor": "qwen3/grade.v1", "relevance": Relevance.SAME_TOPIC}))
    judgments += [
        Judgment(query_id=f"q{number % 12}", chunk_id=f"d{number}", assessor="gpt-x/grade.v1", canary="unrelated",
                 relevance=Relevance.ANSWERS if number < fooled else Relevance.UNRELATED)
        for number in range(canaries)
    ]  # fmt: skip
    write_dataset(folder, queries=queries, corpus=corpus, relevant_docs=relevant, relevance_scores=scores)
    for name, records in (("4-pool.jsonl", pool), ("4-judgments.jsonl", judgments)):
        lines = (record.model_dump_json(exclude_defaults=True) + "\n" for record in records)
        (folder / name).write_text("".join(lines), encoding="utf-8")
    notes = [{"query_id": query_id, "chunk_id": docs[0], "language": "en"} for query_id, docs in relevant.items()]
    (folder / "3-queries.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes), encoding="utf-8")
    return folder
