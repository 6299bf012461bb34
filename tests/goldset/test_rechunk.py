"""``goldbench rechunk``: the same queries on another chunking, there and back, with nobody asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench import build
from goldbench.errors import GoldbenchError
from goldbench.formats.documents.worker_pool import Item, Workers
from goldbench.formats.jsonl import RecordFile
from goldbench.goldset import projection
from goldbench.goldset.integrity import validate
from goldbench.goldset.projection import rechunk, write_rechunked
from goldbench.records.judgment import Judgment
from goldbench.records.relevance import Relevance
from tests.conftest import ROOT, Goldbench

EXAMPLE = ROOT / "data" / "example" / "documents" / "manual"


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gold(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "dataset.json").read_text(encoding="utf-8"))
    return loaded


def share(chunk: dict[str, Any], evidence: dict[str, Any]) -> float:
    """How much of the evidence a chunk holds, 0 to 1."""
    if chunk["doc_id"] != evidence["doc_id"]:
        return 0.0
    held = min(chunk["end"], evidence["end"]) - max(chunk["start"], evidence["start"])
    return max(0, held) / (evidence["end"] - evidence["start"])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rechunk") / "run"
    build(EXAMPLE, out=folder, queries=30, generator="simulated", progress=False)
    return folder


def test_labels_follow_the_evidence_and_come_back_as_they_were(goldbench: Goldbench, run: Path, tmp_path: Path) -> None:
    done = goldbench("rechunk", run, "--chunk-size", 250, "--out", "other")
    assert done.returncode == 0, done.stderr
    other = tmp_path / "other"
    assert validate(other).problems == ()
    spans = {chunk["chunk_id"]: chunk["span"] for chunk in lines(other / "1-chunks.jsonl")}
    relevant = gold(other)["relevant_docs"]
    assert all(query["difficulty"] for query in lines(run / "3-queries.jsonl"))
    for query in lines(other / "3-queries.jsonl"):
        assert query.get("difficulty") is None, "measured on other passages"
        held = [[share(spans[c], e) for e in query["evidence"]] for c in relevant[query["query_id"]]]
        assert all(max(row) >= 0.5 for row in held), "a positive without half of any evidence"
        assert all(max(column) >= 0.5 for column in zip(*held, strict=True)), "evidence in no positive"
    in_memory = rechunk(run, size=250, overlap=25)
    assert in_memory.corpus == gold(other)["corpus"]
    assert in_memory.qrels == gold(other)["relevance_scores"]
    write_rechunked(other, tmp_path / "back", size=1000, overlap=100)
    was, now = gold(run), gold(tmp_path / "back")
    for key in ("queries", "corpus", "relevant_docs", "relevance_scores"):
        assert was[key] == now[key]


def test_queries_that_no_chunk_can_answer_are_listed_and_come_back(
    goldbench: Goldbench, run: Path, tmp_path: Path
) -> None:
    done = goldbench("rechunk", run, "--chunk-size", 30, "--chunk-overlap", 0, "--out", "tiny")
    assert done.returncode == 0, done.stderr
    left_out = lines(tmp_path / "tiny" / "3-rejections.jsonl")
    assert left_out
    assert all(row["filter"] == "not-projected" for row in left_out)
    assert "left out q" in done.stderr
    assert len(gold(tmp_path / "tiny")["queries"]) == 30 - len(left_out)
    write_rechunked(tmp_path / "tiny", tmp_path / "back", size=1000, overlap=100)
    assert gold(tmp_path / "back")["relevant_docs"] == gold(run)["relevant_docs"]


def test_what_was_graded_goes_along(run: Path, tmp_path: Path) -> None:
    graded = tmp_path / "graded"
    shutil.copytree(run, graded)
    data = gold(graded)
    query_id = next(iter(data["queries"]))
    last_lines = {chunk_id: text.splitlines()[-1] for chunk_id, text in data["corpus"].items()}
    free = (chunk_id for chunk_id in last_lines if chunk_id not in data["relevance_scores"][query_id])
    other = next(chunk_id for chunk_id in free if len(last_lines[chunk_id].split()) >= 8)
    quote = last_lines[other]
    data["relevance_scores"][query_id][other] = 2
    data["relevant_docs"][query_id].append(other)
    (graded / "dataset.json").write_text(json.dumps(data), encoding="utf-8")
    judgment = Judgment(query_id=query_id, chunk_id=other, relevance=Relevance.HELPS, assessor="judge", evidence=quote)
    RecordFile.write(graded / "4-judgments.jsonl", Judgment, [judgment])
    found = rechunk(graded, size=400, overlap=40)
    carrying = [chunk_id for chunk_id, grade in found.qrels[query_id].items() if grade == 2]
    assert carrying
    assert any(quote.split()[0] in found.corpus[chunk_id] for chunk_id in carrying)


def test_what_is_asked_wrongly_is_one_line_and_writes_nothing(run: Path, tmp_path: Path) -> None:
    for folder, out, size, overlap, said in [
        (run, tmp_path / "x", 0, 0, "chunk size 0"),
        (run, tmp_path / "x", 100, 100, "overlap 100"),
        (run, run, 100, 10, "is the run itself"),
        (tmp_path / "nowhere", tmp_path / "x", 100, 10, "not found; give the folder of a gold set"),
        (run, tmp_path / "x", 1, 0, "no query can be projected"),
    ]:
        with pytest.raises(GoldbenchError, match=said) as raised:
            write_rechunked(folder, out, size=size, overlap=overlap)
        assert "\n" not in str(raised.value)
    assert list(tmp_path.glob("[!.]*")) == []


class LateOverTheFirst(Workers):
    """Workers that take too long over the first document."""

    def answers(self, items: Iterable[Item]) -> Generator[Iterator[dict[str, Any]]]:
        late = {"problem": "took more than 60 s: raise documents.seconds, or leave the file out"}
        for number, answer in enumerate(super().answers(items)):
            yield answer if number else iter([late])


def test_a_document_that_cannot_be_cut_is_named_and_the_others_are_cut(
    goldbench: Goldbench, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *others = lines(run / "0-documents.jsonl")
    monkeypatch.setattr(projection, "Workers", LateOverTheFirst)
    done = goldbench("rechunk", run, "--chunk-size", 500, "--out", "other")
    assert done.returncode == 0, done.stderr
    line = f"{first['source']}: cannot be cut into chunks: it took more than 60 s"
    assert f"skipped {line}\n" in done.stderr
    manifest = json.loads((tmp_path / "other" / "manifest.json").read_text(encoding="utf-8"))
    assert [failure["message"] for failure in manifest["failures"]] == [line]
    assert [stage["failed"] for stage in manifest["stages"]] == [1, 0]
    cut = {chunk["span"]["doc_id"] for chunk in lines(tmp_path / "other" / "1-chunks.jsonl")}
    assert cut == {document["doc_id"] for document in others}
    with pytest.raises(GoldbenchError, match="cut into chunks: it took more than 60 s; leave this chunk size out"):
        rechunk(run, size=500, overlap=50)
