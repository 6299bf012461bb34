"""Where ``--engine ray`` connects to, on which nodes it places objects, and where it is refused."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from goldbench.cluster import ray_cluster
from goldbench.cluster.ray_cluster import Cluster, cluster
from goldbench.config import Engine, Machines
from goldbench.errors import UsageError


def node(name: str, processors: float, *, alive: bool = True) -> dict[str, Any]:
    return {"NodeID": name, "Alive": alive, "Resources": {"CPU": processors} if processors else {}}


def chosen(nodes: list[dict[str, Any]], count: int) -> Counter[str]:
    own = Cluster(1, ("node", "job"))
    return Counter(own._next_node(nodes) for _ in range(count))


def test_nodes_get_objects_in_proportion_to_their_processors() -> None:
    nodes = [node("small", 1), node("large", 3), node("head", 0), node("dead", 8, alive=False)]
    assert chosen(nodes, 8) == {"small": 2, "large": 6}
    assert chosen([node("one", 0), node("other", 0)], 4) == {"one": 2, "other": 2}


def test_windows_is_refused_before_anything_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "sys", SimpleNamespace(platform="win32"))
    for refused in (cluster, Machines(engine=Engine.RAY).check_available):
        with pytest.raises(UsageError, match=r"^--engine ray: not available on Windows; use --engine local$"):
            refused()
    Machines().check_available()
