"""How a model file uses this machine: how many processes, the threads of each, and its layers on a graphics card."""

from __future__ import annotations

import functools
import math
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from goldbench.errors import UsageError
from goldbench.llm.catalogue import memory_needed
from goldbench.llm.server_settings import ModelSettings
from goldbench.processes.own_process import environment_without_keys, usable_processors

PROCESS = "goldbench.llm.local.model_process"
"""The module that a process of a model runs; it alone imports what runs the model."""
ENVIRONMENT = ("HOME", "LD_LIBRARY_PATH", "USERPROFILE", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""Variables that it needs besides the usual ones."""
ALL_LAYERS = 999

_SMALL = 500
"""Megabytes of a file up to which it runs on one thread and no graphics card: a reply is then the same everywhere."""
_MOST_PROCESSES = 8
_MOST_THREADS = 8
"""Beyond it the memory, not the processor, sets the speed of one process."""
_NEARLY_IDLE = 0.25
"""Share of a core that others may use. Two threads of a 1.5B model on two cores that others used as well wrote 0.2 to
1.4 tokens a second, one thread 5.6: each waits for the other, which has lost its core."""
_START_S = 60.0


class Layout(NamedTuple):
    """How many processes serve a model at once, the threads of each, and the layers on the graphics card."""

    processes: int
    threads: int
    gpu_layers: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine has left, in processor cores and megabytes; ``memory`` is None where nothing tells it."""

    cores: int
    memory: float | None
    graphics: float = 0.0

    @classmethod
    def now(cls, *, own_load: float = 0, own_memory: float = 0.0) -> Machine:
        """Return what is left now, counting as free what the model's own processes use."""
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        memory = _free_megabytes()
        cores = int(usable_processors() - max(0.0, load - own_load) + _NEARLY_IDLE)
        return cls(max(1, cores), None if memory is None else memory + own_memory)


def layout(megabytes: float, machine: Machine, settings: ModelSettings) -> Layout:
    """Return how a model of this size is served.

    Several processes of one thread answer more calls than one process of several, but each holds the model: a larger
    file gets a thread per gigabyte, and the cores that are left where memory holds no other process.
    """
    small = megabytes <= _SMALL
    layers = settings.gpu_layers
    if layers is None:
        layers = ALL_LAYERS if not small and machine.graphics >= memory_needed(megabytes) else 0
    threads = settings.threads or (1 if small else math.ceil(megabytes / 1000))
    held = _MOST_PROCESSES if machine.memory is None else int(machine.memory / memory_needed(megabytes))
    most = 1 if layers else min(_MOST_PROCESSES, settings.calls_at_once)
    processes = max(1, min(most, held, machine.cores // threads))
    if settings.threads is None and not small:
        threads = max(1, min(_MOST_THREADS, machine.cores // processes))
    return Layout(processes, threads, layers)


def layout_now(settings: ModelSettings, *, own_load: float = 0, own_processes: int = 0) -> Layout:
    """Return how the model of these settings is served as this machine is now.

    Args:
        settings: The settings of a model that is a file.
        own_load: What its processes add to the system's load.
        own_processes: The processes that it has.
    """
    assert settings.file is not None
    megabytes = settings.file.stat().st_size / 1e6
    machine = Machine.now(own_load=own_load, own_memory=own_processes * memory_needed(megabytes))
    if settings.gpu_layers is None and megabytes > _SMALL:
        machine = replace(machine, graphics=graphics_megabytes())
    return layout(megabytes, machine, settings)


def check_graphics(gpu_layers: int | None) -> None:
    """Refuse layers on a graphics card where none is seen.

    Raises:
        UsageError: There is none.
    """
    if gpu_layers and not graphics_megabytes():
        problem = "the installed xllamacpp sees no graphics card: install its build for your card, or leave it out"
        raise UsageError(problem, parameter="gpu")


@functools.cache
def graphics_megabytes() -> int:
    """Return the free memory of the graphics cards that llama.cpp sees, 0 without one.

    A process of its own looks, so that no driver is loaded into this one.
    """
    command = [sys.executable, "-P", "-m", PROCESS, "graphics"]
    try:
        done = subprocess.run(  # noqa: S603  a module of goldbench
            command, env=environment_without_keys(*ENVIRONMENT), capture_output=True, timeout=_START_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(done.stdout) if done.stdout.strip().isdigit() else 0


def _free_megabytes() -> float | None:
    """Return the memory that Linux would give to new processes, None on other systems."""
    try:
        match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 / 1e6 if match else None
