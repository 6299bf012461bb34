"""``goldbench prompts`` shows what is sent; ``goldbench answers`` looks after what came back."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.pipeline.llm.store import AnswerStore, StoredReply
from goldbench.pipeline.ports import Usage
from tests.build.test_build import corpus
from tests.conftest import Goldbench
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def test_what_is_rendered_is_what_is_sent(goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle) -> None:
    corpus(tmp_path / "docs", 1)
    shown = goldbench("prompts", "render", "docs")
    assert shown.returncode == 0, shown.stderr
    url = ("--base-url", model_server.base_url, "--model", "m")
    assert goldbench("build", "docs", "--out", "run", "--queries", 1, *url).returncode in {0, 3}
    sent = str(model_server.requests()[0]["body"])
    user = shown.stdout.split("# User\n\n")[1].strip()
    for line in user.splitlines():
        assert line.replace('"', '\\"') in sent or line in sent, line


def test_prompts_are_listed_and_shown(goldbench: Goldbench) -> None:
    listed = goldbench("prompts", "list")
    assert "generate.v1" in listed.stdout
    assert "{{passage}}" in goldbench("prompts", "show", "generate.v1").stdout
    unknown = goldbench("prompts", "show", "poem.v1")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)


def test_a_stores_answers_go_elsewhere_and_come_back(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    corpus(tmp_path / "docs")
    build = ("build", "docs", "--queries", 6, "--base-url", model_server.base_url, "--model", "m")
    assert goldbench(*build, "--out", "one", "--answers", "one.sqlite").returncode == 0
    asked = model_server.stats()["requests"]
    assert goldbench("answers", "export", "one.sqlite", "answers.jsonl").returncode == 0
    assert goldbench("answers", "import", "two.sqlite", "answers.jsonl").returncode == 0
    assert "generate.v1" in goldbench("answers", "stats", "two.sqlite").stdout
    assert goldbench(*build, "--out", "two", "--answers", "two.sqlite").returncode == 0
    assert model_server.stats()["requests"] == asked
    assert "deleted" in goldbench("answers", "prune", "two.sqlite", "--stage", "generate").stdout
    assert goldbench("answers", "prune", "two.sqlite").returncode == 2
    assert goldbench("answers", "stats", "nowhere.sqlite").returncode == 2


def test_the_export_of_a_store_onto_itself_is_a_wrong_call(goldbench: Goldbench, tmp_path: Path) -> None:
    with AnswerStore(tmp_path / "a.sqlite"):
        pass
    before = (tmp_path / "a.sqlite").read_bytes()
    done = goldbench("answers", "export", "a.sqlite", "a.sqlite")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (tmp_path / "a.sqlite").read_bytes() == before


async def test_what_a_server_called_its_model_cannot_write_to_the_terminal(
    goldbench: Goldbench, tmp_path: Path
) -> None:
    name = "\x1b]0;pwn\x07\x1b[31mred\nsecond\u202e" + "m" * 500
    with AnswerStore(tmp_path / "a.sqlite") as store:
        await store.put(b"k" * 32, StoredReply("grade", "grade.v1", name, "answer", "{}", "", Usage(1, 1)))
        await store.put_vectors(name, {b"v" * 32: b"\0" * 8})
    shown = goldbench("answers", "stats", "a.sqlite").stdout
    assert shown.replace("\n", "").isprintable()
    lines = shown.splitlines()
    assert len(lines) == 3
    assert "[31mred" in lines[0]
    assert max(map(len, lines[:2])) < 250
