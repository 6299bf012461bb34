"""Documents change after a set was built: what stands is kept, and a model is asked only about the rest."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import goldbench as api
from goldbench.review.reviewable_set import load_reviewable
from tests.conftest import Goldbench
from tests.generate.test_build import artifacts, lines
from tests.generate.test_build_under_fire import ended, started
from tests.generate.test_dry_run import everything, total
from tests.generate.test_kinds import linked
from tests.model_server.fixture import ServerHandle

APPENDED = "\nSince last winter the storks of the village nest on this roof, and nobody minds.\n"


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def served(server: ServerHandle) -> tuple[str, ...]:
    return ("--base-url", server.base_url, "--answers", "answers.sqlite")


def built(server: ServerHandle, queries: int = 30) -> tuple[object, ...]:
    return ("build", "docs", "--out", "run", "--queries", queries, "--model", "m", *served(server))


def appended(folder: Path, count: int) -> None:
    for path in sorted(folder.iterdir())[:count]:
        path.write_text(path.read_text(encoding="utf-8") + APPENDED, encoding="utf-8")


def texts(run: Path) -> set[str]:
    return {str(row["text"]) for row in lines(run / "3-queries.jsonl")}


def manifest(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "manifest.json").read_text(encoding="utf-8")))


def test_a_line_appended_to_27_of_30_files_keeps_the_queries_and_asks_nothing(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 30)
    assert goldbench(*built(model_server)).returncode == 0
    before, first = texts(tmp_path / "run"), artifacts(tmp_path / "run")
    model_server.reset()
    command = ("refresh", "run", *served(model_server))
    assert goldbench(*command).returncode == 0
    assert artifacts(tmp_path / "run") == first
    appended(tmp_path / "docs", 27)
    done = goldbench(*command)
    assert done.returncode == 0, done.stderr
    assert len(before) == 30
    assert len(before & texts(tmp_path / "run")) >= 28
    assert "moved (passage changed, evidence stands)" in done.stdout
    renewed = manifest(tmp_path / "run")["renewed"]
    assert renewed["kept"] + renewed["moved"] + renewed["retired"] == 30
    assert model_server.stats()["requests"] <= renewed["retired"]
    assert goldbench("validate", "run").returncode == 0
    now = artifacts(tmp_path / "run")
    for other in (command, built(model_server)):
        done = goldbench(*other)
        assert "No document changed" in done.stdout
        assert artifacts(tmp_path / "run") == now


def test_a_query_whose_evidence_is_gone_is_retired_with_its_reason_and_another_asked(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 12)
    assert goldbench(*built(model_server, 12)).returncode == 0
    before = texts(tmp_path / "run")
    other = linked(tmp_path / "other", 14)
    for number in (12, 13):
        (other / f"sheet-{number:03}.md").replace(tmp_path / "docs" / f"sheet-{number - 12:03}.md")
    model_server.reset()
    untouched = everything(tmp_path)
    plan = goldbench("refresh", "run", "--dry-run", *served(model_server))
    assert plan.returncode == 0, plan.stderr
    assert everything(tmp_path) == untouched
    assert model_server.stats()["requests"] == 0
    done = goldbench("refresh", "run", *served(model_server))
    assert done.returncode == 0, done.stderr
    stats, (requests, _, input_tokens, _) = model_server.stats(), total(plan.stdout)
    assert requests == stats["requests"] == 2
    assert input_tokens == pytest.approx(stats["input_tokens"], rel=0.1)
    retired = lines(tmp_path / "run" / "3-retired.jsonl")
    assert len(retired) == 2
    assert all(row["reason"].startswith("its evidence is no longer in the documents") for row in retired)
    gone: set[str] = {row["query"]["text"] for row in retired}  # type: ignore[index]
    assert gone == before - texts(tmp_path / "run")
    for text in gone:
        assert text[:60] in done.stdout
        assert text[:60] in plan.stdout
    assert len(texts(tmp_path / "run")) == 12
    assert goldbench("validate", "run").returncode == 0


@pytest.mark.slow
def test_files_renamed_removed_and_added_and_more_queries_asked_for(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 10)
    assert goldbench(*built(model_server, 10)).returncode == 0
    before = texts(tmp_path / "run")
    (tmp_path / "docs").rename(tmp_path / "moved")
    model_server.reset()
    assert "docs" in goldbench("refresh", "run", *served(model_server)).stderr
    for path in (tmp_path / "moved").iterdir():
        path.rename(path.with_name(f"renamed-{path.name}"))
    assert goldbench("refresh", "run", "moved", *served(model_server)).returncode == 0
    assert texts(tmp_path / "run") == before
    assert model_server.stats()["requests"] == 0
    linked(tmp_path / "more", 14)
    for number in range(10, 14):
        (tmp_path / "more" / f"sheet-{number:03}.md").rename(tmp_path / "moved" / f"new-{number}.md")
    done = goldbench("refresh", "run", *served(model_server))
    assert "No query asks about 4 new documents; goldbench refresh " in done.stderr
    assert model_server.stats()["requests"] == 0
    done = goldbench("refresh", "run", "--queries", 13, *served(model_server))
    assert done.returncode == 0, done.stderr
    assert before < texts(tmp_path / "run")
    assert len(texts(tmp_path / "run")) == 13
    assert model_server.stats()["requests"] == 3
    assert goldbench("validate", "run").returncode == 0


@pytest.mark.slow
def test_other_settings_are_not_a_refresh_and_some_sets_cannot_be_made_again(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    linked(tmp_path / "docs", 6)
    assert goldbench("build", "docs", "--out", "run", "--queries", 5).returncode == 0
    assert "chunk.size" in goldbench("build", "docs", "--out", "run", "--queries", 5, "--chunk-size", 300).stderr
    assert goldbench("rechunk", "run", "--out", "cut", "--chunk-size", 300, "--chunk-overlap", 30).returncode == 0
    refused = goldbench("refresh", "cut")
    assert refused.returncode != 0
    assert "rechunk" in refused.stderr
    assert goldbench("import", "beir", "run/beir", "--out", "set").returncode == 0
    refused = goldbench("refresh", "set")
    assert refused.returncode != 0
    assert "nothing can be read again" in refused.stderr
    path = tmp_path / "run" / "manifest.json"
    path.write_text(json.dumps({name: value for name, value in manifest(tmp_path / "run").items() if name != "paths"}))
    refused = goldbench("refresh", "run")
    assert refused.returncode != 0
    assert "goldbench refresh DIR PATH" in refused.stderr
    appended(tmp_path / "docs", 6)
    assert goldbench("refresh", "run", "docs").returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(580)
def test_kill_9_at_any_moment_of_a_refresh_leaves_the_old_set_or_the_new_one(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    linked(tmp_path / "docs", 16)
    assert goldbench(*built(model_server, 16)).returncode == 0
    old, kept = artifacts(tmp_path / "run"), tmp_path / "kept"
    appended(tmp_path / "docs", 12)
    other = linked(tmp_path / "other", 20)
    for number in range(16, 20):
        (other / f"sheet-{number:03}.md").replace(tmp_path / "docs" / f"sheet-{number - 4:03}.md")
    shutil.copytree(tmp_path / "run", kept)
    command = ("refresh", "run", *served(model_server))
    model_server.reset()
    model_server.script(latency_ms=40)
    begun = time.monotonic()
    assert ended(started(tmp_path, *command), 120) == 0
    seconds, new = time.monotonic() - begun, artifacts(tmp_path / "run")
    asked = model_server.stats()["requests"]
    assert old != new
    for moment in range(4):
        for path in (tmp_path / "run", tmp_path / "answers.sqlite"):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        shutil.copytree(kept, tmp_path / "run")
        model_server.reset()
        process = started(tmp_path, *command)
        time.sleep(seconds * (0.3 + 0.7 * moment / 4))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if (tmp_path / "run" / "manifest.json").exists():
            assert {name: data for name, data in artifacts(tmp_path / "run").items() if name in old} in (
                old,
                {name: data for name, data in new.items() if name in old},
            )
        if moment % 3 and (tmp_path / "run" / "manifest.json").exists():
            continue  # a run that was not being put in place: every third is ended
        assert ended(started(tmp_path, *command), 120) == 0
        assert artifacts(tmp_path / "run") == new
        assert model_server.stats()["repeated"] <= asked
        assert model_server.stats()["requests"] <= 2 * asked


def test_python_does_what_the_command_does(tmp_path: Path) -> None:
    linked(tmp_path / "docs", 6)
    gold = api.build(tmp_path / "docs", out=tmp_path / "run", queries=5, progress=False)
    before = gold.queries
    appended(tmp_path / "docs", 4)
    plan = gold.refresh(dry_run=True, progress=False)
    assert any("Plan for the queries" in note for note in plan.notes)
    assert gold.refresh(progress=False) is gold
    assert gold.queries == before
    assert any(remark.startswith("Documents changed") for remark in gold.remarks)


def test_queries_that_wait_for_judgments_keep_their_pool_and_are_still_shown_to_people(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    linked(tmp_path / "docs", 6)
    simulated = ("build", "docs", "--out", "run", "--queries", 4, "--generator", "simulated")
    assert goldbench(*simulated).returncode == 0
    (tmp_path / "own.csv").write_text("query\nwhat does the stork eat\nwho repairs the roof\n", encoding="utf-8")
    done = goldbench("add", "run", "own.csv")
    assert done.returncode == 0, done.stderr
    before = {(row["query_id"], row["chunk_id"]) for row in lines(tmp_path / "run" / "4-pool.jsonl")}
    appended(tmp_path / "docs", 1)
    done = goldbench("refresh", "run")
    assert done.returncode == 0, done.stderr
    here = {row["chunk_id"] for row in lines(tmp_path / "run" / "1-chunks.jsonl")}
    assert {chunk_id for _, chunk_id in before} - here, "a passage has changed"
    held = {pair for pair in before if pair[1] in here}
    assert {query_id for query_id, _ in held} == {query_id for query_id, _ in before}
    assert {(row["query_id"], row["chunk_id"]) for row in lines(tmp_path / "run" / "4-pool.jsonl")} == held
    offered = {one.query_id for one in load_reviewable(tmp_path / "run").pool}
    assert {query_id for query_id, _ in before} <= offered
    assert goldbench("validate", "run").returncode == 0


def test_queries_of_ones_own_come_on_top_of_those_that_are_written(goldbench: Goldbench, tmp_path: Path) -> None:
    docs = linked(tmp_path / "docs", 10)
    assert goldbench("build", "docs", "--out", "run", "--queries", 6, "--generator", "simulated").returncode == 0
    asked = lines(tmp_path / "run" / "3-queries.jsonl")
    quote = str(lines(tmp_path / "run" / "1-chunks.jsonl")[-1]["text"])[:80].replace('"', '""')
    rows = [f'"what stands in the last sheet, part {number}","{quote}"\n' for number in range(3)]
    (tmp_path / "own.csv").write_text("query,quote\n" + "".join(rows), encoding="utf-8")
    assert goldbench("add", "run", "own.csv").returncode == 0
    named = next(str(row["chunk_id"]) for row in asked if not str(row["chunk_id"]).startswith("sheet-009"))
    gone = next(row for row in lines(tmp_path / "run" / "0-documents.jsonl") if named.startswith(f"{row['doc_id']}:"))
    (docs / str(gone["source"])).unlink()
    done = goldbench("refresh", "run")
    assert done.returncode == 0, done.stderr
    now = Counter(str(row["generator"]) for row in lines(tmp_path / "run" / "3-queries.jsonl"))
    assert now.pop("own") == 3
    assert now.total() == 6
