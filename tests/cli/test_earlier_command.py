"""The command of the project's earlier name: helps those who have used it, and stays out of everybody else's way."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from goldbench.pipeline.cli.earlier_command import quoted
from tests.conftest import ROOT

EARLIER = '{\n "format": 1,\n "goldset": "0.1.0",\n "created": "2026-01-31"}\n'
NOT_FOUND = (127, "", "goldset: command not found\n")
ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]["goldset"]
SCRIPT = f"import sys; from {ENTRY.split(':')[0]} import main; main()"


def goldset(folder: Path, *arguments: str | bytes, python: tuple[str, ...] = ()) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *python, "-c", SCRIPT, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def run_at(folder: Path, manifest: str = EARLIER) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["work", "work/mine", "work/runs/mine", "work/data/runs/mine"])
def test_who_has_a_run_folder_is_told_the_new_command(tmp_path: Path, place: str) -> None:
    run_at(tmp_path / place)
    (tmp_path / "other").mkdir()
    told = "goldset is now called goldbench: goldbench"
    assert goldset(tmp_path / "work", "score", "runs/mine") == (2, "", f"{told} score runs/mine\n")
    assert goldset(tmp_path / "other", "card", "../work") == (2, "", f"{told} card ../work\n")
    assert goldset(tmp_path / "other", "build", "--out=../work") == (2, "", f"{told} build --out=../work\n")


def test_everybody_else_is_told_what_a_shell_tells(tmp_path: Path) -> None:
    assert goldset(tmp_path, "score", "runs/mine") == NOT_FOUND
    run_at(tmp_path / "runs" / "new", EARLIER.replace("goldset", "goldbench"))
    run_at(tmp_path / "runs" / "foreign", '{"name": "goldset", "goldset": 1}')
    run_at(tmp_path / "runs" / "broken", "\x00")
    assert goldset(tmp_path, "score", "runs/new", "--run", "x=y") == NOT_FOUND


def test_folders_and_manifests_of_any_kind_do_no_harm(tmp_path: Path) -> None:
    with (run_at(tmp_path / "giant") / "manifest.json").open("wb") as file:
        file.truncate(1 << (20 if os.name == "nt" else 40))
    (tmp_path / "folder" / "manifest.json").mkdir(parents=True)
    if hasattr(os, "mkfifo"):
        (tmp_path / "pipe").mkdir()
        os.mkfifo(tmp_path / "pipe" / "manifest.json")
    (tmp_path / "shut").mkdir(mode=0)
    (tmp_path / "loop").symlink_to("loop")
    arguments = (
        "x" * 5000,
        "",
        "loop",
        "shut",
        "pipe",
        "folder",
        "~",
        "--out=",
        "-",
        "\ud800" if os.name == "nt" else b"\xff",
    )
    assert goldset(tmp_path, *arguments) == NOT_FOUND


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
def test_the_printed_command_is_safe_and_gives_the_same_arguments(tmp_path: Path) -> None:
    run_at(tmp_path / "mine")
    hostile = [
        "a b",
        "$(touch gone)",
        "it's",
        "`x`;&|",
        "",
        "\x1b[31mred\x07",
        "two\nlines",
        "Ünï",
        "-é\u202e\\",
        "\udcff",
    ]
    code, _, told = goldset(tmp_path, *map(os.fsencode, hostile))
    assert code == 2
    assert told.count("\n") == 1
    assert told[:-1].isprintable()
    line = told.partition(": goldbench ")[2]
    echo = f"{sys.executable} -c 'import os, sys; print([os.fsencode(a) for a in sys.argv[1:]])' {line}"
    done = subprocess.run(["bash", "-c", echo], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([os.fsencode(one) for one in hostile])
    assert not (tmp_path / "gone").exists()
    assert quoted(["goldbench", "score"]) == "goldbench score"


def test_it_imports_nothing_that_takes_time(tmp_path: Path) -> None:
    _, _, said = goldset(tmp_path, python=("-X", "importtime"))
    imported = {line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")}
    assert imported & {"typer", "pydantic", "numpy", "pandas", "polars", "asyncio", "rich"} == set()
