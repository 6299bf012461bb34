"""Experiments that others published, run again: hit rates and MRR of 433 chunks, the example of War and Peace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from goldbench.records.experiment import Experiment
from tests.bench.published_experiment import bench_toml, published
from tests.conftest import Goldbench

EXPECTED = {"ik": [0.7944, 0.8474, 0.9003, 0.9252, 0.9346], "standard": [0.7664, 0.8442, 0.8723, 0.9097, 0.9315]}
"""Hit rates at 1 to 5, measured with another implementation of Lucene's formula; near-ties fall otherwise there."""

QUERIES = 321


@pytest.fixture
def golden(collections: Path) -> Path:
    folder = collections.parent / "golden"
    if not (folder / "seed_examples.json").exists():
        pytest.skip(f"the worked examples are not at {folder}")
    return folder


def needs(folder: Path) -> Path:
    if not folder.exists():
        pytest.skip(f"{folder.name} is not among the collections")
    return folder


@pytest.mark.slow
def test_a_published_table_stands_beside_ours(
    goldbench: Goldbench, tmp_path: Path, collections: Path, golden: Path
) -> None:
    data = needs(collections / "percent4")
    done = goldbench("import", "llamaindex", data / "doc_qa_test.json", "--out", "gold")
    assert done.returncode == 0, done.stderr
    (tmp_path / "bench.toml").write_text(bench_toml(data, golden, model=False), encoding="utf-8")
    done = goldbench("bench", "gold", "-c", "bench.toml", "--out", "out", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    found = Experiment.model_validate_json((tmp_path / "out" / "experiment.json").read_bytes())
    hits = {s.system: [s.scores[f"hit@{k}"].mean for k in range(1, 6)] for s in found.card.systems}
    for system, expected in EXPECTED.items():
        for k, (ours, theirs) in enumerate(zip(hits[system], expected, strict=True), 1):
            assert abs(ours - theirs) * QUERIES < 2.05, (system, k)
    assert abs(hits["cjk-bigram"][0] - 0.8037) * QUERIES < 2.05
    assert hits["cjk-bigram"][4] == pytest.approx(0.9595, abs=2.05 / QUERIES)
    printed = published(golden)
    rows = found.differences
    beside = {(row.system, row.measure): row for row in rows if row.published == "bm25"}
    for k in range(1, 6):
        row = beside["ik", f"hit@{k}"]
        assert row.value == printed["bm25"]["hit_rate"][k - 1]
        assert row.queries == pytest.approx((hits["ik"][k - 1] - row.value) * QUERIES)
        assert f"({float(row.queries):+.1f})" in done.stdout
    assert {row.system for row in rows} == {"ik", "standard", "cjk-bigram", "rewritten", "lsi", "ik+lsi"}
    assert "not public" in done.stdout + done.stderr
    assert "defined ties" in done.stdout + done.stderr


@pytest.mark.slow
def test_three_texts_of_a_novel_are_looked_for_by_their_text(
    goldbench: Goldbench, tmp_path: Path, collections: Path
) -> None:
    book = needs(collections / "war_and_peace") / "2600-0.txt"
    done = goldbench("chunk", book, "--out", "chunks.jsonl", "--chunk-size", 1000, "--chunk-overlap", 100)
    assert done.returncode == 0, done.stderr
    chunks = [json.loads(line)["text"] for line in (tmp_path / "chunks.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(chunks) == 4343
    truths = {f"truth-{number}": chunks[number] for number in (9, 685, 686)}
    gold = {"queries": {"q1": "Who is Anna Pávlovna?"}, "corpus": truths, "relevant_docs": {"q1": list(truths)}}
    (tmp_path / "truths.json").write_text(json.dumps({**gold, "mode": "text"}), encoding="utf-8")
    systems = '[systems.bm25]\nkind = "bm25"\n[systems.embedding]\nkind = "lsi"\n'
    systems += '[systems.hybrid]\nkind = "rrf"\nof = ["bm25", "embedding"]\n'
    text = f'match = "text"\ncorpus = "chunks.jsonl"\nmeasures = ["p@10", "r@10", "f1@10", "hit@4343"]\n{systems}'
    (tmp_path / "bench.toml").write_text(text, encoding="utf-8")
    done = goldbench("bench", "truths.json", "-c", "bench.toml", "--out", "out", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    lines = [re.split(r"\s{2,}", line) for line in done.stdout.splitlines()]
    first = next(at for at, line in enumerate(lines) if line[:1] == ["system"])
    heads, *rows = lines[first : first + 4]
    assert {"p@10", "r@10", "f1@10"} <= set(heads)
    figures = {row[0]: dict(zip(heads, row, strict=True)) for row in rows}
    assert set(figures) == {"bm25", "embedding", "hybrid"}
    assert figures["bm25"]["p@10"] == "0.0000", "none of the three is among its first ten"
    assert figures["bm25"]["hit@4343"] == "1.0000", "but they are among its results"
