"""Which servers a command opens: those that the set, the command line or the environment names, and no other."""

from __future__ import annotations

import errno
import json
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.config import load_config
from goldbench.formats.toml import write_toml
from goldbench.goldset.file_names import CONFIG, MANIFEST
from goldbench.goldset.publication import sha256_of
from goldbench.llm.connections import is_loopback
from goldbench.llm.local.model_file import bundled_file
from goldbench.llm.server_settings import OPENAI
from goldbench.retrieval.system_settings import EmbeddingSettings, HyDESettings, RerankEndpointSettings
from goldbench.systems.destinations import destinations, text_line
from tests.conftest import Goldbench
from tests.generate.test_kinds import linked
from tests.llm.local.installed import needs_local_model
from tests.model_server.fixture import ServerHandle

DIGEST = "0" * 64
KEY = "sk-key-of-somebody-1234"
EDIT = "\nSince last winter the storks of the village nest on the roof of the boiler room, and nobody minds them.\n"
BENCH = """\
[systems.expanded]
kind = "hyde"
of = "bm25"
[systems.ordered]
kind = "listwise"
of = "bm25"
[systems.vectors]
kind = "embedding"
model = "e"
"""

attempts: list[str] = []
"""Hosts outside this machine that were to be reached while a test watched."""
_watch: dict[str, bool] = {"on": False}


def _refuse_outside(event: str, arguments: tuple[Any, ...]) -> None:
    """Note and refuse an attempt to reach another machine; a hook cannot be removed, so it looks whether to watch."""
    if not _watch["on"] or event not in {"socket.connect", "socket.getaddrinfo"}:
        return
    host = arguments[0]
    if event == "socket.connect":
        host = arguments[1][0] if isinstance(arguments[1], tuple) else None
    if isinstance(host, bytes):
        host = host.decode()
    if host and not is_loopback(host):
        attempts.append(host)
        raise OSError(errno.ENETUNREACH, "a test lets nothing out")


sys.addaudithook(_refuse_outside)


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Iterator[Goldbench]:
    """The command, watched: the test fails if it tries to reach another machine."""
    attempts.clear()
    _watch["on"] = True
    try:
        yield goldbench_inside
    finally:
        _watch["on"] = False
    assert attempts == []


def _write_inputs(folder: Path) -> None:
    linked(folder / "docs", 6)
    (folder / "own.txt").write_text("When does the engineer open the second inlet?\n", encoding="utf-8")
    (folder / "bench.toml").write_text(BENCH, encoding="utf-8")
    (folder / "model.toml").write_text('[generate]\ngenerator = "model"\n[model]\nname = "gpt-x"\n', encoding="utf-8")


def _edit(folder: Path) -> None:
    """Add a sentence to a document of the set."""
    with min((folder / "docs").iterdir()).open("a", encoding="utf-8") as file:
        file.write(EDIT)


SETS = ("simulated", "local", "file", "server")


def _write_set(kind: str, goldbench: Goldbench, folder: Path) -> None:
    """Build a set without a model, let it say that a model wrote it, and change a document."""
    _write_inputs(folder)
    done = goldbench("build", "docs", "--out", "set", "--generator", "simulated", "--queries", 4)
    assert done.returncode == 0, done.stderr
    assert goldbench("retrieve", "set", "-o", "run.trec").returncode == 0
    settings = folder / "set" / CONFIG
    tables = tomllib.loads(settings.read_text(encoding="utf-8"))
    recorded = {
        "local": {"name": "local", "digest": DIGEST},
        "file": {"name": "models/gone.gguf", "digest": DIGEST},
        "server": {"name": "m"},
    }
    if kind in recorded:
        tables["generate"]["generator"] = "model"
        tables["model"] = recorded[kind]
    write_toml(settings, tables)
    manifest = json.loads((folder / "set" / MANIFEST).read_text(encoding="utf-8"))
    manifest["files"][CONFIG] = sha256_of(settings)
    (folder / "set" / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    _edit(folder)


ANYWHERE = {
    "refresh": ("refresh", "set"),
    "grade": ("grade", "set"),
    "topup": ("topup", "set", "--run", "new=run.trec"),
    "add": ("add", "set", "own.txt"),
    "ask": ("ask", "set", "--question", "When does the engineer come?"),
    "drift": ("drift", "set", "--queries", "own.txt"),
    "bench": ("bench", "set", "--system", "bm25"),
    "card": ("card", "set"),
    "doctor": ("doctor",),
    "grade --dry-run": ("grade", "set", "--dry-run"),
    "build": ("build", "docs", "--out", "new"),
    "build --replay": ("build", "docs", "--out", "new", "--replay"),
}
"""Commands that name no model."""

WITHOUT_A_SERVER = {
    "refresh": ("refresh", "set", "--model", "gpt-x"),
    "refresh --config": ("refresh", "set", "--config", "model.toml"),
    "grade": ("grade", "set", "--model", "gpt-x"),
    "judges": ("grade", "set", "--model", "gpt-x", "--judges", "gpt-y"),
    "topup": ("topup", "set", "--run", "new=run.trec", "--model", "gpt-x"),
    "ask": ("ask", "set", "--question", "When?", "--model", "gpt-x"),
    "drift": ("drift", "set", "--queries", "own.txt", "--model", "gpt-x"),
    "build": ("build", "docs", "--out", "new", "--model", "gpt-x"),
    "build --config": ("build", "docs", "--out", "new", "--config", "model.toml"),
    "build --grade": ("build", "docs", "--out", "new", "--generator", "simulated", "--grade", "--model", "gpt-x"),
    "doctor --try": ("doctor", "--try", "--config", "model.toml"),
    "vectors": ("retrieve", "set", "-o", "x.trec", "--config", "bench.toml", "--system", "vectors"),
    "rewritten queries": ("retrieve", "set", "-o", "x.trec", "--config", "bench.toml", "--system", "expanded"),
    "listwise": ("retrieve", "set", "-o", "x.trec", "--config", "bench.toml", "--system", "ordered"),
}
"""Commands that name a model and no server."""


@pytest.mark.parametrize("key", ["", KEY], ids=["no key", "a key"])
@pytest.mark.parametrize("kind", SETS)
def test_a_set_leads_no_command_to_a_server_that_nobody_named(
    kind: str, key: str, goldbench: Goldbench, tmp_path: Path
) -> None:
    _write_set(kind, goldbench, tmp_path)
    codes = {}
    for name, command in ANYWHERE.items():
        done = goldbench(*command, OPENAI_API_KEY=key)
        codes[name] = done.returncode
        assert attempts == [], (name, done.stderr)
        if done.returncode == 2:
            assert len(done.stderr.splitlines()) == 1, done.stderr
            assert not key or "OPENAI_API_KEY" not in done.stderr, "it is set already"
            options = set(re.findall(r"--[a-z-]+", done.stderr))
            assert options <= set(re.findall(r"--[a-z-]+", goldbench(command[0], "--help").stdout))
    assert codes["refresh"] == (0 if kind == "simulated" else 2)
    assert (codes["grade"], codes["topup"]) == (2, 2)
    assert (codes["add"], codes["drift"], codes["bench"], codes["card"]) == (0, 0, 0, 0)


@pytest.mark.parametrize("name", WITHOUT_A_SERVER)
def test_a_model_without_a_server_is_one_line(name: str, goldbench: Goldbench, tmp_path: Path) -> None:
    _write_set("server", goldbench, tmp_path)
    done = goldbench(*WITHOUT_A_SERVER[name])
    assert done.returncode == 2, done.stdout
    last = done.stderr.splitlines()
    assert len(last) == (2 if name == "doctor --try" else 1), done.stderr
    assert not (tmp_path / "new").exists()


def test_bench_goes_on_without_the_systems_whose_server_nobody_named(goldbench: Goldbench, tmp_path: Path) -> None:
    _write_set("simulated", goldbench, tmp_path)
    systems = ("vectors", "expanded", "ordered", "bm25")
    named = [word for system in systems for word in ("--system", system)]
    assert goldbench("bench", "set", "--config", "bench.toml", *named).returncode == 3
    assert [path.stem for path in (tmp_path / "set" / "bench" / "runs").iterdir()] == ["bm25"]


def test_the_key_of_another_service_does_not_name_openai(goldbench: Goldbench, tmp_path: Path) -> None:
    _write_set("simulated", goldbench, tmp_path)
    text = '[model]\nname = "large"\napi_key_env = "OTHER_KEY"\n'
    (tmp_path / "other.toml").write_text(text, encoding="utf-8")
    done = goldbench("build", "docs", "--out", "new", "--config", "other.toml", OTHER_KEY=KEY)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr


def test_a_set_of_a_server_asks_the_server_that_is_named_again(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    _write_inputs(tmp_path)
    address = model_server.base_url
    done = goldbench("build", "docs", "--out", "set", "--queries", 2, "--model", "m", "--base-url", address)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == text_line([address])
    assert address not in (tmp_path / "set" / CONFIG).read_text(encoding="utf-8")
    _edit(tmp_path)
    model_server.reset()
    for key in ("", KEY):
        assert goldbench("refresh", "set", OPENAI_API_KEY=key).returncode == 2
    assert model_server.stats()["requests"] == 0
    done = goldbench("refresh", "set", "--queries", 3, OPENAI_BASE_URL=address)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == text_line([address])
    assert model_server.stats()["requests"] > 0


@pytest.mark.parametrize(
    ("command", "text_goes"),
    [
        (("build", "docs", "--out", "new", "--generator", "simulated"), False),
        (("build", "docs", "--out", "new", "--generator", "simulated", "--grade", "--model", "m"), True),
        (("build", "docs", "--out", "new", "--model", "m", "--dry-run"), False),
        (("refresh", "set"), False),
        (("grade", "set", "--model", "m"), True),
        (("grade", "set", "--model", "m", "--dry-run"), False),
        (("topup", "set", "--run", "new=run.trec", "--model", "m"), True),
        (("ask", "set", "--question", "When?", "--model", "m"), True),
        (("ask", "set", "--question", "When?", "--no-model"), False),
        (("drift", "set", "--queries", "own.txt"), False),
        (("drift", "set", "--queries", "own.txt", "--model", "m"), True),
        (("bench", "set", "--system", "bm25"), False),
        (("bench", "set", "--config", "bench.toml", "--system", "vectors"), True),
        (("retrieve", "set", "-o", "x.trec"), False),
        (("retrieve", "set", "-o", "x.trec", "--config", "bench.toml", "--system", "vectors"), True),
        (("doctor", "--model", "m"), False),
        (("doctor", "--model", "m", "--try"), True),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_the_first_line_says_where_text_goes(
    command: tuple[str, ...], text_goes: bool, goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    _write_set("simulated", goldbench, tmp_path)
    done = goldbench(*command, OPENAI_BASE_URL=model_server.base_url)
    assert done.stderr.splitlines()[0] == text_line([model_server.base_url] if text_goes else [])
    asked = {request["kind"] for request in model_server.requests()} - {"models"}
    assert text_goes or not asked


def test_each_part_of_a_system_is_counted_among_the_places_where_text_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    local = load_config(None, {"model": {"name": "local"}})
    rerank = RerankEndpointSettings(of="bm25", url="https://rerank.example/v1/rerank", model="r")
    embedding_settings = EmbeddingSettings(model="e", base_url="http://127.0.0.1:9/v1")
    assert destinations(local, [HyDESettings(of="bm25")], chat=True) == []
    assert destinations(local, [rerank, embedding_settings], chat=True) == [rerank.url, embedding_settings.base_url]
    assert destinations(local, [rerank, embedding_settings], chat=True, replay=True) == []
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert destinations(local, [EmbeddingSettings(model="e")], chat=True) == [OPENAI]
    assert "rerank.example" in text_line([rerank.url])
    assert "rerank.example" not in text_line([str(embedding_settings.base_url)])


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_set_of_a_model_on_this_machine_is_made_again_by_the_same_file_alone(
    goldbench: Goldbench, tmp_path: Path, model_server: ServerHandle
) -> None:
    needs_local_model()
    linked(tmp_path / "docs", 2)
    shutil.copyfile(bundled_file(), tmp_path / "own.gguf")
    for out, model in (("a", "local"), ("b", "own.gguf")):
        done = goldbench("build", "docs", "--out", out, "--model", model, "--queries", 1)
        assert done.returncode == 3, done.stderr
        assert done.stderr.splitlines()[0] == text_line([])
        recorded = tomllib.loads((tmp_path / out / CONFIG).read_text(encoding="utf-8"))["model"]
        assert recorded["name"] == model
        assert len(recorded["digest"]) == 64
    _edit(tmp_path)
    named = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": model_server.base_url}
    for out in ("a", "b"):
        done = goldbench("refresh", out, "--queries", 2, **named)
        assert done.returncode == 3, done.stderr
        assert done.stderr.splitlines()[0] == text_line([])
    with (tmp_path / "own.gguf").open("ab") as file:
        file.write(b"another")
    for changed in (True, False):
        if not changed:
            (tmp_path / "own.gguf").unlink()
        done = goldbench("refresh", "b", "--queries", 3, **named)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert model_server.stats()["requests"] == 0
