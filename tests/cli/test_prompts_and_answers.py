"""``goldbench prompts`` shows what is sent; ``goldbench answers`` looks after what came back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.llm.store import AnswerStore, StoredReply
from goldbench.ports import Usage
from tests.conftest import Goldbench
from tests.generate.test_build import corpus
from tests.llm.local.installed import needs_local_model
from tests.model_server.fixture import ServerHandle


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


def test_what_is_rendered_is_what_is_sent(goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle) -> None:
    corpus(tmp_path / "docs", 1)
    shown = goldbench("prompts", "render", "docs")
    assert shown.returncode == 0, shown.stderr
    url = ("--base-url", model_server.base_url, "--model", "m")
    assert goldbench("build", "docs", "--out", "run", "--queries", 1, *url).returncode == 0
    sent = str(model_server.requests()[0]["body"])
    user = shown.stdout.split("# User\n\n")[1].strip()
    for line in user.splitlines():
        assert line.replace('"', '\\"') in sent or line in sent, line


def _write_statements(folder: Path) -> None:
    folder.mkdir()
    text = "The pump house of Karlsruhe was built in 1888 by two engineers of the works. It is open on Sundays in May."
    (folder / "a.md").write_text(f"# Pump house\n\n{text}\n\n{text.replace('1888', '1931')}\n")


def test_what_is_rendered_for_a_tiny_model_is_what_is_sent(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    _write_statements(tmp_path / "docs")
    config = f'[model]\nname = "tiny-135m"\nbase_url = "{model_server.base_url}"\n'
    (tmp_path / "tiny.toml").write_text(config, encoding="utf-8")
    shown = json.loads(goldbench("prompts", "render", "docs", "--json", "--config", "tiny.toml").stdout)
    assert shown["id"] == "choose.v1"
    assert not model_server.requests()
    goldbench("build", "docs", "--out", "run", "--queries", 1, "--config", "tiny.toml")
    messages = model_server.requests()[0]["body"]["messages"]
    assert (messages[0]["content"], messages[-1]["content"]) == (shown["system"], shown["user"])


def test_the_bundled_model_is_shown_the_prompt_of_tiny_models(goldbench: Goldbench, tmp_path: Path) -> None:
    needs_local_model()
    _write_statements(tmp_path / "docs")
    (tmp_path / "local.toml").write_text('[model]\nname = "local"\n', encoding="utf-8")
    shown = goldbench("prompts", "render", "docs", "--json", "--config", "local.toml")
    assert json.loads(shown.stdout)["id"] == "choose.v1", shown.stderr


def test_prompts_are_listed_and_shown(goldbench: Goldbench) -> None:
    listed = goldbench("prompts", "list")
    assert "generate.v1" in listed.stdout
    assert "{{passage}}" in goldbench("prompts", "show", "generate.v1").stdout
    unknown = goldbench("prompts", "show", "poem.v1")
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)


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
