"""The API key is in no output, file, message or process list, whatever a server does with it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import IMPORT_PATH, ROOT, SETTINGS
from tests.generate.test_build import corpus
from tests.model_server.fixture import ServerHandle

KEY = "sk-CANARYcanary0123456789"
ERROR = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": KEY, "param": KEY, "type": KEY}}
ECHOES: dict[str, dict[str, Any]] = {
    "refused": {"status": 401, "body": ERROR, "headers": {"x-key": KEY, "www-authenticate": f'Bearer realm="{KEY}"'}},
    "failing": {"status": 500, "body": ERROR},
    "wrong": {"status": 400, "body": ERROR},
    "text": {"status": 422, "body": f"cannot use {KEY}"},
    "redirect": {"status": 308, "headers": {"location": f"https://{KEY}.example/{KEY}?k={KEY}"}},
    "redirect to a path": {"status": 302, "headers": {"location": f"/{KEY}"}},
    "page": {"status": 200, "body": f"<html>{KEY}</html>"},
    "reply": {"status": 200, "headers": {"x-key": KEY}, "body": {
        "model": KEY, "id": KEY, "system_fingerprint": KEY,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(
            {"skip_reason": f"the key is {KEY}", "candidates": []}
        )}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
    }},
    "no answer": {"status": 200, "body": {"choices": [
        {"finish_reason": "stop", "message": {"content": f"{KEY} {{not json", "refusal": KEY}}
    ]}},
}  # fmt: skip


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of simulated queries to grade and to search."""
    folder = tmp_path_factory.mktemp("keys")
    corpus(folder / "docs", 12)
    done = _run(folder, "build", "docs", "--out", "gold", "--queries", "4", "--generator", "simulated")
    assert done[0] == 0, done[1]
    return folder


def _run(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command and return its exit code and output; the process list is read all the while."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    settings = {**kept, "PYTHONPATH": IMPORT_PATH, "COLUMNS": "200", "GOLDBENCH_DEBUG": "1", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "goldbench", *arguments],
        cwd=folder, env=settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    seen: list[str] = []

    def watch() -> None:
        while process.poll() is None:
            seen.extend(_command_lines(process.pid))
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said, _ = process.communicate(timeout=100)
    watcher.join()
    return process.returncode, said + "\n".join(seen)


def _command_lines(pid: int) -> Iterator[str]:
    """Yield the command lines of a process and those below it."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                yield " ".join(one.cmdline())


def _commands(url: str, name: str) -> Iterator[tuple[str, ...]]:
    server = ("--base-url", url, "--model", "m", "--answers", f"{name}.sqlite", "--deadline", "0.1")
    yield ("build", "docs", "--out", f"built-{name}", "--queries", "4", *server)
    yield ("grade", "gold", *server)
    yield ("doctor", "--try", "--base-url", url, "--model", "m", "--answers", f"{name}.sqlite")
    yield ("retrieve", "gold", "-c", f"{name}.toml", "--system", "ranked", "-o", f"{name}.trec", *server[4:6])
    yield ("bench", "gold", "-c", f"{name}.toml", "--out", f"bench-{name}", *server[4:6])


@pytest.mark.parametrize(
    "name", [name if name == "reply" else pytest.param(name, marks=pytest.mark.slow) for name in ECHOES]
)
def test_a_key_that_a_server_repeats_is_written_nowhere(gold: Path, model_server: ServerHandle, name: str) -> None:
    action = ECHOES[name]
    models = {"when": {"kind": "models"}, "do": {**action, "status": action["status"]}}
    model_server.script({"do": action}, models)
    commands = list(_commands(model_server.base_url, name))
    table = f'[model]\nname = "m"\nbase_url = "{model_server.base_url}"\ndeadline_minutes = 0.1\n'
    systems = '[systems.bm25]\nkind = "bm25"\n[systems.ranked]\nkind = "listwise"\nof = "bm25"\n'
    (gold / f"{name}.toml").write_text(table + systems)
    some = {"reply": commands[:1], "failing": commands[2:3]}
    for command in some.get(name, commands):
        _, said = _run(gold, *command, OPENAI_API_KEY=KEY)
        assert "(see goldbench --help)" not in said, said  # a refused command line shows nothing
        assert name != "failing" or "the server answers HTTP 500 (5 attempts)" in (" ".join(said.split()))
        assert KEY.lower() not in said.lower(), command
    sent = [row for row in model_server.requests() if KEY in json.dumps(row["body"])]
    assert not sent  # the key is in a header alone
    for path in gold.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_the_key_of_the_bundled_models_process_is_in_no_process_list(gold: Path) -> None:
    from tests.llm.local.installed import needs_local_model

    needs_local_model()
    documents = str(ROOT / "data/example/documents/manual")
    command = ("build", documents, "--out", "local", "--queries", "2", "--model", "local", "--answers", "local.sqlite")
    _, said = _run(gold, *command, OPENAI_API_KEY=KEY)
    assert KEY not in said
    lines = [line for line in said.splitlines() if "goldbench.llm.local.model_process" in line]
    assert lines
    assert all(line.split()[-1] == "goldbench.llm.local.model_process" for line in lines)  # no argument at all
