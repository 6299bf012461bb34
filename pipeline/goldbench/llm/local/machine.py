"""How a model file uses this machine: how many processes, and the threads of each."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from goldbench.llm.catalogue import memory_needed
from goldbench.llm.server_settings import ModelSettings
from goldbench.processes.own_process import usable_processors

_SMALL = 500
"""Megabytes of a file up to which a process has one thread: a reply is then the same on every machine."""
_MOST_PROCESSES = 8
_MOST_THREADS = 8
"""Beyond it the memory, not the processor, sets the speed of one process."""
_NEARLY_IDLE = 0.25
"""Share of a core that others may use. Two threads of a 1.5B model on two cores that others used as well wrote 0.2 to
1.4 tokens a second, one thread 5.6: each waits for the other, which has lost its core."""


class Layout(NamedTuple):
    """How many processes serve a model at once, and the threads of each."""

    processes: int
    threads: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine has left, in processor cores and megabytes; ``memory`` is None where nothing tells it."""

    cores: int
    memory: float | None

    @classmethod
    def now(cls) -> Machine:
        """Return what is left now."""
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        return cls(max(1, int(usable_processors() - load + _NEARLY_IDLE)), _free_megabytes())


def layout(megabytes: float, machine: Machine, *, calls_at_once: int) -> Layout:
    """Return how a model of this size is served.

    Several processes of one thread answer more calls than one process of several, but each holds the model: a larger
    file gets a thread per gigabyte, and the cores that are left where memory holds no other process.
    """
    is_small = megabytes <= _SMALL
    threads = 1 if is_small else math.ceil(megabytes / 1000)
    held = _MOST_PROCESSES if machine.memory is None else int(machine.memory / memory_needed(megabytes))
    processes = max(1, min(_MOST_PROCESSES, calls_at_once, held, machine.cores // threads))
    return Layout(processes, threads if is_small else max(1, min(_MOST_THREADS, machine.cores // processes)))


def layout_now(settings: ModelSettings) -> Layout:
    """Return how the model of these settings, which is a file, is served as this machine is now."""
    assert settings.file is not None
    return layout(settings.file.stat().st_size / 1e6, Machine.now(), calls_at_once=settings.calls_at_once)


def _free_megabytes() -> float | None:
    """Return the memory that Linux would give to new processes, None on other systems."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 / 1e6 if match else None
