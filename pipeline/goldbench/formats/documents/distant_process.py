"""Worker processes on the nodes of a cluster, used as those of this machine are.

This machine reads the files and sends their bytes, so that nodes need no folder of documents and all see the same
files. A file that cannot be opened or is too large is left to a process of this machine, which says what is wrong.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from goldbench.cluster.losses import Lost
from goldbench.cluster.ray_cluster import Cluster, cluster
from goldbench.cluster.remote_object import RemoteObject
from goldbench.errors import GoldbenchError, Message
from goldbench.formats.documents.node_worker import NodeWorker, Reply
from goldbench.formats.documents.task_exchange import NODES_FAIL
from goldbench.formats.documents.worker_process import WorkerProcess
from goldbench.formats.faults import Fault
from goldbench.formats.regular_files import open_regular

_MOST_JOBS = 64
"""Most processes, unless more are asked for: this machine merges what all of them answer."""
_PART_BYTES = 8 * 2**20
"""Most bytes of a part of a file."""
_PATIENCE_S = 30.0
"""Seconds for which a node keeps a worker that has nothing to do."""


class DistantProcess:
    """A worker process on a node.

    Args:
        remote: The `NodeWorker`.
        give_back: Takes the `NodeWorker` when this process is not needed any more.
    """

    def __init__(self, remote: RemoteObject, give_back: Callable[[RemoteObject], None]) -> None:
        self._remote, self._give_back = remote, give_back
        self._request: Mapping[str, Any] | None = None
        self._here: WorkerProcess | None = None
        self._sent = 0
        self._killed = False
        self.late, self.lost = False, ""

    def is_alive(self) -> bool:
        """Return whether it takes requests; that its machine is gone is found when a reply is read."""
        return not (self.late or self.lost or self._killed)

    def send(self, request: Mapping[str, Any]) -> None:
        """Take a request, which goes to the node when its reply is read."""
        self._leave_here()
        self._request = request
        self._sent += 1

    def reply(self, seconds: float) -> bytes | None:
        """Return the next part of the reply, None if none comes in time, or the process or its machine is gone."""
        request, self._request = self._request, None
        try:
            data, self.late = self._more(seconds) if request is None else self._first(request, seconds)
        except Lost as error:
            self.lost = str(error)
            return None
        return data

    def rest(self) -> None:
        """Let the node keep the process for the next reading."""
        self._leave_here()
        if not (self.lost or self._killed):
            self._give_back(self._remote)

    def kill(self) -> None:
        """End it at once; who reads its replies finds their end."""
        self._killed = True
        self._remote.kill()
        if self._here is not None:
            self._here.kill()

    def stop(self) -> None:
        """End the process; its node stays ready for another one."""
        if self._here is not None:
            self._here.stop()
            self._here = None
        if self.lost or self._killed:
            self._remote.kill()
            return
        with contextlib.suppress(Lost):
            self._remote.begin("stop")
            self._give_back(self._remote)

    def _first(self, request: Mapping[str, Any], seconds: float) -> Reply:
        names = [f"{number}{_suffix(item)}" for number, item in enumerate(request["items"])]
        try:
            parts: list[tuple[str, bytes]] = []
            size = 0
            for name, data in _parts(request, names):
                if size + len(data) > _PART_BYTES:
                    self._remote.call("put", self._sent, parts)
                    parts, size = [], 0
                parts.append((name, data))
                size += len(data)
        except (Fault, OSError):
            self._here = WorkerProcess.start()
            if self._killed:  # while it was started
                self._here.kill()
            self._here.send(request)
            return self._more(seconds)
        if request["kind"] == "read":
            items = [{**item, "path": name} for item, name in zip(request["items"], names, strict=True)]
            request = {**request, "items": items}
        answer: Reply = self._remote.call("ask", self._sent, request, parts, seconds, seconds=seconds)
        return answer

    def _more(self, seconds: float) -> Reply:
        if self._here is not None:
            data = self._here.reply(seconds)
            return data, self._here.late
        answer: Reply = self._remote.call("more", seconds, seconds=seconds)
        return answer

    def _leave_here(self) -> None:
        if self._here is not None:
            self._here.rest()
            self._here = None


def _suffix(item: Mapping[str, Any]) -> str:
    """Return the suffix of a file, which decides how a table is read."""
    return str(item.get("suffix", ""))


def _parts(request: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the bytes of the files of a request under their new names.

    Raises:
        Fault: A file cannot be opened, or is too large for one document.
        OSError: A file cannot be read.
    """
    if request["kind"] != "read":
        return
    for name, item in zip(names, request["items"], strict=True):
        with open_regular(Path(os.fsdecode(bytes.fromhex(item["path"])))) as file:
            if item["kind"] != "table" and os.fstat(file.fileno()).st_size > request["megabytes"] * 2**20:
                raise Fault("is too large")
            data = file.read(_PART_BYTES)
            yield name, data
            while data := file.read(_PART_BYTES):
                yield name, data


class NodeWorkers:
    """The worker processes on the nodes of a cluster.

    Args:
        nodes: The cluster.
    """

    def __init__(self, nodes: Cluster) -> None:
        self._nodes = nodes
        self._resting: dict[RemoteObject, threading.Timer] = {}
        self._lock = threading.Lock()

    @property
    def jobs(self) -> int:
        """How many processes there are by default: one for each processor of the cluster, at most 64."""
        return min(self._nodes.processors, _MOST_JOBS)

    def start(self) -> DistantProcess:
        """Return a process on a node that waits, or on the next one.

        Raises:
            GoldbenchError: This process has left the cluster.
        """
        try:
            with self._lock:
                remote, timer = self._resting.popitem() if self._resting else (self._nodes.place(NodeWorker), None)
        except Lost as error:
            raise GoldbenchError(Message(NODES_FAIL, f"no worker can be started ({error})")) from None
        if timer is not None:
            timer.cancel()
        return DistantProcess(remote, self._keep)

    def _keep(self, remote: RemoteObject) -> None:
        try:
            remote.begin("clear")
        except Lost:
            return
        timer = threading.Timer(_PATIENCE_S, self._end, [remote])
        timer.daemon = True
        with self._lock:
            self._resting[remote] = timer
        timer.start()

    def _end(self, remote: RemoteObject) -> None:
        with self._lock:
            timer = self._resting.pop(remote, None)
        if timer is not None:
            remote.kill()


def node_workers() -> NodeWorkers:
    """Return the worker processes on the cluster of this process; raises as `cluster`."""
    return _workers_on(cluster())


@lru_cache(maxsize=1)
def _workers_on(nodes: Cluster) -> NodeWorkers:
    return NodeWorkers(nodes)
