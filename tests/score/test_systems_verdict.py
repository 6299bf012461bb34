"""The verdict under the tables of `score` and `compare`, and in Python."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import goldbench
from tests.conftest import Goldbench
from tests.score.deciding_files import write_gold, write_run

RUNS = ("--run", "A=good.trec", "--run", "B=bad.trec")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_gold(tmp_path)
    write_run(tmp_path, "good.trec", skill=0.9)
    write_run(tmp_path, "bad.trec", skill=0.4)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_verdict_stands_below_the_table_and_in_json(goldbench_inside: Goldbench, files: Path) -> None:
    table = goldbench_inside("score", "gold.qrels", *RUNS).stdout.splitlines()
    [line] = [one for one in table if one.startswith("Verdict: ")]
    found = json.loads(goldbench_inside("score", "gold.qrels", *RUNS, "--format", "json").stdout)["verdict"]
    assert line == f"Verdict: {found['sentence']}."
    assert found.keys() == {"level", "sentence", "number", "means", "improvements"}
    markdown = goldbench_inside("score", "gold.qrels", *RUNS, "--format", "markdown").stdout
    assert f"**Verdict:** {found['sentence'].split(':')[0]}" in markdown


def test_tables_for_programs_hold_no_verdict(goldbench_inside: Goldbench, files: Path) -> None:
    done = goldbench_inside("score", "gold.qrels", *RUNS, "--format", "csv")
    assert [row[0] for row in csv.reader(io.StringIO(done.stdout))] == ["run", "A", "B"]
    assert "Verdict" not in done.stdout + done.stderr
    assert "Verdict" not in goldbench_inside("score", "gold.qrels", *RUNS, "--format", "latex").stdout


def test_one_system_in_python_has_a_verdict() -> None:
    qrels = {f"q{number}": {f"d{number}": 1} for number in range(40)}
    run = {query: [*judged] if position % 2 else ["x"] for position, (query, judged) in enumerate(qrels.items())}
    found = goldbench.evaluate(qrels, run)
    assert found.verdict.level == "smoke"
    assert found.verdict.sentence.endswith("differences of ndcg@10 below 0.23 are noise (40 queries)")
    assert f"Verdict: {found.verdict.sentence}." in repr(found)
    assert "Verdict" in found._repr_html_()
