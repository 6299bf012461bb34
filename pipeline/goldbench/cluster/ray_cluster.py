"""A Ray cluster, on whose nodes objects are placed.

The cluster is that of ``RAY_ADDRESS``; without it one is started on this machine, see ``ray_connection.py``.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from goldbench.cluster.installed_versions import deciding_versions
from goldbench.cluster.ray_connection import connect, connection, is_connected
from goldbench.cluster.remote_object import Holder, RemoteObject, explained
from goldbench.errors import Message, UsageError, require


class Cluster:
    """A cluster that this process is connected to.

    Args:
        processors: The processors of all its nodes, 1 or more.
        connection: The connection to it; see `connection`.
    """

    def __init__(self, processors: int, connection: tuple[str, str]) -> None:
        self.processors = processors
        self.connection = connection
        self._versions = deciding_versions()
        self._placed: Counter[str] = Counter()

    def place(self, maker: Callable[..., object], *arguments: object) -> RemoteObject:
        """Make an object on one of the nodes, which get objects in proportion to their processors.

        An error in making it is raised by its first call. No processor is reserved: an object never waits for one.

        Args:
            maker: Makes it; a function or class of a module.
            arguments: The arguments of the maker.

        Raises:
            Lost: This process has left the cluster.
        """
        with explained():
            import ray
            from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

            node = self._next_node(ray.nodes())
            on_node = NodeAffinitySchedulingStrategy(node, soft=True)  # on another one if it is gone
            actor = ray.remote(num_cpus=0, scheduling_strategy=on_node)(Holder).remote()
            return RemoteObject(actor, actor.hold.remote(maker, self._versions, arguments))

    def _next_node(self, nodes: Sequence[Mapping[str, Any]]) -> str:
        processors = {node["NodeID"]: node["Resources"].get("CPU", 0.0) for node in nodes if node["Alive"]}
        if any(processors.values()):
            processors = {name: count for name, count in processors.items() if count}
        chosen: str = min(processors, key=lambda name: (self._placed[name] + 1) / (processors[name] or 1.0))
        self._placed[chosen] += 1
        return chosen


_cluster: Cluster | None = None
_connecting = threading.Lock()


def check_available() -> None:
    """Refuse ``--engine ray`` where it cannot be used.

    Raises:
        UsageError: This is Windows.
        MissingExtra: Ray is not installed.
    """
    if sys.platform == "win32":
        raise UsageError(Message("{engine='ray'}: not available on Windows; use {engine='local'}"))
    require("ray", "ray")


def cluster() -> Cluster:
    """Return the cluster of this process, which is connected to or started if there is none.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: ``RAY_ADDRESS`` holds an address that cannot be used, or this is Windows.
        GoldbenchError: The cluster cannot be reached or started.
    """
    global _cluster  # noqa: PLW0603  Ray knows one cluster per process
    check_available()
    with _connecting:
        if _cluster is None or not is_connected() or _cluster.connection != connection():
            _cluster = Cluster(*connect())
        return _cluster
