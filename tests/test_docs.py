"""The README is true: every command in it is run, in the order it stands there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SETTINGS
from tests.model_server.fixture import ServerHandle

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
COMMANDS = [line.split(" #")[0].strip() for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    path = f"{Path(sys.executable).parent}:{kept['PATH']}"
    return subprocess.run(
        shlex.split(command),
        cwd=folder,
        env={**kept, "PATH": path},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_every_goldset_command_of_the_readme_works(tmp_path: Path, model_server: ServerHandle) -> None:
    shutil.copytree(ROOT / "data" / "example", tmp_path / "data" / "example")
    (tmp_path / "zh.toml").write_text(next(block for kind, block in BLOCKS if kind == "toml"), encoding="utf-8")
    ran = [command for command in COMMANDS if command.startswith("goldset ")]
    assert len(ran) >= 6
    for command in ran:
        done = run(command.replace("http://127.0.0.1:11434/v1", model_server.base_url), tmp_path)
        assert done.returncode == 0, (command, done.stderr)


def test_every_make_target_of_the_readme_exists() -> None:
    targets = [shlex.split(command)[1] for command in COMMANDS if command.startswith("make ")]
    assert {"dataset", "test"} <= set(targets)
    for target in targets:
        assert run(f"make --dry-run {target}", ROOT).returncode == 0, target


def test_there_is_no_other_kind_of_command() -> None:
    assert not [command for command in COMMANDS if command and not command.startswith(("goldset ", "make "))]


def test_the_python_of_the_readme_runs() -> None:
    for code in [block for kind, block in BLOCKS if kind == "python"][1:]:
        assert subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=ROOT, check=False).returncode == 0, code


@pytest.mark.skipif(not (ROOT / ".venv" / ".runtime").exists(), reason="made by make install")
def test_make_dataset_gives_what_the_readme_shows(tmp_path: Path) -> None:
    done = run(f"make dataset OUT={tmp_path / 'run'}", ROOT)
    assert done.returncode == 0, done.stderr
    shown = next(block for kind, block in BLOCKS if not kind and block.startswith("documents  "))
    for line in filter(None, shown.splitlines()):
        expected = " ".join(line.replace("data/runs/example", str(tmp_path / "run")).split())
        assert expected in " ".join(done.stdout.split()), (line, done.stdout)
    assert "simulated" in done.stderr
    python = next(block for kind, block in BLOCKS if kind == "python")
    code = python.replace("data/runs/example", str(tmp_path / "run"))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    for quoted in re.findall(r'"([^"]{20,}?)(?:, \.\.\.)?"', python):
        if not quoted.startswith("data/"):
            assert quoted in (tmp_path / "run" / "dataset.json").read_text(encoding="utf-8"), quoted
