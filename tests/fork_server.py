"""A process that forks for each command, and has imported what earlier ones imported: `python -m tests.fork_server`."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import os
import selectors
import socket
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

NOT_FORKED = frozenset({"grpc", "ray", "sentence_transformers", "torch", "transformers", "xllamacpp"})
"""Packages with threads of their own, which do not survive a fork."""
OWN = Path(__file__).resolve().parent.parent


class Server:
    """Wait for commands and for their ends.

    Args:
        jobs: Where commands arrive, each with descriptors for its output, its errors, and its process id and exit code.
        learned: A folder in which ended commands name the modules they imported.
    """

    def __init__(self, jobs: socket.socket, learned: Path) -> None:
        self.jobs, self.learned = jobs, learned
        self.running: dict[int, tuple[int, int]] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(jobs, selectors.EVENT_READ)

    def serve(self) -> dict[str, Any] | None:
        """Return the command to run in a forked process, and None in this one when no more will arrive."""
        while True:
            for key, _ in self.selector.select():
                if isinstance(key.fileobj, int):
                    self._ended(key.fileobj)
                    continue
                data, descriptors, _, _ = socket.recv_fds(self.jobs, 2**20, 3)
                if not data:
                    return None
                if self._forked(*descriptors):
                    job: dict[str, Any] = json.loads(data)
                    return job

    def _forked(self, out: int, err: int, status: int) -> bool:
        with warnings.catch_warnings():  # of threads that a library keeps for its own use, in Python 3.12 and later
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            for number, stream in ((1, out), (2, err)):
                os.dup2(stream, number)
            for other in (out, err, status, *self.running, *(told for _, told in self.running.values())):
                os.close(other)
            self.selector.close()
            self.jobs.close()
            return True
        os.close(out)
        os.close(err)
        os.write(status, b"%d\n" % pid)
        ended = os.pidfd_open(pid)
        self.running[ended] = pid, status
        self.selector.register(ended, selectors.EVENT_READ)
        return False

    def _ended(self, ended: int) -> None:
        pid, status = self.running.pop(ended)
        self.selector.unregister(ended)
        os.close(ended)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):  # nobody waits for it
            os.write(status, b"%d\n" % code)
        os.close(status)
        if (names := self.learned / str(pid)).exists():
            _learn(json.loads(names.read_text(encoding="utf-8")))
            names.unlink()


def _learn(names: list[str]) -> None:
    """Import what a command imported, without the modules of its own folder."""
    for name in names:
        with contextlib.suppress(Exception):
            if _is_installed(name.partition(".")[0]):
                importlib.import_module(name)
            if name == "py3langid.langid":  # its model takes a second to load, in every command that needs it
                importlib.import_module("goldbench.text.language").detect_language("The model is loaded by this.")


def _is_installed(package: str) -> bool:
    if package in sys.stdlib_module_names:
        return True
    found = None if package in NOT_FORKED else importlib.util.find_spec(package)
    place = Path(found.origin).resolve() if found and found.origin else None
    return place is not None and (place.is_relative_to(OWN) or place.is_relative_to(Path(sys.prefix).resolve()))


def _stream(number: int, **how: Any) -> io.TextIOWrapper[io.BufferedWriter]:
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding="utf-8", **how)


def _work(job: dict[str, Any], learned: Path) -> None:
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    out, err = _stream(1), _stream(2, errors="backslashreplace", line_buffering=True)
    sys.stdout = sys.__stdout__ = out  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = err  # type: ignore[misc]
    sys.path[0], sys.argv = job["folder"], ["goldbench", *job["command"]]
    known = set(sys.modules)
    from goldbench.__main__ import main

    try:
        main()
    finally:
        names = [name for name in sys.modules if name not in known and not name.startswith("_")]
        with contextlib.suppress(OSError):  # the server has ended
            (learned / str(os.getpid())).write_text(json.dumps(names), encoding="utf-8")


if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    server = Server(socket.socket(fileno=int(sys.argv[1])), folder)
    if command := server.serve():
        _work(command, folder)
    else:
        with contextlib.suppress(OSError):
            folder.rmdir()
