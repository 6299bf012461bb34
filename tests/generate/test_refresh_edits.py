"""Random edits of documents, then ``goldbench refresh``: held against a plain search, and repeated without effect."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, Goldbench
from tests.document_edits import edited
from tests.generate.test_build import artifacts

EXAMPLE = ROOT / "data" / "example" / "documents"
CHUNKS = ("--chunk-size", "300", "--chunk-overlap", "30")


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def write(folder: Path, texts: dict[str, str]) -> None:
    """Make a folder hold these files and no others."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def labels(run: Path) -> dict[tuple[str, str], int]:
    rows = (line.split() for line in (run / "trec" / "qrels.txt").read_text(encoding="utf-8").splitlines())
    return {(query_id, chunk_id): int(grade) for query_id, _, chunk_id, grade in rows}


def check_refreshed(before: Path, after: Path) -> tuple[int, int]:
    """Compare a set with the one before the edits; return how many queries were kept and how many retired."""
    documents = {row["doc_id"]: str(row["text"]) for row in lines(after / "0-documents.jsonl")}
    texts = {row["chunk_id"]: " ".join(str(row["text"]).split()) for row in lines(after / "1-chunks.jsonl")}
    spans = {row["chunk_id"]: row["span"] for row in lines(after / "1-chunks.jsonl")}
    old_texts = {row["chunk_id"]: " ".join(str(row["text"]).split()) for row in lines(before / "1-chunks.jsonl")}
    now = {row["query_id"]: row for row in lines(after / "3-queries.jsonl")}
    held = {row["query_id"]: row for row in lines(before / "3-queries.jsonl")}
    retired = retired_from(after)[len(retired_from(before)) :]
    assert held.keys() == (now.keys() & held.keys()) | set(retired)
    for query_id, query in held.items():
        quotes = [one["quote"] for one in query["evidence"]]
        stands = all(sum(text.count(quote) for text in documents.values()) == 1 for quote in quotes)
        assert query_id in now or not stands, query
        if query_id in now:
            assert now[query_id]["text"] == query["text"]
            assert [one["quote"].split() for one in now[query_id]["evidence"]] == [quote.split() for quote in quotes]
    judged = {(query_id, old_texts[chunk_id], grade) for (query_id, chunk_id), grade in labels(before).items()}
    for (query_id, chunk_id), grade in labels(after).items():
        if query_id in held and (query_id, texts[chunk_id], grade) not in judged:
            place = spans[chunk_id]
            assert any(
                one["doc_id"] == place["doc_id"] and one["start"] < place["end"] and place["start"] < one["end"]
                for one in now[query_id]["evidence"]
            ) or any(" ".join(one["quote"].split()) in texts[chunk_id] for one in now[query_id]["evidence"])
    return len(now.keys() & held.keys()), len(retired)


def retired_from(run: Path) -> list[str]:
    """Return the ids of the queries that left a set, in all its refreshes."""
    rows = lines(run / "3-retired.jsonl") if (run / "3-retired.jsonl").is_file() else []
    return [row["query"]["query_id"] for row in rows]


@pytest.mark.slow
def test_after_random_edits_of_the_example_the_queries_that_stand_are_kept(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(EXAMPLE.rglob("*.md"))}
    write(tmp_path / "docs", texts)
    done = goldbench("build", "docs", "--out", "run0", "--generator", "simulated", "--queries", "60", *CHUNKS)
    assert done.returncode == 0, done.stderr
    chance = random.Random(0)
    for turn in range(2):
        write(tmp_path / "docs", edited(read(tmp_path / "docs"), chance, 60))
        before, after = tmp_path / f"run{turn}", tmp_path / f"run{turn + 1}"
        shutil.copytree(before, after)
        done = goldbench("refresh", after.name)
        assert done.returncode == 0, done.stderr
        kept, retired = check_refreshed(before, after)
        assert kept > retired
        checked = goldbench("validate", after.name)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        first = artifacts(after)
        assert goldbench("refresh", after.name).returncode == 0
        assert artifacts(after) == first
