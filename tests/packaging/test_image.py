"""The Dockerfile, as far as it can be tried without a daemon: its commands are run as shell text in a folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, SETTINGS, posix

pytestmark = posix
TEXT = (ROOT / ".ci" / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [
    tuple(line.split(maxsplit=1))
    for line in re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
    if line
]
STAGES = [place for place, (word, _) in enumerate(INSTRUCTIONS) if word == "FROM"]
BUILD, FINAL = INSTRUCTIONS[: STAGES[1]], INSTRUCTIONS[STAGES[1] :]


def last(word: str) -> str:
    """What an instruction of the final stage says."""
    return [text for name, text in FINAL if name == word][-1]


def test_the_image_runs_as_nobody_keeps_the_ledger_and_pins_its_base() -> None:
    assert last("USER") == "10001:10001"
    assert json.loads(last("VOLUME")) == ["/ledger"]
    bases = {text.split()[0] for word, text in INSTRUCTIONS if word == "FROM"}
    assert len(bases) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", bases.pop())


def test_what_is_copied_is_let_through_to_the_daemon_and_nothing_else() -> None:
    ignored = (ROOT / ".ci" / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = {name for word, text in BUILD if word == "COPY" for name in text.split()[:-1]}
    assert ignored[0] == "*"
    assert copied == let_through


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "PYTHONPATH", "VIRTUAL_ENV"}}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs that the first stage makes, with its own commands."""
    place = tmp_path_factory.mktemp("image")
    source, made = place / "src", place / "opt"
    source.mkdir()
    for word, text in BUILD:
        if word == "COPY":
            *names, target = text.split()
            for name in names:
                into = source / target / (Path(name).name if target.endswith("/") or target == "./" else "")
                into.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, into, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, into)
        if word == "RUN":
            # The cache of this machine saves the downloads, and what is used once need not be compiled first.
            command = text.replace("/opt/goldbench", str(made)).replace("--no-cache ", "").replace("--compile ", "")
            kept = environment() | {"UV_SYSTEM_CERTS": "1"}
            done = subprocess.run(
                ["bash", "-c", command], cwd=source, env=kept, capture_output=True, text=True, timeout=200, check=False
            )
            assert done.returncode == 0, done.stderr
    return made / "bin"


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_commands_of_the_image_build_it_show_help_and_tell_a_healthy_page(program: Path, tmp_path: Path) -> None:
    kept = environment() | {"PATH": f"{program}:/usr/bin:/bin"}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=100, check=False)

    shown = run(*json.loads(last("ENTRYPOINT")), *json.loads(last("CMD")))
    assert "Usage: goldbench" in shown.stdout
    documents = ROOT / "data" / "example" / "documents" / "manual"
    built = run("goldbench", "build", str(documents), "--out", "set", "--generator", "simulated", "--queries", "10")
    assert built.returncode == 0, built.stderr
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tried = (ROOT / ".ci" / "try-image").read_text(encoding="utf-8")
    served = shlex.split(re.search(r"goldbench (review serve .*)", tried)[1].replace("8808", str(port)))  # type: ignore[index]
    given = {"/sets/example": "set", "/ledger/example.sqlite": "ledger.sqlite", "0.0.0.0": "127.0.0.1"}
    health = json.loads(last("HEALTHCHECK").split(" CMD ")[1].replace("8808", str(port)))
    assert run(*health).returncode != 0
    with (tmp_path / "log").open("w", encoding="utf-8") as log:
        page = subprocess.Popen(
            ["goldbench", *(given.get(one, one) for one in served)], cwd=tmp_path, env=kept, stdout=log, stderr=log
        )
        try:
            ends = time.monotonic() + 90
            while run(*health).returncode and page.poll() is None and time.monotonic() < ends:
                time.sleep(0.2)
            assert run(*health).returncode == 0, (tmp_path / "log").read_text(encoding="utf-8")
        finally:
            page.terminate()
            page.wait(100)
    assert (tmp_path / "ledger.sqlite").is_file()
