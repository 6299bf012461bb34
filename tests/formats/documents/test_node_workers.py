"""Worker processes on other machines answer as those of this machine do, whatever becomes of nodes and files."""

from __future__ import annotations

import copy
import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.cluster.installed_versions import deciding_versions
from goldbench.cluster.remote_object import Holder, Lost
from goldbench.errors import GoldbenchError, UnreadableDocument
from goldbench.formats.documents import node_workers
from goldbench.formats.documents.fields import ReadOptions
from goldbench.formats.documents.node_workers import NodeWorkers
from goldbench.formats.documents.reader import read_documents
from goldbench.formats.documents.sources import find_files
from goldbench.formats.documents.worker_pool import DocumentLimits, WorkerProcess, Workers
from goldbench.records.corpus import Document
from tests.formats.documents.reading import read
from tests.formats.documents.test_worker_pool import put_notes


class Node:
    """A node in this process; it is lost before the calls whose numbers are given."""

    def __init__(self, fatal: set[int]) -> None:
        self.fatal, self.calls, self.processors, self.held = fatal, 0, 2, list[Held]()
        self.lock = threading.Lock()

    def place(self, maker: Callable[[], Any]) -> Held:
        self.held.append(Held(self, maker()))
        return self.held[-1]


class Held:
    def __init__(self, node: Node, held: Any) -> None:
        self.node, self.held, self.alive = node, held, True

    def call(self, method: str, *arguments: object, seconds: float | None = None) -> Any:
        with self.node.lock:
            self.node.calls += 1
            if self.node.calls in self.node.fatal:
                self.kill()
        if not self.alive:
            raise Lost("the node is gone")
        return copy.deepcopy(getattr(self.held, method)(*pickle.loads(pickle.dumps(arguments))))

    def kill(self) -> None:
        self.alive = False
        self.held.close()


@pytest.fixture(autouse=True)
def no_worker_waits() -> Iterator[None]:
    yield
    WorkerProcess.stop_resting()


def far(
    folder: Path, *, fatal: set[int] | None = None, budget: DocumentLimits | None = None
) -> tuple[list[Document], list[str]]:
    node, failures = Node(fatal or set()), list[UnreadableDocument]()
    nodes = NodeWorkers(node)  # type: ignore[arg-type]
    files = find_files([str(folder)]).files
    with Workers(budget or DocumentLimits(), nodes.jobs, start=nodes.start) as workers:
        documents = list(read_documents(files, ReadOptions(), workers, on_failure=failures.append))
    for held in node.held:
        held.kill()
    return documents, [str(failure) for failure in failures]


def mixed(folder: Path) -> None:
    put_notes(folder, 60)
    (folder / "0030.csv").write_text("text\n" + "".join(f"row {number}\n" for number in range(4_000)))
    (folder / "0040.html").write_text("<h1>Page</h1><p>text")
    (folder / "0050.md").write_bytes(b"\x00\x01\x02" * 1000)
    (folder / "0055.jsonl").write_text('{"text": "a"}\n{"text": \n')
    (folder / "0056.md").write_text("")


def test_a_node_reads_what_this_machine_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed(tmp_path)
    monkeypatch.setattr(node_workers, "_PART_BYTES", 10_000)  # files travel in parts
    outcome = read(tmp_path)
    assert far(tmp_path) == (outcome.documents, outcome.failures)


@pytest.mark.parametrize("fatal", [{1}, {2, 3}, {1, 2, 3, 4}, {4, 6, 8, 10, 12, 14, 16}])
def test_a_node_that_is_lost_changes_nothing(tmp_path: Path, fatal: set[int]) -> None:
    mixed(tmp_path)
    outcome = read(tmp_path)
    assert far(tmp_path, fatal=fatal) == (outcome.documents, outcome.failures)


def test_nodes_that_are_lost_again_and_again_end_the_reading(tmp_path: Path) -> None:
    mixed(tmp_path)
    with pytest.raises(GoldbenchError, match=r"^--engine ray: 5 workers in a row were lost \(the node is gone\); "):
        far(tmp_path, fatal=set(range(1, 1_000)))


def test_files_that_this_machine_cannot_send_fail_as_they_do_here(tmp_path: Path) -> None:
    put_notes(tmp_path, 3)
    (tmp_path / "large.md").write_text("word " * 300_000)
    outcome = read(tmp_path, budget=DocumentLimits(megabytes=1))
    assert len(outcome.failures) == 1
    assert far(tmp_path, budget=DocumentLimits(megabytes=1)) == (outcome.documents, outcome.failures)


def test_no_file_stays_on_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "node"
    node.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(node))
    (tmp_path / "documents").mkdir()
    mixed(tmp_path / "documents")
    far(tmp_path / "documents")
    assert list(node.iterdir()) == []


def test_a_node_with_other_versions_is_refused() -> None:
    versions = deciding_versions()
    assert {"Python", "goldbench", "ray", "numpy", "lxml", "jieba", "pydantic"} <= versions.keys()
    assert not {"sqlalchemy", "starlette", "plotly", "psycopg", "xllamacpp", "msgpack", "mypy"} & versions.keys()
    Holder().hold(list, versions, ())
    with pytest.raises(GoldbenchError, match=r"^node \S+ of the Ray cluster has numpy [\d.]+, this machine 1.0: "):
        Holder().hold(list, {**versions, "numpy": "1.0"}, ())
