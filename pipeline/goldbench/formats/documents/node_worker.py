"""What a node of a cluster holds: a worker process, and the files that were sent to it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldbench.formats.documents.worker_process import WorkerProcess

Parts = Iterable[tuple[str, bytes]]
"""Parts of files, each with the name of its file; the parts of one file are in order."""
Reply = tuple[bytes | None, bool]
"""A part of a reply, None if the worker process is gone, and whether it was ended because it took too long."""
_PREFIX = "goldbench-files-"
_LEFT_S = 86_400.0
"""Delete folders older than this (1 day): their node worker was killed."""


class NodeWorker:
    """A worker process on a node; its requests come from another machine, and so do the files that they name."""

    def __init__(self) -> None:
        _remove_left()
        self._process: WorkerProcess | None = None
        self._folder: Path | None = None
        self._number = 0

    def put(self, number: int, parts: Parts) -> None:
        """Add parts to the ends of files; the files of an earlier request are removed.

        Args:
            number: The number of the request that the files belong to, 1 or more.
            parts: The parts.
        """
        if number != self._number:
            self.clear()
            self._number = number
        for name, data in parts:
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
            with (self._folder / name).open("ab") as file:
                file.write(data)

    def ask(self, number: int, request: Mapping[str, Any], parts: Parts, seconds: float) -> Reply:
        """Send a request to the process, started if there is none, and return the first part of its reply.

        Args:
            number: The number of the request.
            request: The request. Its items hold the names of files that were put, where they would hold paths.
            parts: The last parts of these files.
            seconds: How long the part of the reply may take.
        """
        self.put(number, parts)
        if self._process is None or not self._process.is_alive():
            self.stop()
            self._process = WorkerProcess.start()
        self._process.send(self._with_paths(request))
        return self.more(seconds)

    def more(self, seconds: float) -> Reply:
        """Return the next part of the reply; see `ask`."""
        assert self._process is not None
        data = self._process.reply(seconds)
        return data, self._process.late

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.stop()
            self._process = None

    def clear(self) -> None:
        """Remove the files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder, self._number = None, 0

    def _with_paths(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the request with the paths of the files on this node."""
        if request["kind"] != "read":
            return request
        assert self._folder is not None
        items = [{**item, "path": os.fsencode(self._folder / item["path"]).hex()} for item in request["items"]]
        return {**request, "items": items}


def _remove_left() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if time.time() - folder.stat().st_mtime > _LEFT_S:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # another one was faster
            continue
