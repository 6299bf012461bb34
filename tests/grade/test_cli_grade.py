"""Grading as a user runs it: a process, killed and attacked, and what is left of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.goldset.integrity import validate
from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.grade.graded_sets import artifacts, write_set
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def url(model_server: ServerHandle) -> tuple[str, ...]:
    return ("--base-url", model_server.base_url, "--model", "m")


@pytest.fixture
def untested(tmp_path: Path) -> tuple[str, ...]:
    """The test server's judge counts words in common unless it is told the grades, and would fail the judge checks."""
    (tmp_path / "untested.toml").write_text("[grade]\ncanaries = 0.0\n", encoding="utf-8")
    return ("--config", "untested.toml")


@pytest.mark.slow
def test_a_set_is_built_and_graded_at_once_and_needs_a_model_to_be(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...], untested: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 6)
    offline = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade")
    assert offline.returncode == 2
    assert offline.stderr.splitlines()[-1].startswith("goldbench: grading needs a model")
    assert not (tmp_path / "run").exists()
    model_server.script(judge={"truth": {}})
    refused = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *url)
    assert refused.returncode == 3
    assert "goldbench: run: is built but not graded, because the judge " in refused.stderr.splitlines()[-1]
    assert not (tmp_path / "run" / "4-judgments.jsonl").exists()
    assert validate(tmp_path / "run").problems == ()
    model_server.script()
    again = ("--answers", "other.sqlite", "--replace")
    done = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *untested, *url, *again)
    assert done.returncode == 3, done.stderr  # its judge finds no relevant passage for any query
    assert "per query:" in done.stdout
    assert "a query)" in done.stderr
    assert (tmp_path / "run" / "4-judgments.jsonl").exists()
    assert validate(tmp_path / "run").problems == ()


def test_a_judge_that_fails_its_checks_ends_a_grading_in_one_sentence_and_leaves_the_set_as_it_was(
    goldbench_inside: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...]
) -> None:
    known = write_set(tmp_path / "set", subjects=5)
    model_server.script(judge={"truth": known.truth, "up": 0.9})
    before = artifacts(tmp_path / "set")
    done = goldbench_inside("grade", "set", *url)
    assert done.returncode == 3
    assert "judge check failed: accepted " in done.stdout
    assert "Graded labels in" not in done.stdout
    last = done.stderr.splitlines()[-1]
    assert last.startswith("goldbench: set: stays as it was, because the judge m/grade.v1 failed the judge checks: ")
    assert last.endswith("; grade it with another --model, or with --force to use these grades")
    assert artifacts(tmp_path / "set") == before
    assert goldbench_inside("validate", "set").returncode == 0
    forced = goldbench_inside("grade", "set", "--force", *url)
    assert (forced.returncode, "Graded labels in" in forced.stdout) == (3, True)
    assert artifacts(tmp_path / "set") != before


def test_feedback_must_be_the_output_of_its_command(
    goldbench_inside: Goldbench, tmp_path: Path, url: tuple[str, ...]
) -> None:
    write_set(tmp_path / "set", subjects=5)
    before = artifacts(tmp_path / "set")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "other.jsonl").write_text('{"query": "pump"}\n')
    for name, says in (
        ("none.jsonl", "none.jsonl: file not found; give the output of goldbench feedback"),
        ("empty.jsonl", "empty.jsonl: holds no feedback; give the output of goldbench feedback"),
        ("other.jsonl", "other.jsonl, line 1: is not the output of goldbench feedback (query_id: Field required)"),
    ):
        done = goldbench_inside("grade", "set", "--feedback", name, *url)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"goldbench: {says}")
    assert artifacts(tmp_path / "set") == before


@pytest.mark.slow
def test_building_and_grading_again_asks_nothing_and_building_alone_is_refused(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle, url: tuple[str, ...], untested: tuple[str, ...]
) -> None:
    corpus(tmp_path / "docs", 6)
    url = (*untested, *url)
    done = goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *url)
    before = artifacts(tmp_path / "run")
    model_server.reset()
    refused = goldbench("build", "docs", "--out", "run", "--queries", 3, *url)
    assert (refused.returncode, "--grade" in refused.stderr) == (2, True)
    assert goldbench("build", "docs", "--out", "run", "--queries", 3, "--grade", *url).returncode == done.returncode
    assert artifacts(tmp_path / "run") == before
    assert model_server.stats()["requests"] == 0
