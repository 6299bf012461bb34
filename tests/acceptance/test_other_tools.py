"""Documents of other people, and sets in other people's libraries."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Command, json_lines, qrels_of, write_sheets
from tests.conftest import needs, python_of

MANUALS = {
    "python3-doc": "[role=main]",
    "postgresql-doc-15": ".sect1, .chapter, .refentry, .part, .preface, .appendix",
    "valgrind": ".chapter, .sect1, .book",
}
FURNITURE = "a.headerlink, a.id_link, div.toc, nav, .toctree-wrapper, .navheader, .navfooter, .topic, div.nav"


@pytest.mark.parametrize("manual", MANUALS)
def test_the_main_text_of_a_manual_is_read(command: Command, tmp_path: Path, manual: str) -> None:
    folder = Path("/usr/share/doc") / manual / "html"
    if not folder.is_dir():
        pytest.skip(f"the Debian package {manual} is not installed")
    pages = sorted(path for path in folder.resolve().rglob("*.html") if 8_000 < path.stat().st_size < 80_000)
    (tmp_path / "docs").mkdir()
    for number, path in enumerate(pages[:: max(1, len(pages) // 12)][:12]):
        shutil.copy(path, tmp_path / "docs" / f"{number}.html")
    command("chunk", "docs", "--chunk-overlap", 0, "--out", "chunks.jsonl")
    texts: dict[str, str] = {}
    for row in json_lines(tmp_path / "chunks.jsonl"):
        page = row["span"]["doc_id"].partition("-")[0]
        texts[page] = texts.get(page, "") + letters(row["text"])
    blocks = [
        (path.stem, block)
        for path in (tmp_path / "docs").iterdir()
        for block in main_blocks(path.read_bytes(), MANUALS[manual])
    ]
    assert len(blocks) > 300
    assert sum(block in texts[page] for page, block in blocks) >= 0.99 * len(blocks)


def main_blocks(page: bytes, main: str) -> Iterator[str]:
    """Yield the letters of each heading, paragraph, term and piece of code, by a parser that is not the product's."""
    from bs4 import BeautifulSoup

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        soup = BeautifulSoup(page, "html.parser")
    for furniture in soup.select(FURNITURE):
        furniture.extract()
    for part in soup.select(main):
        if not part.find_parent(class_=re.compile("^(chapter|sect1|book)$")):
            yield from filter(
                None, (letters(block.get_text()) for block in part.find_all(["pre", "h1", "h2", "dt", "p"]))
            )


def letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text))


DATASETS = """
import json, sys, warnings
warnings.simplefilter("ignore")
import datasets
datasets.disable_progress_bars()
tables = (("corpus", "corpus"), ("queries", "queries"), ("qrels", "test"))
json.dump({name: datasets.load_dataset(sys.argv[1], name, split=split).to_list() for name, split in tables}, sys.stdout)
"""
MTEB = """
import json, sys
sys.path.insert(0, sys.argv[1])
import mteb_task
task = mteb_task.task()
task.load_data()
data = task.dataset["default"]["test"]
qrels = {query: dict(judged) for query, judged in data["relevant_docs"].items()}
print(json.dumps({"corpus": sorted(data["corpus"]["id"]), "queries": sorted(data["queries"]["id"]), "qrels": qrels}))
"""
IR_DATASETS = """
import json, sys
sys.path.insert(0, sys.argv[1])
import ir_datasets, ir_dataset
data = ir_datasets.load(ir_dataset.DATASET_ID)
corpus, queries = sorted(d.doc_id for d in data.docs_iter()), sorted(q.query_id for q in data.queries_iter())
print(json.dumps({"corpus": corpus, "queries": queries, "qrels": data.qrels_dict()}))
"""


def load(tmp_path: Path, script: str, folder: str, python: Path | str = sys.executable) -> dict[str, Any]:
    """Run a script that reads a folder, without a network and with a home of its own."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", script, str(tmp_path / folder)],
        cwd=tmp_path, env={"PATH": os.environ["PATH"], **offline}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def exported(command: Command, tmp_path: Path) -> Command:
    write_sheets(tmp_path / "docs", 8)
    command("build", "docs", "--out", "set", "--generator", "simulated", "--queries", 5)
    return command


def nested(pairs: dict[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for (query, passage), grade in pairs.items():
        qrels.setdefault(query, {})[passage] = grade
    return qrels


def test_beir_and_datasets_load_a_set_and_a_set_loads_theirs(exported: Command, tmp_path: Path) -> None:
    grades = qrels_of(tmp_path / "set")
    corpus = {row["_id"]: row["text"] for row in json_lines(tmp_path / "set" / "beir" / "corpus.jsonl")}
    exported("export", "set", "--to", "hf", "--out", "as-hf")
    for folder in ("set/beir", "as-hf"):
        tables = load(tmp_path, DATASETS, folder)
        assert {(row["query-id"], row["corpus-id"]): row["score"] for row in tables["qrels"]} == grades
        assert {row["_id"] for row in tables["corpus"]} == corpus.keys()
        assert all(row["text"].endswith(corpus[row["_id"]]) for row in tables["corpus"]), "below titles or not"
        assert {row["_id"] for row in tables["queries"]} == {query for query, _ in grades}
    for target in ("mteb", "ir_datasets"):
        exported("export", "set", "--to", target, "--out", f"as-{target}")
    for kind, folder in (("beir", "set/beir"), ("hf", "as-hf"), ("mteb", "as-mteb"), ("ir_datasets", "as-ir_datasets")):
        exported("import", kind, folder, "--out", f"from-{kind}")
        assert qrels_of(tmp_path / f"from-{kind}") == grades, kind


@pytest.mark.slow
@pytest.mark.parametrize(("target", "script"), [("mteb", MTEB), ("ir_datasets", IR_DATASETS)])
def test_mteb_and_ir_datasets_load_an_export(exported: Command, tmp_path: Path, target: str, script: str) -> None:
    if target == "mteb":
        needs("mteb")  # it comes with the models, into the environment of the tests
    python = Path(sys.executable) if target == "mteb" else python_of("evaluation")
    exported("export", "set", "--to", target, "--out", "exported")
    grades = qrels_of(tmp_path / "set")
    contents = load(tmp_path, script, "exported", python)
    assert contents["qrels"] == nested(grades)
    assert contents["queries"] == sorted({query for query, _ in grades})
    corpus = json_lines(tmp_path / "set" / "beir" / "corpus.jsonl")
    assert contents["corpus"] == sorted(row["_id"] for row in corpus)
