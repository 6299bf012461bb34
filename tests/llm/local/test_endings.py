"""The processes of a model end with the command, however it ends."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests.build.test_build import artifacts, corpus
from tests.conftest import ROOT, posix
from tests.llm.local.installed import needs_local_model

pytestmark = [pytest.mark.slow, posix]


def start(folder: Path) -> tuple[subprocess.Popen[str], psutil.Process]:
    """Start a build that takes minutes, and return it with the process of its model, at work."""
    needs_local_model()
    corpus(folder / "docs")
    (folder / "c.toml").write_text('[model]\nname = "local"\nmax_answer_tokens = 1000\n', encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "goldbench", "build", "docs", "--out", "run", "--config", "c.toml"]
    build = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    return build, child_at_work(build)


def child_at_work(build: subprocess.Popen[str], *, other: psutil.Process | None = None) -> psutil.Process:
    """Wait until the command has a child other than this one that answers a call, and return it."""
    child = _waited(lambda: next((one for one in children(build) if one != other), None), 60)
    _waited(lambda: sum(child.cpu_times()[:2]) > 1.5, 60)  # loading takes less
    return child


def children(build: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the processes of the command's model that have not ended."""
    found = psutil.Process(build.pid).children()
    return [one for one in found if not gone(one) and "model_process" in " ".join(one.cmdline())]


def _waited(look: Callable[[], psutil.Process | bool | None], seconds: float) -> psutil.Process:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found  # type: ignore[return-value]
        time.sleep(0.05)
    raise AssertionError(f"nothing within {seconds} s")


def gone(child: psutil.Process) -> bool:
    return not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_the_process_of_the_model_ends_with_the_command(number: signal.Signals, tmp_path: Path) -> None:
    build, child = start(tmp_path)
    build.send_signal(number)
    _, said = build.communicate(timeout=20)
    _waited(lambda: gone(child), 10)
    assert build.returncode == (130 if number in {signal.SIGINT, signal.SIGTERM} else -number)
    if build.returncode == 130:
        assert said.splitlines()[-1] == "goldbench: interrupted; run the same command again to continue"


def test_a_process_that_ends_twice_ends_the_run_in_one_line(tmp_path: Path) -> None:
    build, child = start(tmp_path)
    child.kill()
    _waited(lambda: gone(child), 10)
    child_at_work(build, other=child).kill()
    _, said = build.communicate(timeout=60)
    assert build.returncode == 1
    assert said.splitlines()[-1].endswith(
        "the process of the model ended 2 times (last with signal 9); every answer so far is kept: "
        "free memory or take a smaller model, then run again"
    )
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_killed_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    needs_local_model()
    documents = ROOT / "data" / "example" / "documents" / "manual"

    def build(place: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "goldbench", "build", documents, "--out", f"{place}/run", "--queries", "14"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            [*command, "--model", "local"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
        )

    killed = build("killed")
    _waited(lambda: _answers(tmp_path / "killed") >= 4, 100)
    killed.kill()
    killed.wait()
    paid = _answers(tmp_path / "killed")
    assert not (tmp_path / "killed" / "run" / "dataset.json").exists()
    assert [build(place).wait(100) for place in ("killed", "undisturbed")] == [0, 0]
    assert artifacts(tmp_path / "killed" / "run") == artifacts(tmp_path / "undisturbed" / "run")
    assert paid < _answers(tmp_path / "killed") == _answers(tmp_path / "undisturbed")


def _answers(folder: Path) -> int:
    """Return how many answers the store beside a set holds, 0 while there is none."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'answers.sqlite'}?mode=ro", uri=True)) as store:
            return int(store.execute("SELECT count(*) FROM answers").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
