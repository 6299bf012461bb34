"""The form of every measurement: a figure, its anchor of the same run, the ratio, and the bar that it is held to."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

TIMES = int(os.environ.get("TIMES", "5"))
"""How often everything is measured; medians are printed."""
PACKAGES = ("numpy", "scipy", "polars", "pydantic", "openai", "langchain-text-splitters", "typer", "rich")
CLOCK = """
import json, resource, subprocess, sys, time
started = time.perf_counter()
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
clock, took = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, clock, took.ru_utime + took.ru_stime, took.ru_maxrss / 1024]))
"""
"""Starts a command and prints its exit code and what it took, without what starting Python takes here."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What one process took: seconds on the clock, seconds of the processors, the largest memory in MB."""

    clock: float
    cpu: float
    memory: float


def machine() -> str:
    """Return one line about the machine and the versions of what the measured code rests on."""
    try:
        told = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE)
    except OSError:
        told = None
    name = told[1] if told else platform.processor() or platform.machine()
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{package} {version(package)}" for package in ("goldbench", *PACKAGES))
    return (
        f"{name}, {usable} processors, {gigabytes:.0f} GB, load {os.getloadavg()[0]:.1f}; "
        f"{platform.system()}, Python {platform.python_version()}, {packages}"
    )


def row(what: str, figure: str, ratio: str, bar: str, *, met: bool) -> None:
    """Print a row: what was measured, its figure, the ratio to its anchor, the bar, and whether it is met."""
    print(f"| {what} | {figure} | {ratio} | {bar} | {'met' if met else 'missed'} |", flush=True)


def heading() -> None:
    """Print the head of the table of rows."""
    print("| measured | figure | ratio to its anchor | bar | |\n| --- | --- | --- | --- | --- |", flush=True)


def process(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    codes: Sequence[int] = (0,),
) -> Taken:
    """Run a command once and return what it and its own processes took.

    Args:
        command: The command.
        environment: Variables beside those of this process.
        folder: Where it runs.
        codes: The exit codes that it may end with.

    Raises:
        SystemExit: The command failed; the message is the last line that it printed.
    """
    done = subprocess.run(
        [sys.executable, "-S", "-c", CLOCK, *command],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "",
            **(environment or {}),
        },  # compiled modules are kept, as by users
        cwd=folder,
        check=False,
    )
    code, *taken = json.loads(done.stdout)
    if code not in codes:
        sys.exit(f"{command[0]} ended with {code}: {done.stderr.strip().splitlines()[-1:]}")
    return Taken(*taken)


def in_turn(measured: Mapping[str, Callable[[], Taken]], times: int = TIMES) -> dict[str, Taken]:
    """Measure several things in turn, so that what else the machine does falls on all alike; return the medians.

    Args:
        measured: What is measured, by name; everything is done once before it counts.
        times: How often each is measured.
    """
    found: dict[str, list[Taken]] = {name: [] for name in measured}
    for turn in range(times + 1):
        for name, take in measured.items():
            taken = take()
            if turn:
                found[name].append(taken)
    return {name: middle(all_taken) for name, all_taken in found.items()}


def middle(taken: Sequence[Taken]) -> Taken:
    """Return the medians of several measurements."""
    clock, cpu, memory = (
        statistics.median(column) for column in zip(*((one.clock, one.cpu, one.memory) for one in taken), strict=True)
    )
    return Taken(clock, cpu, memory)
