"""``goldbench score``: files in, figures out, one clear line for whatever is wrong."""

from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import IMPORT_PATH, Goldbench, posix
from tests.generate.test_build import corpus

QRELS = "q1 0 a 1\nq1 0 b 2\nq2 0 c 1\nq3 0 d 1\n"
RUN = "q1 Q0 b 1 3.0 t\nq1 Q0 a 2 2.0 t\nq2 Q0 x 1 1.0 t\nq2 Q0 c 2 1.0 t\nq9 Q0 a 1 1.0 t\n"


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "gold.qrels").write_text(QRELS)
    (tmp_path / "a.trec").write_text(RUN)
    return tmp_path


def test_the_table_shows_means_and_how_the_run_met_the_judgments(goldbench: Goldbench, files: Path) -> None:
    done = goldbench("score", "gold.qrels", "--run", "A=a.trec", "--measure", "mrr p@1", "--wide")
    assert done.returncode == 0
    verdict, empty, head, row, *_ = done.stdout.splitlines()
    assert (empty, verdict[:41]) == ("", "Verdict: good for smoke tests of one syst")
    assert head.split() == ["run", "mrr", "p@1", "queries", "missing", "extra", "no", "relevant", "tied", "holes"]
    assert row.split() == ["A", "0.5000", "0.3333", "3", "1", "1", "0", "1", "1"]
    assert "A: 1 query judged but missing from the run." in done.stderr


def test_json_holds_figures_in_full(goldbench: Goldbench, files: Path) -> None:
    done = goldbench(
        "score", "gold.qrels", "--run", "a.trec", "--measure", "mrr", "--format", "json", "--missing", "skip"
    )
    found = json.loads(done.stdout)
    assert found["runs"]["a"]["means"] == {"mrr": 0.75}
    assert found["runs"]["a"]["counts"]["queries"] == 2
    assert (found["missing"], found["scores"], found["match"]) == ("skip", "float64", "id")


@pytest.mark.parametrize("form", ["csv", "markdown"])
def test_other_formats_name_every_measure_and_run(goldbench: Goldbench, files: Path, form: str) -> None:
    done = goldbench("score", "gold.qrels", "--run", "A|_1=a.trec", "--run", "B=a.trec", "--k", "1,3", "--format", form)
    assert done.returncode == 0
    assert all(name in done.stdout for name in ("ndcg@1", "ndcg@3", "hit@1", "B"))
    assert {"csv": "A|_1", "markdown": "A\\|\\_1"}[form] in done.stdout


@pytest.mark.parametrize("name", ["q.csv", "q.json", "q.jsonl"])
def test_the_value_of_every_query_goes_to_a_file(goldbench: Goldbench, files: Path, name: str) -> None:
    done = goldbench("score", "gold.qrels", "--run", "A=a.trec", "--measure", "mrr", "--per-query", name)
    assert done.returncode == 0
    text = (files / name).read_text()
    if name == "q.json":
        found = {q: v["mrr"] for q, v in json.loads(text)["A"].items()}
    elif name == "q.jsonl":
        found = {r["query_id"]: r["mrr"] for r in map(json.loads, text.splitlines())}
    else:
        found = {r["query_id"]: float(r["mrr"]) for r in csv.DictReader(text.splitlines())}
    assert found == {"q1": 1.0, "q2": 0.5, "q3": 0.0}


def test_a_packed_run_comes_from_standard_input(files: Path) -> None:
    content = gzip.compress(RUN.encode())
    words = ["score", "gold.qrels", "--run", "A=-", "--measure", "mrr", "--format", "csv"]
    command = [sys.executable, "-m", "goldbench", *words]
    environment = {**os.environ, "PYTHONPATH": IMPORT_PATH}
    done = subprocess.run(command, cwd=files, input=content, capture_output=True, env=environment, check=True)
    assert done.stdout.decode().splitlines()[1].startswith("A,0.5,3,")


WRONG = {
    "k is no number": (["--k", "1,x"], 2, "not a valid cutoff: 'x'"),
    "unknown measures": (["--measure", "ncdg@10,recal@5"], 2, "did you mean ndcg@10?; --measure: 'recal@5'"),
    "a system for a file": (["--run", "bm25"], 2, "run by 'goldbench retrieve'"),
    "a missing query": (["--missing", "error"], 2, "lacks the judged query 'q3'"),
    "the same name twice": (["--run", "A=a.trec"], 2, "called A already"),
    "no texts": (["--match", "text"], 2, "has no texts"),
    "one place for two outputs": (["--per-query", "new", "--html", "new"], 2, "cannot both be written"),
    "an input as output": (["--per-query", "a.trec"], 2, "one of the inputs"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_one_line_and_an_exit_code(goldbench: Goldbench, files: Path, case: str) -> None:
    options, code, reason = WRONG[case]
    done = goldbench("score", "gold.qrels", "--run", "A=a.trec", *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1 or code == 2
    assert (files / "a.trec").read_text() == RUN


def test_a_bad_line_is_named_with_its_file(goldbench: Goldbench, files: Path) -> None:
    (files / "bad.trec").write_text(RUN + "q1 Q0 z 3 high t\n")
    done = goldbench("score", "gold.qrels", "--run", "bad.trec")
    assert done.returncode == 2
    assert done.stderr.startswith("goldbench: bad.trec, line 6: the score (column 5) is 'high'")


def test_a_run_of_other_document_ids_is_not_taken_for_a_bad_one(goldbench: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "other.trec").write_text("q1 Q0 Xd1 1 2.0 t\n")
    done = goldbench("score", "gold.qrels", "--run", "other.trec")
    assert "so every score is 0; use the same ids in run and judgments." in done.stderr


def test_a_build_is_scored_by_its_folder(goldbench: Goldbench, tmp_path: Path) -> None:
    corpus(tmp_path / "docs")
    assert goldbench("build", "docs", "--out", "gold", "--queries", 4).returncode == 0
    relevant = json.loads((tmp_path / "gold" / "dataset.json").read_text())["relevant_docs"]
    (tmp_path / "run.json").write_text(json.dumps(relevant))
    for gold in ("gold", "gold/dataset.json", "gold/trec/qrels.txt", "gold/beir"):
        done = goldbench("score", gold, "--run", "run.json", "--measure", "r@10", "--format", "csv")
        assert done.stdout.splitlines()[1].split(",")[1] == "1.0", done.stderr


@pytest.mark.parametrize("name", ["values.json", "values.csv"])
def test_half_a_surrogate_pair_is_written_so_that_it_can_be_read(
    goldbench: Goldbench, tmp_path: Path, name: str
) -> None:
    (tmp_path / "both.json").write_text(json.dumps({"\ud800": {"a": 1}}))
    done = goldbench("score", "both.json", "--run", "both.json", "--measure", "mrr", "--per-query", name)
    written = (tmp_path / name).read_text(encoding="utf-8")
    assert (done.returncode, "\\ud800" in written) == (0, True)
    if name == "values.json":
        assert json.loads(written) == {"both": {"\ud800": {"mrr": 1.0}}}


@posix
@pytest.mark.parametrize("command", [("score", "--per-query"), ("compare", "--out")])
def test_a_pipe_is_written_to_and_stays_a_pipe(goldbench: Goldbench, files: Path, command: tuple[str, str]) -> None:
    """As ``/dev/stdout`` and ``/dev/null`` are in a container, where a file in their place would be the end of them."""
    pipe, received = files / "pipe", list[bytes]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    done = goldbench(command[0], "gold.qrels", "--run", "A=a.trec", "--run", "B=a.trec", command[1], "pipe")
    reader.join(10)
    assert (done.returncode, pipe.is_fifo(), len(received)) == (0, True, 1)
    assert b"mrr@10" in received[0]
