"""``goldbench retrieve`` as a user runs it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import ir_measures
import pytest

from goldbench.cli.runs import answers_of
from goldbench.formats.packed_files import Source
from tests.conftest import Goldbench
from tests.generate.test_build import corpus


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def test_a_run_over_a_build_is_read_by_others_and_scored_by_us(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldbench("build", "docs", "--out", "gold", "--queries", 8).returncode == 0
    done = goldbench("retrieve", "gold", "--system", "bm25", "-o", "gold/runs/bm25.trec", "--k", 5)
    assert done.returncode == 0, done.stderr
    run = list(ir_measures.read_trec_run(str(tmp_path / "gold" / "runs" / "bm25.trec")))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "gold" / "trec" / "qrels.txt")))
    expected = ir_measures.calc_aggregate([ir_measures.parse_measure("Success@5")], qrels, run)
    scored = goldbench("score", "gold", "--run", "gold/runs/bm25.trec", "--measure", "hit@5", "--format", "json")
    assert scored.returncode == 0, scored.stderr
    assert str(round(next(iter(expected.values())), 6)) in json.dumps(json.loads(scored.stdout))
    assert goldbench("validate", "gold").returncode == 0
    plain = (tmp_path / "gold" / "runs" / "bm25.trec").read_bytes()
    for suffix, packed in (("gz", gzip.compress(b"")[:2]), ("zst", b"\x28\xb5\x2f\xfd")):
        run = f"bm25.trec.{suffix}"
        assert goldbench("retrieve", "gold", "-o", run, "--k", 5).returncode == 0
        assert (tmp_path / run).read_bytes().startswith(packed)
        assert Source(tmp_path / run).read() == plain


def test_what_cannot_be_retrieved_from_is_one_line(goldbench: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    for arguments, code in (
        (("qrels.txt", "-o", "run.trec"), 2),
        (("nowhere", "-o", "run.trec"), 2),
        (("qrels.txt", "-o", "run.trec", "--system", "oracle"), 2),
        (("qrels.txt", "-o", "run.trec", "--k", "0"), 2),
        (("qrels.txt", "-o", "run.trec", "--set", "k2=1", "--b", "0.5", "--set", "nothing"), 2),
        (("qrels.txt", "-o", "run.trec", "-c", "nowhere.toml"), 2),
    ):
        done = goldbench("retrieve", *arguments)
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), (arguments, done.stderr)
    assert not (tmp_path / "run.trec").exists()


def a_set(path: Path, queries: dict[str, str], corpus: dict[str, str]) -> None:
    relevant = {query_id: [next(iter(corpus))] for query_id in queries}
    path.write_text(
        json.dumps({"queries": queries, "corpus": corpus, "relevant_docs": relevant, "mode": "text"}), encoding="utf-8"
    )


def test_a_set_without_queries_or_texts_is_told_apart(goldbench: Goldbench, tmp_path: Path) -> None:
    a_set(tmp_path / "none.json", {}, {"d": "pump"})
    a_set(tmp_path / "white.json", {"q": "pump"}, {"d d": "pump"})
    for name, message in (("none.json", "holds 0 queries"), ("white.json", "'d d' has white space")):
        done = goldbench("retrieve", name, "-o", "run.trec")
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert message in done.stderr
    assert not (tmp_path / "run.trec").exists()


def test_queries_without_results_are_told_because_a_run_cannot_hold_them(goldbench: Goldbench, tmp_path: Path) -> None:
    a_set(tmp_path / "set.json", {"q1": "pump", "q2": "wharf"}, {"d1": "pump tank"})
    done = goldbench("retrieve", "set.json", "-o", "run.trec")
    assert "1 query without results: a TREC run cannot hold them, and they score as missing." in done.stderr
    scored = goldbench("score", "set.json", "--run", "run.trec")
    assert "1 query judged but missing from the run" in scored.stderr


def test_a_described_system_is_found_and_its_parameters_can_be_set(goldbench: Goldbench, tmp_path: Path) -> None:
    a_set(tmp_path / "set.json", {"q": "pump valve"}, {"d1": "pump " * 3, "d2": "valve", "d3": "tank valve tank tank"})
    (tmp_path / "bench.toml").write_text(
        '[systems.mine]\nkind = "rrf"\nof = ["bm25", "x"]\nk = 1\n[systems.x]\nkind = "bm25"\nb = 0\n'
    )
    runs = []
    for arguments in ((), ("--set", "k=2", "--set", "bm25.b=0")):
        done = goldbench("retrieve", "set.json", "-c", "bench.toml", "--system", "mine", "-o", "run.trec", *arguments)
        assert done.returncode == 0, done.stderr
        runs.append((tmp_path / "run.trec").read_text())
    assert runs[0].splitlines()[0].split()[-1] == "mine"
    assert runs[0] != runs[1]
    shorthands = ("--k1", "0", "--analyzer", "cjk-bigram", "--language", "en")
    assert goldbench("retrieve", "set.json", "-o", "run.trec", *shorthands).returncode == 0
    assert "q Q0 d1 1 0.98" in (tmp_path / "run.trec").read_text()  # ln(1 + 2.5 / 1.5): k1 = 0 leaves the rarity


def test_everything_wrong_with_a_description_is_one_line(goldbench: Goldbench, tmp_path: Path) -> None:
    a_set(tmp_path / "set.json", {"q": "pump"}, {"d1": "pump"})
    (tmp_path / "bench.toml").write_text(
        '[systems.mine]\nkind = "rrf"\nof = ["bm52"]\n[systems.x]\nkind = "bm25"\nK1 = 2\n'
    )
    done = goldbench("retrieve", "set.json", "-c", "bench.toml", "--system", "mien", "-o", "run.trec")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "did you mean bm25" in done.stderr
    assert "unknown parameter K1" in done.stderr


def test_a_run_never_replaces_the_description_of_its_system(goldbench: Goldbench, tmp_path: Path) -> None:
    a_set(tmp_path / "gold.json", {"q": "pump"}, {"d": "pump"})
    (tmp_path / "bench.toml").write_text('[systems.mine]\nkind = "bm25"\n')
    done = goldbench("retrieve", "gold.json", "--system", "mine", "-c", "bench.toml", "-o", "bench.toml")
    assert done.returncode == 2
    assert "bench.toml: is one of the inputs; give another --output" in done.stderr
    assert (tmp_path / "bench.toml").read_text().startswith("[systems.mine]")


def test_the_store_of_answers_lies_beside_the_set_whatever_part_of_it_is_named(tmp_path: Path) -> None:
    gold, loose = tmp_path / "gold", tmp_path / "loose"
    for folder in (gold / "beir" / "qrels", loose / "qrels"):
        folder.mkdir(parents=True)
    (gold / "dataset.json").write_text("{}")
    for part in ("", "dataset.json", "beir", "beir/qrels/test.tsv"):
        assert answers_of(gold / part) == tmp_path / "answers.sqlite"
    assert answers_of(loose) == tmp_path / "answers.sqlite"
