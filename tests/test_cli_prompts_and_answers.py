"""``goldset prompts`` shows what is sent; ``goldset answers`` looks after what came back."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Goldset
from tests.model_server.fixture import ServerHandle
from tests.test_build import corpus


def test_what_is_rendered_is_what_is_sent(goldset: Goldset, tmp_path: Path, model_server: ServerHandle) -> None:
    corpus(tmp_path / "docs", 1)
    shown = goldset("prompts", "render", "docs")
    assert shown.returncode == 0, shown.stderr
    url = ("--base-url", model_server.base_url, "--model", "m")
    assert goldset("build", "docs", "--out", "run", "--queries", 1, *url).returncode in {0, 3}
    sent = str(model_server.requests()[0]["body"])
    user = shown.stdout.split("# User\n\n")[1].strip()
    for line in user.splitlines():
        assert line.replace('"', '\\"') in sent or line in sent, line


def test_prompts_are_listed_and_shown(goldset: Goldset) -> None:
    listed = goldset("prompts", "list")
    assert "generate.v1" in listed.stdout
    assert "{{passage}}" in goldset("prompts", "show", "generate.v1").stdout
    unknown = goldset("prompts", "show", "poem.v1")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)


def test_a_stores_answers_go_elsewhere_and_come_back(
    goldset: Goldset, tmp_path: Path, model_server: ServerHandle
) -> None:
    corpus(tmp_path / "docs")
    build = ("build", "docs", "--queries", 6, "--base-url", model_server.base_url, "--model", "m")
    assert goldset(*build, "--out", "one", "--answers", "one.sqlite").returncode == 0
    asked = model_server.stats()["requests"]
    assert goldset("answers", "export", "one.sqlite", "answers.jsonl").returncode == 0
    assert goldset("answers", "import", "two.sqlite", "answers.jsonl").returncode == 0
    assert "generate.v1" in goldset("answers", "stats", "two.sqlite").stdout
    assert goldset(*build, "--out", "two", "--answers", "two.sqlite").returncode == 0
    assert model_server.stats()["requests"] == asked
    assert "thrown away" in goldset("answers", "prune", "two.sqlite", "--stage", "generate").stdout
    assert goldset("answers", "prune", "two.sqlite").returncode == 2
    assert goldset("answers", "stats", "nowhere.sqlite").returncode == 1
