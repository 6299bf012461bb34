"""docs/how_to/gate_in_ci.md and track_results.md: their commands, their test and their output are run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, SETTINGS
from tests.packaging.action_job import ACTION
from tests.score.test_trackers import python

GATE, TRACK = (
    (ROOT / "docs" / "how_to" / name).read_text(encoding="utf-8") for name in ("gate_in_ci.md", "track_results.md")
)


def block(page: str, kind: str, place: int = 0) -> str:
    """A code block of a page."""
    return re.findall(rf"^(`{{3,}}){kind}\n(.*?)^\1$", page, re.MULTILINE | re.DOTALL)[place][1]  # type: ignore[no-any-return]


def commands(page: str) -> list[tuple[list[str], int]]:
    """The commands of a page, and the exit code that it names."""
    lines = [line.partition(" # exits ") for line in block(page, "sh").splitlines()]
    return [(shlex.split(command), int(code or 0)) for command, _, code in lines]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in {*SETTINGS, "CI", "PYTEST_ADDOPTS"}}
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "data" / "example", tmp_path / "data" / "example")
    return tmp_path


@pytest.mark.slow
def test_the_page_shows_what_the_gate_and_pytest_write(checkout: Path) -> None:
    for arguments, code in commands(GATE):
        done = run(checkout, *arguments)
        assert done.returncode == code, (arguments, done.stderr)
    assert (checkout / "gate.md").read_text(encoding="utf-8") == block(GATE, "markdown")
    (checkout / "test_search.py").write_text(block(GATE, "python"), encoding="utf-8")
    quick = [part for name in ("asyncio", "xdist", "langsmith", "hypothesispytest") for part in ("-p", f"no:{name}")]
    written = run(checkout, "pytest", *quick, "--goldbench-write-baselines", "-k", "before")
    assert "1 passed" in written.stdout, written.stdout
    done = run(checkout, "pytest", *quick)
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    shown = [
        line.replace(str(checkout), "/home/me/search") for line in done.stdout.splitlines() if line[:2] in {"> ", "E "}
    ]
    assert "\n".join(shown) + "\n" == block(GATE, "text")


def test_the_workflow_of_the_page_uses_the_action_as_it_is() -> None:
    workflow = yaml.safe_load(block(GATE, "yaml"))
    (job,) = workflow["jobs"].values()
    (step,) = (one for one in job["steps"] if one["uses"].endswith("/.github/actions/gate@REF"))
    assert set(step["with"]) <= set(ACTION["inputs"])
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= set(step["with"])
    assert workflow["permissions"]["pull-requests"] == "write"


def test_the_page_lists_every_input_and_output() -> None:
    table = GATE.split("| input | meaning |")[1].split("\n\n")[0]
    named = set(re.findall(r"`([\w-]+)`", table))
    assert set(ACTION["inputs"]) | {"documents", "config"} <= named
    outputs = GATE.split("Outputs are ")[1].split("\n\n")[0]
    assert all(f"`{name}`" in outputs for name in ACTION["outputs"])


def test_the_image_of_the_page_is_served_as_it_is_tried() -> None:
    tried = (ROOT / ".ci" / "try-image").read_text(encoding="utf-8")
    options = ("--host 0.0.0.0 --allow-network --port 8808", "--hostname localhost --publish 127.0.0.1:8808:8808")
    assert all(option in page for option in options for page in (GATE, tried))


@pytest.mark.slow
def test_the_commands_that_track_results_work(checkout: Path) -> None:
    store = {"MLFLOW_TRACKING_URI": f"file:{checkout / 'store'}", "MLFLOW_ALLOW_FILE_STORE": "true"}
    for arguments, code in commands(TRACK):
        logs = "--to" in arguments
        done = python(checkout, "-m", *arguments, WANDB_MODE="offline", **store) if logs else run(checkout, *arguments)
        assert done.returncode == code, (arguments, done.stderr)
        assert ("Logged: bm25 as " in done.stderr) == logs
    for shown in ("ndcg_at_10.low", "per_query.csv"):
        assert shown in TRACK
        assert list((checkout / "store").rglob(shown))
