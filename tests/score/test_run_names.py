"""A run has one name, that of its file, for every command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import goldbench as gb
from goldbench.goldset.folder import GoldFolder
from goldbench.score.runs import named_runs
from goldbench.workbench.system_runs import run_paths
from tests.conftest import Goldbench

QRELS = {"q1": {"a": 1}}
TREC = "q1 Q0 a 1 3.0 t\n"
JSON_LINES = '{"query_id": "q1", "results": ["a"]}\n'


@pytest.mark.parametrize(
    ("file", "name", "content"),
    [
        ("bm25.v1.trec.gz", "bm25.v1", TREC),
        ("e5.1.5.jsonl.gz", "e5.1.5", JSON_LINES),
        ("bm25.v1.TXT", "bm25.v1", TREC),
        ("bm25.v1", "bm25.v1", TREC),
    ],
)
def test_only_the_suffixes_of_the_format_leave_the_name(file: str, name: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "runs" / file
    path.parent.mkdir()
    data = content.encode()
    path.write_bytes(gzip.compress(data) if file.endswith(".gz") else data)
    names = {
        "score": list(named_runs([str(path)])),
        "card": list(GoldFolder(tmp_path).named_runs()),
        "open": list(run_paths(tmp_path, {})),
        "Python": [gb.evaluate(QRELS, path, ["p@1"]).system],
    }
    assert names == {command: [name] for command in names}


def test_two_versions_of_a_system_are_scored_together(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    (tmp_path / "gold.qrels").write_text("q1 0 a 1\n")
    for name in ("bm25.v1.trec", "bm25.v2.trec", "lsi.run", "lsi.trec"):
        (tmp_path / name).write_text(TREC)
    runs = ("bm25.v1.trec", "bm25.v2.trec", "lsi.run", "lsi.trec")
    given = [word for run in runs for word in ("--run", run)]
    done = goldbench_inside("score", "gold.qrels", *given, "--measure", "p@1", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)["runs"]) == ["bm25.v1", "bm25.v2", "lsi.run", "lsi.trec"]
