"""An interrupt ends a build that runs in a thread of its own: at once, nothing half done, nothing lost."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import goldbench
from goldbench.api.loop_thread import run_apart
from goldbench.ports import Progress
from goldbench.report.terminal import on_standard_error
from tests.conftest import IMPORT_PATH, posix
from tests.generate.test_build import corpus
from tests.model_server.fixture import ServerHandle

DURING_A_CALL = """
import asyncio, sys, threading, goldbench
def work():
    return goldbench.build("docs", out="run", queries=6, model="m", base_url=sys.argv[1], progress=False)
async def inside():
    return work()
try:
    asyncio.run(inside()) if sys.argv[2] == "loop" else work()
except KeyboardInterrupt:
    print("interrupted", [one.name for one in threading.enumerate()])
"""
DURING_A_STAGE = """
import threading, goldbench
print("started", flush=True)
try:
    goldbench.build(texts=("word " * 30 + str(n) for n in range(300_000)), out="run", progress=False)
except KeyboardInterrupt:
    print("interrupted", [one.name for one in threading.enumerate()])
"""


def started(folder: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    return subprocess.Popen(
        command, cwd=folder, env={"PYTHONPATH": IMPORT_PATH}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@posix
@pytest.mark.parametrize("where", ["loop", pytest.param("script", marks=pytest.mark.slow)])
def test_an_interrupt_during_calls_leaves_nothing_and_loses_no_answer(
    tmp_path: Path, model_server: ServerHandle, where: str
) -> None:
    corpus(tmp_path / "docs")
    model_server.script(latency_ms={"uniform": [50, 2000]}, seed=1)
    process = started(tmp_path, DURING_A_CALL, model_server.base_url, where)
    while process.poll() is None and model_server.stats()["answered"] < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert out.startswith("interrupted ['MainThread'"), err
    assert "asyncio-portal" not in out
    assert not (tmp_path / "run").exists()
    model_server.script()
    model_server.reset()
    options = {"model": "m", "base_url": model_server.base_url, "queries": 6, "progress": False}
    gold = goldbench.build(tmp_path / "docs", out=tmp_path / "run", **options)  # type: ignore[arg-type]
    assert gold.complete
    assert 0 < model_server.stats()["requests"] < 6


@posix
@pytest.mark.slow
def test_an_interrupt_during_a_stage_without_calls_ends_it(tmp_path: Path) -> None:
    process = started(tmp_path, DURING_A_STAGE)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    while process.poll() is None and not (tmp_path / ".run.unfinished").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=100)
    assert out == "interrupted ['MainThread']\n", err
    assert not (tmp_path / "run").exists()


def test_an_error_in_the_thread_is_raised_where_it_was_called() -> None:
    async def fails(_: Progress) -> None:
        raise goldbench.InputError("there", "is wrong")

    with pytest.raises(goldbench.InputError, match="there: is wrong"):
        run_apart(fails, on_standard_error(quiet=True))
