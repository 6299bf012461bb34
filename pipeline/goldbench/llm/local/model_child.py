"""A child process that serves one model, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from goldbench.errors import ModelUnavailable
from goldbench.llm.local.machine import ENVIRONMENT, PROCESS
from goldbench.processes.own_process import environment_without_keys

_END_S = 2.0
"""Seconds that the process gets to end by itself before it is killed."""
_LOG = 2**16
"""How many bytes of a log are kept."""
_NO_MEMORY = (
    r"annot allocate memory|insufficient memory|failed to allocate|bad_alloc|temporarily unavailable|MemoryError"
)


@dataclass(slots=True, eq=False)
class ModelChild:
    """A running process; ``url`` and ``key`` reach its server."""

    process: asyncio.subprocess.Process
    url: str
    key: str

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.returncode is not None

    async def end(self) -> str:
        """End the process and return how it ended: the signal that killed it, or its exit code."""
        return await _ended(self.process)


async def start_child(file: Path, name: str, *, context: int, threads: int = 1, gpu_layers: int = 0) -> ModelChild:
    """Start a process, wait until it has loaded the model, and return it.

    Args:
        file: The GGUF file.
        name: The name that replies give the model.
        context: The longest prompt and reply together, in tokens.
        threads: The threads that compute.
        gpu_layers: The most layers of the model on a graphics card.

    Raises:
        ModelUnavailable: The process cannot be started, or ended before its server listened.
    """
    environment = environment_without_keys(*ENVIRONMENT)
    environment["GGML_NO_BACKTRACE"] = "1"  # a failed assertion would start a debugger
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", PROCESS),
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal reaches the command alone
        )
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise ModelUnavailable(f"{file}: no process can be started for the model ({reason}): free memory") from None
    try:
        key = secrets.token_urlsafe(24)
        order = {"file": str(file), "name": name, "key": key, "context": context}
        url, log = await _reported(process, {**order, "threads": threads, "gpu_layers": gpu_layers})
    except BaseException:
        await _ended(process)
        raise
    if not url:
        ending = await _ended(process)
        raise ModelUnavailable(f"{file}: {why_not_loaded(log, ending)}")
    return ModelChild(process, f"{url}/v1", key)


async def _reported(process: asyncio.subprocess.Process, order: dict[str, object]) -> tuple[str, str]:
    """Send the order and return the address that the process reports (empty if it ends), and its log until then."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(json.dumps(order).encode() + b"\n")
        await process.stdin.drain()
    address, log = await asyncio.gather(process.stdout.readline(), _tail(process.stderr))
    return address.decode("ascii", "replace").strip(), log.decode("utf-8", "replace")


async def _tail(log: asyncio.StreamReader) -> bytes:
    """Read a log to its end and return its first part; the process closes it when the model is loaded."""
    first = b""
    while piece := await log.read(4096):
        first = (first + piece)[:_LOG]
    return first


def why_not_loaded(log: str, ending: str) -> str:
    """Return why a process ended before its model was loaded, and what to do about it.

    Args:
        log: What the process wrote to standard error.
        ending: The signal or the exit code with which it ended.
    """
    if re.search(_NO_MEMORY, log) or ending == "signal 9":
        return "not enough memory to load the model: free memory, raise the limit (ulimit -v) or take a smaller model"
    if kind := re.search(r"unknown model architecture: '([\w.-]{1,40})'", log):
        return f"this version of xllamacpp does not know models of the kind {kind[1]}: install a newer one"
    remedy = "download the file again, install a newer xllamacpp, or try another file"
    return f"the model cannot be loaded ({ending}): {remedy}"


async def _ended(process: asyncio.subprocess.Process) -> str:
    """Close the input of a process, wait for its end, kill it if need be, and return how it ended."""
    assert process.stdin is not None
    process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _END_S)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    code = process.returncode or 0
    return f"signal {-code}" if code < 0 else f"exit code {code}"
