"""The processes of a model end with the command, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.conftest import IMPORT_PATH, posix
from tests.generate.test_build import corpus
from tests.llm.local.installed import needs_local_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), posix]  # a busy machine takes its time

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a build with the bundled model; it is ended at the latest with the test."""
    needs_local_model()
    started: list[subprocess.Popen[str]] = []

    def build(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "goldbench", "build", *map(str, arguments), "--model", "local"]
        environment = {**os.environ, "PYTHONPATH": IMPORT_PATH}
        with (tmp_path / "said.txt").open("w", encoding="utf-8") as said:
            started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=said, text=True))
        return started[-1]

    yield build
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def long_build(start: Start, tmp_path: Path) -> subprocess.Popen[str]:
    """A build that takes minutes, because the long prompt is too much for the model."""
    corpus(tmp_path / "docs")
    (tmp_path / "c.toml").write_text('[generate]\nprompt_style = "long"\n', encoding="utf-8")
    return start("docs", "--out", "run", "--config", "c.toml")


def child_at_work(build: subprocess.Popen[str], *, other: psutil.Process | None = None) -> psutil.Process:
    """Wait until the command has a child other than this one that answers a call, and return it."""
    child = _waited(lambda: next((one for one in children(build) if one != other), None))
    _waited(lambda: sum(child.cpu_times()[:2]) > 1.5)  # loading takes less
    return child


def children(build: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the processes of the command's model that have not ended."""
    found = psutil.Process(build.pid).children()
    return [one for one in found if not gone(one) and "model_process" in " ".join(one.cmdline())]


def _waited(look: Callable[[], psutil.Process | bool | None], seconds: float = 200.0) -> psutil.Process:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found  # type: ignore[return-value]
        time.sleep(0.05)
    raise AssertionError(f"nothing within {seconds} s")


def gone(child: psutil.Process) -> bool:
    return not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_process_of_the_model_ends_with_the_command(
    number: signal.Signals, long_build: subprocess.Popen[str], tmp_path: Path
) -> None:
    child = child_at_work(long_build)
    long_build.send_signal(number)
    code = long_build.wait(60)
    _waited(lambda: gone(child), 10)
    assert code == (130 if number == signal.SIGTERM else -number)
    if code == 130:
        said = (tmp_path / "said.txt").read_text(encoding="utf-8")
        assert said.splitlines()[-1] == "goldbench: interrupted; run the same command again to continue"


def test_a_process_that_ends_twice_ends_the_run_in_one_line(long_build: subprocess.Popen[str], tmp_path: Path) -> None:
    child = child_at_work(long_build)
    child.kill()
    _waited(lambda: gone(child), 10)
    child_at_work(long_build, other=child).kill()
    assert long_build.wait(60) == 2
    assert (
        (tmp_path / "said.txt")
        .read_text(encoding="utf-8")
        .splitlines()[-1]
        .endswith(
            "the process of the model ended 2 times (last with signal 9); every answer so far is kept: "
            "free memory or take a smaller model, then run again"
        )
    )
    assert not (tmp_path / "run" / "dataset.json").exists()
