"""The README's ten lines in a real Jupyter kernel: tables render, an interrupt works."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import IMPORT_PATH, ROOT, SETTINGS
from tests.test_docs import blocks

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")

TEN_LINES = next(block for block in blocks("README.md", "python") if "goldbench.build(" in block)
[PRINTED] = [block for block in blocks("docs/reference/python.md", "") if block.startswith("measure ")]

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::RuntimeWarning"),
]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A kernel of this tree, with no settings from outside and files of its own."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    own = {name: str(tmp_path / name) for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    return {**kept, **own, "PYTHONPATH": IMPORT_PATH, "PYTHONWARNINGS": "ignore"}


def executed(cells: list[str], folder: Path, environment: dict[str, str]) -> list[list[dict[str, Any]]]:
    """Run cells in one kernel, and return the outputs of each."""
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(
        notebook, timeout=200, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=environment)
    return [cell["outputs"] for cell in notebook["cells"]]


@pytest.mark.slow
def test_the_ten_lines_of_the_readme_run_in_a_notebook(environment: dict[str, str]) -> None:
    assert len([line for line in TEN_LINES.splitlines() if line.strip()]) <= 10
    cells = [TEN_LINES, "result", "gold", "qrels", "gold.evaluate({'a': search, 'b': search}, 'mrr@10')"]
    ten, *shown, printed = executed([*cells, "print(result)"], ROOT, environment)
    assert {output["name"] for output in ten} == {"stderr"}, ten
    progress = "".join(output["text"] for output in ten)
    for line in ("load: 10 ", "chunk: 10 of 10 ", "select: 53 of 53 ", "generate: 30 ", ": 30 of 30 "):
        assert line in progress
    assert "simulated offline" in progress
    tables = [cell[-1]["data"] for cell in shown]
    assert all("<table" in data["text/html"] for data in tables)
    assert [output["output_type"] for output in shown[0]] == ["execute_result"]
    assert tables[0]["text/plain"].startswith("measure")
    assert "ndcg@10" in tables[0]["text/html"]
    assert "30 queries, 53 passages" in tables[1]["text/html"]
    assert PRINTED.startswith("measure ")
    assert printed[0]["text"].startswith(PRINTED)


@pytest.mark.slow
def test_a_silent_build_shows_nothing_and_a_failing_one_one_line(environment: dict[str, str], tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    cells = [
        "import goldbench, json",
        "texts = ['The pump starts when the tank falls below forty litres and stops when it is full.'] * 3",
        "silent = goldbench.build(texts=texts, queries=1, no_chunk=True, progress=False)",
        f"loud = goldbench.build(texts=[*texts, None], queries=1, no_chunk=True); loud.remarks = ({hostile!r},)",
        "loud",
        "try:\n    goldbench.build('no/such/folder')\nexcept goldbench.GoldbenchError as error:\n    print(error)",
    ]
    *_, silent, loud, shown, failed = executed(cells, tmp_path, environment)
    assert silent == []
    assert {output["name"] for output in loud} == {"stderr"}
    assert "texts: row 4: has no text" in "".join(output["text"] for output in loud)
    assert hostile not in shown[0]["data"]["text/html"]
    assert "&lt;script&gt;" in shown[0]["data"]["text/html"]
    assert failed[0]["text"].startswith("no/such/folder: no such file or folder")


@pytest.fixture
def kernel(environment: dict[str, str], tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", env=environment, cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
def test_an_interrupt_ends_a_retriever_and_the_kernel_goes_on(kernel: tuple[Any, Any], tmp_path: Path) -> None:
    manager, client = kernel
    code = """
import asyncio, goldbench, pathlib
texts = ["The circulation pump starts when the tank falls below forty litres and stops when it is full.",
         "A motor valve closes slowly, because a sudden stop of the water would burst the older pipes."]
gold = goldbench.build(texts=texts, queries=1, no_chunk=True, progress=False)
async def quick(query, k):
    await asyncio.sleep(0)
    return list(gold.corpus)
async def slow(query, k):
    pathlib.Path("asked").touch()
    try:
        await asyncio.sleep(60)
    finally:
        pathlib.Path("cancelled").touch()
assert gold.evaluate(quick, "recall@10", progress=False)["recall@10"] == 1.0
"""
    reply = reply_to(client, client.execute(code))
    assert reply["status"] == "ok", reply
    asked = client.execute("gold.evaluate(slow, timeout=100)", stop_on_error=False)  # else the next cell may be dropped
    while not (tmp_path / "asked").exists():
        time.sleep(0.05)
    manager.interrupt_kernel()
    reply = reply_to(client, asked)
    assert (reply["status"], reply.get("ename")) == ("error", "KeyboardInterrupt"), reply
    again = client.execute("assert gold.evaluate(quick, 'recall@10', progress=False)['recall@10'] == 1.0")
    assert reply_to(client, again)["status"] == "ok"
    assert (tmp_path / "cancelled").exists()


def reply_to(client: Any, asked: str) -> dict[str, Any]:
    while (message := client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != asked:
        pass
    return dict(message["content"])


@pytest.mark.slow
def test_an_interrupt_ends_a_build_and_the_kernel_goes_on(kernel: tuple[Any, Any], tmp_path: Path) -> None:
    manager, client = kernel
    asked = client.execute("import goldbench; texts = [' '.join([f'word{n} pump'] * 30) for n in range(200_000)]")
    assert reply_to(client, asked)["status"] == "ok"
    asked = client.execute("goldbench.build(texts=texts, out='run')", stop_on_error=False)
    while not (tmp_path / ".run.unfinished").exists():
        time.sleep(0.05)
    manager.interrupt_kernel()
    reply = reply_to(client, asked)
    assert (reply["status"], reply.get("ename")) == ("error", "KeyboardInterrupt"), reply
    assert not (tmp_path / "run").exists()
    asked = client.execute("1 / (len(texts) - 200_000 + 1)")
    assert reply_to(client, asked)["status"] == "ok"
