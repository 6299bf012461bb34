"""A child process that serves one model, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from goldbench.pipeline.errors import ModelUnavailable

_END_S = 2.0
"""Seconds that the process gets to end by itself before it is killed."""
_KEPT = frozenset(
    {"HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "USERPROFILE"}
)
"""The variables of the environment that the process gets; keys are not among them."""
MODULE = "goldbench.pipeline.llm.local.model_process"


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


async def start_child(file: Path, name: str, *, context: int) -> ModelChild:
    """Start a process, wait until it has loaded the model, and return it.

    Args:
        file: The GGUF file.
        name: The name that replies give the model.
        context: The longest prompt and reply together, in tokens.

    Raises:
        ModelUnavailable: The process ended before its server listened.
    """
    environment = {name: value for name, value in os.environ.items() if name.upper() in _KEPT}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", MODULE),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in the terminal reaches the command alone
    )
    try:
        key = secrets.token_urlsafe(24)
        url = await _address(process, {"file": str(file), "name": name, "key": key, "context": context})
    except BaseException:
        await _ended(process)
        raise
    if not url:
        ending = await _ended(process)
        raise ModelUnavailable(f"{file}: the model cannot be loaded (its process ended with {ending})")
    return ModelChild(process, f"{url}/v1", key)


async def _address(process: asyncio.subprocess.Process, order: dict[str, object]) -> str:
    """Send the order and return the address that the process reports; empty if it ends instead."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    log = asyncio.ensure_future(process.stderr.read())  # read on, or a full pipe would stop the process
    try:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(json.dumps(order).encode() + b"\n")
            await process.stdin.drain()
        return (await process.stdout.readline()).decode("ascii", "replace").strip()
    finally:
        log.cancel()


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
