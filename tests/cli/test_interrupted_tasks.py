"""An interrupt that falls into one of many tasks ends the command with one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT, posix

COMMAND = """
import asyncio, os, signal
from goldbench.pipeline.build.waves import bounded
from goldbench.pipeline.cli import process

async def connection():
    pass

async def work(item):
    await asyncio.sleep(0)
    if item == 3:
        begun = connection()
        os.kill(os.getpid(), signal.SIGINT)
        await begun
    await asyncio.sleep(30)

async def command():
    async with asyncio.TaskGroup() as group:
        group.create_task(bounded(work, range(8), limit=8, take=lambda _: None))
        group.create_task(asyncio.sleep(30))

process._run = lambda _: asyncio.run(command())
process.main()
"""


@posix
def test_an_interrupt_in_a_task_prints_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.stderr == "goldbench: interrupted; run the same command again to continue\n"
    assert done.returncode == 130
