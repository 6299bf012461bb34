"""Worker processes on the nodes of a cluster, used as those of this machine are.

This machine reads the files and sends their bytes, so that nodes need no folder of documents and all see the same
files.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from goldbench.cluster.ray_cluster import Cluster, cluster
from goldbench.cluster.remote_object import Lost, RemoteObject
from goldbench.errors import GoldbenchError, Message
from goldbench.formats.documents.worker_pool import NODES_FAIL, Answer, Crash, Item, Late, WorkerProcess
from goldbench.formats.faults import Fault
from goldbench.formats.regular_files import open_regular, read_whole

_MOST_JOBS = 64
"""Most processes, unless more are asked for: this machine merges what all of them answer."""
_PART_BYTES = 8 * 2**20
"""Most bytes of a file that are sent at once."""
_ANSWERS_AT_ONCE = 8
"""Most answers that come back at once."""


class NodeWorker:
    """What a node holds: a worker process, and the file that it reads."""

    def __init__(self) -> None:
        self._process = WorkerProcess.start()
        self._answers: Iterator[Answer | None] = iter(())
        self._folder = tempfile.TemporaryDirectory(prefix="goldbench-files-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name) / "document"

    def write(self, data: bytes, suffix: str, is_first: bool) -> None:
        """Write a part of the file, whose suffix tells how a table is read."""
        self._path = self._path.with_suffix(suffix)
        with self._path.open("wb" if is_first else "ab") as file:
            file.write(data)

    def begin(self, item: Item, data: bytes, is_first: bool) -> list[Answer | None]:
        """Write the last part of the file, have the process answer the item, and return its first answers."""
        self.write(data, item.get("suffix", ""), is_first)
        if not self._process.is_alive():
            self._process = WorkerProcess.start()
        self._answers = self._process.answers([{**item, "path": os.fsencode(self._path).hex()}])
        return self.next_answers()

    def next_answers(self) -> list[Answer | None]:
        """Return the next answers, None after the last one; of a process that ended ``crash``."""
        answers: list[Answer | None] = []
        try:
            for answer in islice(self._answers, _ANSWERS_AT_ONCE):
                answers.append(answer)  # noqa: PERF402  those before a crash are kept
        except Crash as error:
            answers.append({"crash": type(error).__name__})
        return answers

    def close(self) -> None:
        """End the process and remove the file."""
        self._process.stop()
        self._folder.cleanup()


class DistantProcess:
    """A worker process on a node.

    Args:
        remote: The `NodeWorker`.
    """

    def __init__(self, remote: RemoteObject) -> None:
        self._remote = remote
        self._is_alive = True

    def is_alive(self) -> bool:
        """Return whether it takes requests; that its machine is gone is found when an answer is read."""
        return self._is_alive

    def answers(self, items: Sequence[Item]) -> Iterator[Answer | None]:
        """Yield the answers to each item, and None after its last; raise `Late`, `Crash` or `Lost`."""
        for item in items:
            try:
                answers = self._begin(item)
            except Fault as fault:  # as the worker would say it
                answers = [{"problem": fault.problem, "line": fault.line}, None]
            while True:
                for answer in answers:
                    if answer is not None and "crash" in answer:
                        raise Late if answer["crash"] == Late.__name__ else Crash
                    yield answer
                if answers[-1] is None:
                    break
                answers = self._call("next_answers", seconds=item["seconds"] * _ANSWERS_AT_ONCE)

    def _begin(self, item: Item) -> list[Answer | None]:
        """Send an item with the bytes of its file, and return the first answers.

        Raises:
            Fault: The file cannot be opened or read, or is too large for one document.
        """
        part = b""
        is_first = True
        if item["kind"] == "table":
            with open_regular(_path(item)) as file:
                part = file.read(_PART_BYTES)
                while data := file.read(_PART_BYTES):
                    self._call("write", part, item["suffix"], is_first)
                    part = data
                    is_first = False
        elif item["kind"] != "chunk":
            part = read_whole(_path(item), megabytes=item["megabytes"])
        seconds = item["seconds"] * _ANSWERS_AT_ONCE
        answers: list[Answer | None] = self._call("begin", item, part, is_first, seconds=seconds)
        return answers

    def rest(self) -> None:
        """End the process: a node keeps none that has nothing to do."""
        self.stop()

    def kill(self) -> None:
        """End the process at once; who reads its answers finds their end."""
        self._is_alive = False
        self._remote.kill()

    def stop(self) -> None:
        """End the process and remove its file."""
        if self._is_alive:
            with contextlib.suppress(Lost):
                self._call("close", seconds=0)
        self.kill()

    def _call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:  # noqa: ANN401
        try:
            return self._remote.call(method, *arguments, seconds=seconds)
        except Lost:
            self._is_alive = False
            raise


def _path(item: Item) -> Path:
    return Path(os.fsdecode(bytes.fromhex(item["path"])))


class NodeWorkers:
    """The worker processes on the nodes of a cluster.

    Args:
        nodes: The cluster.
    """

    def __init__(self, nodes: Cluster) -> None:
        self._nodes = nodes

    @property
    def jobs(self) -> int:
        """How many processes there are by default: one for each processor of the cluster, at most 64."""
        return min(self._nodes.processors, _MOST_JOBS)

    def start(self) -> DistantProcess:
        """Return a new process on a node.

        Raises:
            GoldbenchError: This process has left the cluster.
        """
        try:
            return DistantProcess(self._nodes.place(NodeWorker))
        except Lost as error:
            raise GoldbenchError(Message(NODES_FAIL, f"no worker can be started ({error})")) from None


def node_workers() -> NodeWorkers:
    """Return the worker processes on the cluster of this process; raises as `cluster`."""
    return NodeWorkers(cluster())
