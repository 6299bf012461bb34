"""Grading as a user runs it: a process, killed and attacked, and what is left of it."""

from __future__ import annotations

import random
import shutil
import signal
import time
from pathlib import Path

import pytest

from goldbench.pipeline.goldset.integrity import validate
from tests.build.test_build import corpus
from tests.build.test_build_under_fire import FAULTS, ended, started
from tests.conftest import Goldbench
from tests.grade.graded_sets import artifacts
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def url(model_server: ServerHandle) -> tuple[str, ...]:
    return ("--base-url", model_server.base_url, "--model", "m")


def test_a_set_is_built_and_graded_at_once_and_needs_a_model_to_be(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 6)
    offline = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade")
    assert offline.returncode == 2
    assert offline.stderr.splitlines()[-1].startswith("goldbench: grading needs a model")
    assert not (tmp_path / "run").exists()
    done = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *url)
    assert done.returncode in {0, 3}, done.stderr
    assert "per query:" in done.stdout
    assert "a query)" in done.stderr
    assert validate(tmp_path / "run").problems == ()


@pytest.mark.slow
def test_building_and_grading_again_asks_nothing_and_building_alone_is_refused(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 6)
    done = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *url)
    before = artifacts(tmp_path / "run")
    model_server.reset()
    refused = goldbench("build", "docs", "--out", "run", "--queries", 3, *url)
    assert (refused.returncode, "--grade" in refused.stderr) == (1, True)
    assert goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *url).returncode == done.returncode
    assert artifacts(tmp_path / "run") == before
    assert model_server.stats()["requests"] == 0


@pytest.mark.slow
def test_a_grading_that_is_killed_again_and_again_loses_and_repays_nothing(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 9)
    goldbench("build", "docs", "--out", "one", "--queries", 6, *url)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    grade = ("--concurrency", 4, *url)
    goldbench("grade", "one", *grade, "--answers", "one.sqlite")
    ungraded = artifacts(tmp_path / "two")
    asked_for = model_server.stats()["prompts"]
    model_server.reset()
    model_server.script(latency_ms=40)
    rng, kills = random.Random(3), 0
    for _ in range(4):
        process = started(tmp_path, "grade", "two", *grade, "--answers", "two.sqlite")
        before = model_server.stats()["answered"]
        wanted = before + rng.randrange(2, 14)
        while process.poll() is None and model_server.stats()["answered"] < wanted:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        kills += ended(process, 30) == -signal.SIGKILL
        left = {name: data for name, data in artifacts(tmp_path / "two").items() if not name.startswith(".")}
        assert left == {name: data for name, data in ungraded.items() if not name.startswith(".")}
    assert kills == 4
    goldbench("grade", "two", *grade, "--answers", "two.sqlite")
    stats = model_server.stats()
    assert stats["paid_twice"] <= kills * 4  # what was on its way when the process died was answered to nobody
    assert stats["prompts"] <= asked_for
    assert artifacts(tmp_path / "one") == artifacts(tmp_path / "two")


@pytest.mark.slow
def test_every_fault_at_once_changes_no_label(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 9)
    goldbench("build", "docs", "--out", "one", "--queries", 6, *url)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    goldbench("grade", "one", *url, "--answers", "one.sqlite")
    model_server.reset()
    model_server.script(*FAULTS, latency_ms=5)
    goldbench("grade", "two", *url, "--answers", "two.sqlite")
    assert {"429", "refuse"} <= set(model_server.stats()["statuses"])
    assert artifacts(tmp_path / "one") == artifacts(tmp_path / "two")


@pytest.mark.slow
def test_a_folder_whose_grading_was_killed_while_it_was_put_in_place_is_finished_by_the_next_command(
    goldbench: Goldbench, tmp_path: Path, url: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 9)
    goldbench("build", "docs", "--out", "run", "--queries", 6, *url)
    goldbench("grade", "run", *url)
    whole = artifacts(tmp_path / "run")
    place = tmp_path / "run" / ".unfinished"
    place.mkdir()
    (tmp_path / "run" / "manifest.json").rename(place / "manifest.json")
    (tmp_path / "run" / "4-judgments.jsonl").rename(place / "4-judgments.jsonl")
    (place / ".publishing").touch()
    again = goldbench("grade", "run", *url)
    assert again.returncode in {0, 3}, again.stderr
    assert artifacts(tmp_path / "run") == whole
    assert goldbench("validate", "run").returncode == 0
