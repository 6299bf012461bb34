"""``goldset retrieve`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import ir_measures

from tests.conftest import Goldset
from tests.test_build import corpus


def test_a_run_over_a_build_is_read_by_others_and_scored_by_us(goldset: Goldset, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldset("build", "docs", "--out", "gold", "--queries", 8).returncode == 0
    done = goldset("retrieve", "gold", "--system", "bm25", "-o", "gold/runs/bm25.trec", "--k", 5)
    assert done.returncode == 0, done.stderr
    run = list(ir_measures.read_trec_run(str(tmp_path / "gold" / "runs" / "bm25.trec")))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "gold" / "trec" / "qrels.txt")))
    expected = ir_measures.calc_aggregate([ir_measures.parse_measure("Success@5")], qrels, run)
    scored = goldset("score", "gold", "--run", "gold/runs/bm25.trec", "--measure", "hit@5", "--format", "json")
    assert scored.returncode == 0, scored.stderr
    assert str(round(next(iter(expected.values())), 6)) in json.dumps(json.loads(scored.stdout))
    assert goldset("validate", "gold").returncode == 0


def test_what_cannot_be_retrieved_from_is_one_line(goldset: Goldset, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    for arguments, code in (
        (("qrels.txt", "-o", "run.trec"), 1),
        (("nowhere", "-o", "run.trec"), 1),
        (("qrels.txt", "-o", "run.trec", "--system", "oracle"), 2),
        (("qrels.txt", "-o", "run.trec", "--k", "0"), 2),
    ):
        done = goldset("retrieve", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), (arguments, done.stderr)
    assert not (tmp_path / "run.trec").exists()
