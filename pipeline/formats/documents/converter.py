"""Conversion of documents in a worker process, which is reused, and replaced when a document made it fail."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from goldbench.pipeline.errors import MissingExtra, require
from goldbench.pipeline.formats.documents.worker import limits_memory
from goldbench.pipeline.formats.faults import Fault

_SECONDS_PER_MEGABYTE = 10.0
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
"""The environment variables that the worker gets; none of them holds a key."""

_PAGE = ("lxml", "markdownify")
_READERS = {**dict.fromkeys((".html", ".htm", ".xhtml"), _PAGE), ".rst": ("docutils", *_PAGE)}
"""The packages that read a type, those that a message names first; ``markitdown`` reads the others."""

CONVERTED = frozenset({"html", "rst", "office"})
"""The kinds of files that are converted in the process of their own."""


def memory_note(kinds: Iterable[str]) -> str | None:
    """Return one line if files of these kinds are converted on a system that cannot limit memory, else None."""
    if limits_memory() or CONVERTED.isdisjoint(kinds):
        return None
    return "Note: this system cannot limit memory; a damaged HTML, rst, PDF or office file may take all of it."


class Converter:
    """Turns HTML, reStructuredText, PDF and office files into text in a process of its own.

    Args:
        seconds: The time limit for one file, in addition to 10 s per MB of its size.
        megabytes: The size limit for one file in MB, and for its text in millions of characters.
    """

    def __init__(self, *, seconds: float = 60.0, megabytes: int = 64) -> None:
        self._seconds, self._megabytes = seconds, megabytes
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def convert(self, path: Path, kind: str | None = None) -> tuple[str | None, str]:
        """Return the document's title, if it has one, and its text.

        Args:
            path: The file.
            kind: The suffix of its type, ``.rst`` for example; by default that of its name.

        Raises:
            Fault: The file is damaged, encrypted, holds no text, or took too much time or memory.
            MissingExtra: The package that reads this type is not installed.
        """
        kind = kind or path.suffix.lower()
        require("documents", *_READERS.get(kind, ("markitdown",)))
        size = 0
        with contextlib.suppress(OSError):  # if the file is gone, the worker will say so
            size = path.stat().st_size
        seconds = self._seconds + _SECONDS_PER_MEGABYTE * min(size / 2**20, self._megabytes)
        request = {
            "path": os.fsencode(path.absolute()).hex(),
            "kind": kind,
            "megabytes": self._megabytes,
            "seconds": seconds,
        }
        started = time.monotonic()
        line = self._exchange(json.dumps(request).encode() + b"\n", seconds)
        if not line.endswith(b"\n"):
            self._stop()
            late = time.monotonic() - started >= seconds
            raise Fault(f"took more than {seconds:.0f} s to convert" if late else "made the converter crash")
        reply = json.loads(line)
        if missing := reply.get("missing"):
            raise MissingExtra(missing, "documents")
        if problem := reply.get("problem"):
            raise Fault(problem)
        return reply["title"], reply["text"]

    def _exchange(self, request: bytes, seconds: float) -> bytes:
        if self._process is not None and self._process.poll() is not None:
            self._stop()
        process = self._process = self._process or _start()
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = threading.Timer(seconds, process.kill)
        deadline.daemon = True
        deadline.start()
        try:
            process.stdin.write(request)
            process.stdin.flush()
            return process.stdout.readline()
        except OSError:  # the process is gone; Windows does not call that a broken pipe
            return b""
        finally:
            deadline.cancel()

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()  # between two files it holds nothing worth finishing
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()


def _start() -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name.upper() in _KEPT}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "goldbench.pipeline.formats.documents.worker"],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
