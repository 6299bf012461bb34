"""Whoever would replace or remove a set that people judged is told how much they decided, and asked."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from goldbench.records.review_event import EventKind
from tests.conftest import ROOT, Goldbench
from tests.review.made_set import event, judgments, ledger_of, make_set, queue_of

DOCUMENTS = ROOT / "data" / "example" / "documents" / "manual"


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A set of which people judged four pairs, took one judgment back and accepted a query."""
    made = make_set(tmp_path / "set", queries=5, pool=3)
    material, ledger = ledger_of(made.folder)
    said = judgments(material, queue_of(material)[:4], made.truth)
    with ledger:
        ledger.append_all(said)
        ledger.append(event(material, EventKind.UNDO, said[0].query_id, undoes=said[0].client_id))
        put_off = event(material, EventKind.LATER, said[1].query_id, chunk_id=said[1].chunk_id)
        ledger.append(put_off)
        ledger.append(event(material, EventKind.UNDO, said[1].query_id, undoes=put_off.client_id))
        ledger.append(event(material, EventKind.ACCEPT_QUERY, "q000"))
    return made.folder


def files(folder: Path) -> dict[str, bytes]:
    names = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".sqlite-shm", ".sqlite-wal"})
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def decisions(folder: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "review.sqlite") as ledger:
        return ledger.execute("SELECT * FROM goldbench_event ORDER BY seq").fetchall()


def commands(folder: Path, tmp_path: Path) -> list[list[str]]:
    other = make_set(tmp_path / "other", queries=3, pool=2).folder
    return [
        ["build", str(DOCUMENTS), "--generator", "simulated", "--queries", "3", "--out", str(folder), "--replace"],
        ["rechunk", str(other), "--chunk-size", "200", "--out", str(folder), "--replace"],
        ["import", "beir", str(other / "beir"), "--out", str(folder), "--replace"],
    ]


def test_replacing_names_the_decisions_and_changes_nothing_without_an_answer_and_never_the_ledger(
    goldbench_inside: Goldbench, judged: Path, tmp_path: Path
) -> None:
    said = decisions(judged)
    for command in commands(judged, tmp_path):
        before = files(judged)
        refused = goldbench_inside(*command)
        assert refused.returncode == 2, command
        assert "People made 4 decisions about the set in" in refused.stderr
        assert "review.sqlite" in refused.stderr
        assert "--yes" in refused.stderr
        assert files(judged) == before
        done = goldbench_inside(*command, "--yes")
        assert done.returncode == 0, done.stderr
        assert "People made 4 decisions" in done.stderr
        assert decisions(judged) == said


def test_make_clean_names_the_decisions_and_removes_nothing_without_an_answer(judged: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", project)
    shutil.copy(ROOT / ".ci" / "ask-before-clean", project / ".ci")
    run = project / "data" / "runs" / "example"
    clean = ["make", f"PYTHON={sys.executable}", "clean"]

    def made(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*clean, *more], cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )

    assert made().returncode == 0
    shutil.copytree(judged, run)
    refused = made()
    assert refused.returncode == 2
    assert "data/runs/example/review.sqlite holds 4 decisions of people" in refused.stderr
    assert "YES=1" in refused.stderr
    assert run.is_dir()
    assert made("YES=1").returncode == 0
    assert not run.exists()
