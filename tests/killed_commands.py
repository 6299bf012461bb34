"""Commands that are killed before one of their writing file operations: any moment of a write can be tried."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

MOMENTS = 30

_CHILD = """
import os, runpy, signal, sys
place, last, tally = sys.argv[1], int(sys.argv[2]), sys.argv[3]
done = 0
def watch(event, arguments):
    global done
    if event == "open":
        writes = arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    else:
        writes = event in {"os.rename", "os.remove", "os.mkdir", "os.rmdir"}
    if not writes or not any(place in str(one) for one in arguments[:2]):
        return
    done += 1
    if done == last:
        os.kill(os.getpid(), signal.SIGKILL)
sys.argv = ["goldbench", *sys.argv[4:]]
sys.addaudithook(watch)
try:
    runpy.run_module("goldbench", run_name="__main__", alter_sys=True)
finally:
    with open(tally, "w") as file:
        file.write(str(done))
"""


def run_killed(place: Path, operation: int, *command: object) -> None:
    """Run a command in a process that is killed before the given writing operation below a folder, counted from 1."""
    process = _run(place, operation, Path("/dev/null"), command)
    assert process.returncode == -signal.SIGKILL, process.stderr


def operations(place: Path, tally: Path, *command: object) -> int:
    """Run a command to its end, and return how many writing operations below a folder it did."""
    process = _run(place, 0, tally, command)
    assert process.returncode == 0, process.stderr
    return int(tally.read_text(encoding="utf-8"))


def moments(count: int) -> Iterator[int]:
    """Yield thirty of so many operations, evenly spread from the first to the last."""
    assert count >= MOMENTS
    yield from sorted({*(round(1 + one * (count - 1) / (MOMENTS - 1)) for one in range(MOMENTS))})


def _run(place: Path, last: int, tally: Path, command: tuple[object, ...]) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", _CHILD, str(place), str(last), str(tally), *map(str, command)]
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
