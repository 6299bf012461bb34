"""A process of goldbench's own, seen from the process that starts it, and the messages between the two.

A message is a length of four bytes, and as many bytes of JSON.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any

_LENGTH = struct.Struct(">I")


def encoded(value: object) -> bytes:
    """Return a value as JSON, whatever characters its strings hold."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decoded(message: bytes) -> Any:  # noqa: ANN401  what the other process encoded
    """Return the value of a message."""
    return json.loads(message.decode("utf-8", "surrogatepass"))


def framed(message: bytes) -> bytes:
    """Return a message with its length before it."""
    return _LENGTH.pack(len(message)) + message


def next_message(stream: IO[bytes]) -> bytes | None:
    """Wait for the next message and return it; return None if the stream ended before the message did."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    message = stream.read(length)
    return message if len(message) == length else None


_KEPT = frozenset({"PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "PYTHONDONTWRITEBYTECODE"})
"""The environment variables that every process gets; none of them holds a key."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def environment_without_keys(*more: str) -> dict[str, str]:
    """Return the environment of a process of goldbench's own, which finds the same modules and no key.

    Args:
        more: Names of variables that the process needs besides the usual ones.
    """
    names = _KEPT.union(more)
    environment = {name: value for name, value in os.environ.items() if name.upper() in names}
    return environment | {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}


def usable_processors() -> int:
    """Return how many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


class OwnProcess:
    """Another Python process, which gets messages on standard input, answers on standard output, and has no key.

    Its input ends when this process ends, however that happens, and its module ends with the input.

    Args:
        module: The module that it runs.

    Raises:
        OSError: The system starts no process.
    """

    def __init__(self, module: str) -> None:
        self._popen = subprocess.Popen(  # noqa: S603  a module of goldbench
            [sys.executable, "-P", "-m", module],
            env=environment_without_keys() | dict.fromkeys(_ONE_THREAD, "1"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._popen.poll() is None

    def tell(self, values: Iterable[object]) -> None:
        """Send messages; that the process is gone is found when an answer is awaited."""
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.writelines(framed(encoded(value)) for value in values)
            self._popen.stdin.flush()
        except OSError:  # the process is gone, which Windows does not call a broken pipe
            self._popen.kill()

    def answer(self) -> bytes | None:
        """Wait for the next message of the process and return it; return None if the process ends before."""
        assert self._popen.stdout is not None
        with suppress(OSError):
            return next_message(self._popen.stdout)
        return None

    def kill(self) -> None:
        """End the process at once; the thread that waits for its answer finds its end."""
        self._popen.kill()

    def stop(self) -> None:
        """End the process and wait for its end."""
        self._popen.kill()
        for stream in (self._popen.stdin, self._popen.stdout):
            with suppress(OSError):  # closing writes what a process that has ended did not read
                if stream is not None:
                    stream.close()
        self._popen.wait()
