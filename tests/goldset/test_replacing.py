"""``build --replace``: nothing of the old set stays, and nothing that people made goes."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path

import pytest

from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.goldset.publication import read_manifest
from goldbench.records.query import UnlabelledQuery
from goldbench.records.review_event import EventKind
from goldbench.review.apply import apply_review
from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.review.made_set import event, ledger_of, make_set

OTHER_FILES = ("rubric.md", "notes.txt", "review.key", "runs/bm25.trec", "bench/bench.toml", "card.md", "beir/own.txt")


def write_reviewed_set(folder: Path) -> None:
    """Write a graded set with an applied review, waiting queries, and files that are not part of a set."""
    make_set(folder, queries=6, pool=5)
    material, ledger = ledger_of(folder)
    with ledger:
        ledger.append_all([event(material, EventKind.JUDGE, "q001", grade=3, chunk_id="c001-0")])
    apply_review(folder, ledger=None)
    home = GoldFolder(folder)
    with home.rewriting() as draft:
        draft.unlabelled.write([UnlabelledQuery(query_id="w001", text="Who waits?", generator="users")])
        draft.finish(home.manifest())
    for name in OTHER_FILES:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")


def decisions(folder: Path) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "review.sqlite")) as ledger:
        return ledger.execute("SELECT * FROM goldbench_event ORDER BY seq").fetchall()


ASIDE = re.compile(r"^(runs|bench)-[^/]+")
"""Folders of results on the earlier set."""


@pytest.mark.parametrize("manifest", [None, '{"files": {"notes.txt": "0", "review.sqlite": "0"}}'])
def test_nothing_of_a_set_stays_whatever_its_manifest_lists(
    manifest: str | None, goldbench_inside: Goldbench, tmp_path: Path
) -> None:
    gold = tmp_path / "gold"
    write_reviewed_set(gold)
    before = decisions(gold)
    if manifest is not None:
        (gold / "manifest.json").write_text(manifest, encoding="utf-8")
    corpus(tmp_path / "docs")
    done = goldbench_inside("build", "docs", "--out", "gold", "--queries", 8, "--replace", "--yes")
    assert done.returncode == 0, done.stderr
    assert validate(gold).problems == ()
    assert GoldFolder(gold).waiting() == []
    files = {path.relative_to(gold).as_posix(): path for path in gold.rglob("[!.]*") if path.is_file()}
    others = {ASIDE.sub(r"\1", name): path for name, path in files.items() if not name.startswith("review.sqlite")}
    assert others.keys() == {*read_manifest(gold).files, "manifest.json", *OTHER_FILES}
    assert all(others[name].read_text(encoding="utf-8") == name for name in OTHER_FILES)
    assert before
    assert decisions(gold) == before


@pytest.mark.parametrize("manifest", ['{"name": "my app", "version": 1}', "a list of files\n"])
def test_a_folder_of_somebody_else_is_never_replaced_though_it_has_a_manifest(
    goldbench_inside: Goldbench, tmp_path: Path, manifest: str
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pump.md").write_text("# Pump\n\n" + "The pump stands in the cellar and runs. " * 20)
    app = tmp_path / "app"
    (app / "beir").mkdir(parents=True)
    mine = {"manifest.json": manifest, "dataset.json": "mine", "4-pool.jsonl": "mine", "beir/corpus.jsonl": "mine"}
    for name, text in mine.items():
        (app / name).write_text(text)
    done = goldbench_inside("build", "docs", "--out", "app", "--generator", "simulated", "--replace")
    assert done.returncode == 2
    assert {name: (app / name).read_text() for name in mine} == mine
