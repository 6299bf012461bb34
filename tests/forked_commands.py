"""Commands as processes of their own that start with everything imported, in a tenth of a new interpreter's time.

What depends on the start of an interpreter (its seed of hashes, what libraries read when they are imported) needs a new
one; `fits` tells by the environment. Two servers take turns, so that two runs of a command have different seeds of
hashes, as those of two new interpreters are. tests/test_docs.py starts every kind of command as users do.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
LATE = (
    "COLUMNS", "COV_", "FORCE_COLOR", "GOLDBENCH_", "NO_COLOR", "OPENAI_", "PATH", "PYTEST_", "PYTHONPATH", "TERM",
    "KMP_", "RAY_CLIENT_MODE", "TORCHINDUCTOR_", "_RJEM_",
)  # fmt: skip
"""How the variables begin that are read when a command runs, or that libraries set in the process of the tests."""
AT_THE_START = dict(os.environ)


def fits(environment: Mapping[str, str]) -> bool:
    """Return whether a process with this environment may be forked, which is tried on Linux alone."""
    changed = dict(environment.items() ^ AT_THE_START.items())
    return sys.platform == "linux" and all(name.startswith(LATE) for name in changed)


@cache
def _servers() -> Iterator[socket.socket]:
    """Start the servers and give them in turns; they end with this process."""
    found = []
    for _ in range(2):
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.fork_server", str(there.fileno())]
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=ROOT, stdin=nothing, stdout=nothing, pass_fds=[there.fileno()])
        atexit.register(_end, here, process)
        there.close()
        found.append(here)
    return itertools.cycle(found)


def _end(server: socket.socket, process: subprocess.Popen[bytes]) -> None:
    server.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:  # a process that a test forked holds the other end
        process.kill()
        process.wait()


class Forked:
    """A forked command: what these tests use of `subprocess.Popen`, with its output and errors kept.

    Args:
        command: Its words, without the program.
        folder: Its working folder.
        environment: All its variables.
    """

    def __init__(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
        self.returncode: int | None = None
        job = {"command": command, "folder": str(folder), "environment": dict(environment)}
        (self._out, out), (self._err, err), (status, told) = (os.pipe() for _ in range(3))
        socket.send_fds(next(_servers()), [json.dumps(job).encode()], [out, err, told])
        for end in (out, err, told):
            os.close(end)
        self._status = status
        self.pid = self._number()

    def poll(self) -> int | None:
        """Return the exit code, or None while the command runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self._wait()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal if the command still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float = 250) -> tuple[str, str]:
        """Wait until the command and its streams end, and return what it printed; kill it after `timeout` seconds."""
        texts = {self._out: b"", self._err: b""}
        left, end = {*texts}, time.monotonic() + timeout
        while left:
            ready = select.select([*left], [], [], max(0.0, end - time.monotonic()))[0]
            if not ready:
                self.send_signal(signal.SIGKILL)
                raise subprocess.TimeoutExpired("goldbench", timeout)
            for stream in ready:
                data = os.read(stream, 2**16)
                texts[stream] += data
                if not data:
                    left.remove(stream)
                    os.close(stream)
        if self.returncode is None:
            self._wait()
        out, err = (text.decode("utf-8").replace("\r\n", "\n") for text in texts.values())
        return out, err

    def _wait(self) -> None:
        self.returncode = self._number()
        os.close(self._status)

    def _number(self) -> int:
        digits = b""
        while not digits.endswith(b"\n"):
            byte = os.read(self._status, 1)
            if not byte:
                raise RuntimeError("the server of forked commands has ended")
            digits += byte
        return int(digits)


Running = Forked | subprocess.Popen[str]


def start(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Running:
    """Start a command as a process of its own: a fork where its environment allows that, else a new interpreter.

    Args:
        command: Its words, without the program.
        folder: Its working folder.
        environment: All its variables.
    """
    if fits(environment):
        return Forked(command, folder, environment)
    return subprocess.Popen(
        [sys.executable, "-m", "goldbench", *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*command: object) -> None:
    """Run a command from the folder of the checkout, for a fixture that outlives a test; fail if the command does."""
    process = start([*map(str, command)], ROOT, {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'pipeline'}"})
    said = process.communicate(timeout=100)
    assert process.returncode == 0, said
