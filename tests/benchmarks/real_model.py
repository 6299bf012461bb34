"""What a real model writes about documents of this project: requests, tokens, and a sheet for a person's verdicts.

``MODEL=FILE.gguf python -m tests.benchmarks real_model``, or the name of a model with ``OPENAI_BASE_URL``. The replies
lie in ``build/real_model.jsonl`` afterwards; ``tests/stages/real_model/replies.jsonl`` holds some with verdicts.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import goldbench
from goldbench.goldset.folder import GoldFolder
from goldbench.text.title_path import title_path
from tests.benchmarks.rows import heading, row

ROOT = Path(__file__).parents[2]
SHEET = ROOT / "build/real_model.jsonl"
DOCUMENTS = {
    "en": (ROOT / "data/example/documents/manual", 800),
    "zh": (ROOT / "data/example/documents/zh", 300),
    "de": (ROOT / "tests/stages/real_model/schleuse.md", 500),
}
"""Documents by language, and the characters of a passage."""
QUERIES = 20
MOST_REQUESTS, MOST_READ, MOST_WRITTEN = 1.5, 700, 60


def main() -> None:
    """Build a set in each language, print what it cost, and write the sheet."""
    model = os.environ.get("MODEL") or sys.exit("name a model: MODEL=FILE.gguf, or a name with OPENAI_BASE_URL")
    heading()
    SHEET.parent.mkdir(exist_ok=True)
    with SHEET.open("w", encoding="utf-8") as sheet:
        for language, (documents, size) in DOCUMENTS.items():
            gold = SHEET.with_name(f"real_model-{language}")
            seconds = _build(documents, gold, model, size)
            _say(language, gold, seconds)
            for record in _replies(gold, language):
                sheet.write(json.dumps(record, ensure_ascii=False) + "\n")


def _build(documents: Path, gold: Path, model: str, size: int) -> float:
    start = time.perf_counter()
    goldbench.build(
        documents, out=gold, replace=True, model=model, prompt_style="short", queries=QUERIES, chunk_size=size,
        answers=gold.with_suffix(".sqlite"), config={"generate": {"styles": {"question": 1}}},
    )  # fmt: skip
    return time.perf_counter() - start


def _say(language: str, gold: Path, seconds: float) -> None:
    home = GoldFolder(gold)
    usage = home.manifest().usage["generate"]
    count = max(1, len(list(home.queries.read())))
    per_query = (usage.requests + usage.replayed) / count
    row(f"{language}: requests per query", f"{per_query:.2f}", "", "1.5", met=per_query <= MOST_REQUESTS)
    read, written = usage.input_tokens / count, usage.output_tokens / count
    is_met = read <= MOST_READ and written <= MOST_WRITTEN
    row(f"{language}: tokens per query", f"{read:,.0f} + {written:,.0f}", "", "700 + 60", met=is_met)
    row(f"{language}: seconds per query", f"{seconds / count:.1f}", "", "", met=True)


def _replies(gold: Path, language: str) -> Iterator[dict[str, Any]]:
    """Yield each reply with its passage; a person adds the verdict: good, off or bad."""
    home = GoldFolder(gold)
    chunks = {chunk.chunk_id: chunk for chunk in home.chunks.read()}
    for candidate in home.candidates.read():
        chunk = chunks[candidate.chunk_id]
        yield {
            "language": language,
            "title": title_path(chunk),
            "passage": chunk.text,
            "evidence": candidate.quote,
            "query": candidate.text,
            "answer": candidate.answer,
            "mean_logprob": candidate.mean_logprob,
            "verdict": None,
        }
