"""The BEIR folder of a gold set in other people's libraries: ``datasets`` and MTEB load it as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from goldbench import GoldSet
from goldbench.goldset.dataset import GoldContents, write_gold
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.records.query import Turn
from goldbench.score.runs import load_gold
from tests.conftest import ROOT, Goldbench, needs
from tests.goldset.test_gold import HOSTILE, gold_set

QUIET = ("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
pytestmark = [pytest.mark.filterwarnings(rule) for rule in QUIET]  # of packages that are not ours

READER = """
import json, sys, warnings
warnings.simplefilter("ignore")
import datasets
datasets.disable_progress_bars()
found = {}
for folder in sys.argv[1:]:
    for name, split in (("corpus", "corpus"), ("queries", "queries"), ("qrels", "test")):
        found[f"{folder} {name}"] = datasets.load_dataset(folder, name, split=split).to_list()
json.dump(found, sys.stdout)
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Any:
    """Load BEIR folders with ``datasets``, in a process that has no network and a cache of its own."""
    needs("datasets")

    def load(*folders: Path) -> list[dict[str, list[dict[str, Any]]]]:
        kept = {"HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", READER, *map(str, folders)],
            env={**os.environ, **kept},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        return [{name: found[f"{folder} {name}"] for name in ("corpus", "queries", "qrels")} for folder in folders]

    return load


def front_matter(folder: Path) -> tuple[dict[str, Any], str]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    _, head, body = (folder / "beir" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def write(folder: Path, gold: GoldContents) -> Path:
    folder.mkdir()
    write_gold(folder, gold)
    return folder / "beir"


def test_datasets_loads_hostile_texts_and_ids_that_look_like_numbers_as_they_are(tmp_path: Path, loaded: Any) -> None:
    queries = {'q"1': "what\tis\nthis", "q,2": '=HYPERLINK("x")'}
    relevance = {'q"1': {'"quoted"': 3, 'a"b': 2}, "q,2": {"ид-1": 3, "'=1+1": 0}}
    folders = [write(tmp_path / "hostile", gold_set(queries, HOSTILE, relevance))]
    corpora = [{one: f"text {one}" for one in ids} for ids in (["1", "02", "3e5"], ["true", "null"])]
    for number, corpus in enumerate(corpora):
        last = [*corpus][-1]
        folders.append(write(tmp_path / str(number), gold_set({"7": "2020"}, corpus, {"7": {last: 3}})))
    hostile, *others = loaded(*folders)
    assert {row["_id"]: row["text"] for row in hostile["corpus"]} == HOSTILE
    assert {row["_id"]: row["text"] for row in hostile["queries"]} == queries
    assert {(row["query-id"], row["corpus-id"]): row["score"] for row in hostile["qrels"]} == {
        (query_id, doc_id): grade for query_id, grades in relevance.items() for doc_id, grade in grades.items()
    }
    for found, corpus in zip(others, corpora, strict=True):
        assert {row["_id"]: row["text"] for row in found["corpus"]} == corpus
        assert [row["text"] for row in found["queries"]] == ["2020"]
        assert [row["corpus-id"] for row in found["qrels"]] == [[*corpus][-1]]


def test_a_folder_that_datasets_would_change_has_no_configurations(tmp_path: Path) -> None:
    write_gold(tmp_path, gold_set({"q": "why"}, {"2019-01-01": "text"}, {"q": {"2019-01-01": 3}}))
    head, body = front_matter(tmp_path)
    assert "configs" not in head
    assert "goldbench export" in body
    files = GoldSet.load(tmp_path).export("hf", tmp_path / "hf")
    assert pl.read_parquet(files / "corpus.parquet")["_id"].to_list() == ["2019-01-01"]


def test_answers_and_conversations_of_some_queries_load_elsewhere(tmp_path: Path, loaded: Any) -> None:
    gold = gold_set({"q1": "why", "q2": "who"}, {"c1": "text"}, {"q1": {"c1": 3}, "q2": {"c1": 3}})
    turns = (Turn(question="where"), Turn(question="when", answer="now"))
    more = {"answer": "because", "history": turns, "standalone": "why there"}
    queries = [gold.queries[0].model_copy(update=more), gold.queries[1]]
    (found,) = loaded(write(tmp_path / "set", replace(gold, queries=queries)))
    first, second = (row["metadata"] for row in found["queries"])
    assert first["answer"] == {"text": "because", "evidence": [{"quote": "x", "chunk_id": None}]}
    assert first["history"] == [{"question": "where", "answer": None}, {"question": "when", "answer": "now"}]
    assert first["standalone"] == "why there"
    assert second["answer"] is None or second["answer"]["text"] is None
    assert (second["history"] or [], second["standalone"]) == ([], None)


HOSTILE_METADATA = {
    "evidence_level": "smoke\n---\nconfigs: []",
    "notice": "a\n# heading\n---\n<script>alert(1)</script> ![x](http://evil.example/x.png) `code` |",
    "model": "m | [link](javascript:x)\u2028\x1b[31m",
    "generator": {"nested": ["a", {"b": None}]},
    "chunk": {"size": 3, "overlap": "---"},
    "grading": {"assessors": ["x|y"], "notice": "twice"},
    "review": "not an object",
    "seed": 13,
}


def test_metadata_cannot_break_the_front_matter_or_the_markdown(tmp_path: Path) -> None:
    gold = gold_set({"q": "---\nconfigs: x"}, {"c": "---"}, {"q": {"c": 1}})
    hostile = type(gold)(gold.queries, gold.corpus, gold.relevance, HOSTILE_METADATA)
    for query in hostile.queries:
        object.__setattr__(query, "language", 'zh"\n- evil')
    write_gold(tmp_path, hostile)
    head, body = front_matter(tmp_path)
    assert head["language"] == ['zh"\n- evil']
    assert [part["config_name"] for part in head["configs"]] == ["corpus", "queries", "qrels"]
    titles = [line for line in body.splitlines() if line.startswith("#")]
    assert titles == ["# Retrieval test set"]
    assert "<script" not in body
    assert "](" not in body.replace("\\](", "").replace("\\]\\(", "")
    assert "\x1b" not in body


def test_card_and_files_are_listed_checked_scored_and_brought_back(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    assert goldbench_inside("build", ROOT / "data/example/documents/zh", "--out", "run", "--queries", 4).returncode == 0
    run = GoldFolder(tmp_path / "run")
    head, body = front_matter(run.path)
    assert head["language"] == ["zh"]
    assert "**Evidence level: smoke.** The queries are simulated or written by a tiny model." in body
    assert run.metadata()["notice"].split(" (")[0] in body
    assert "4 queries" in body
    listed = {name for name in run.manifest().files if name.startswith("beir/")}
    assert listed == {f"beir/{p.relative_to(run.path / 'beir').as_posix()}" for p in files_below(run.path / "beir")}
    lines = run.path / "beir" / "qrels" / "test.jsonl"
    assert load_gold(lines).qrels == load_gold(run.path / "beir" / "qrels" / "test.tsv").qrels
    assert goldbench_inside("import", "beir", "run/beir", "--out", "again").returncode == 0
    again = tmp_path / "again" / "beir"
    assert (again / "qrels" / "test.jsonl").read_bytes() == lines.read_bytes()
    given, back = ([json.loads(row) for row in (at / "corpus.jsonl").open("rb")] for at in (run.path / "beir", again))
    assert {row["text"] for row in back} == {f"{row['title']} {row['text']}" for row in given}
    lines.write_text(lines.read_text(encoding="utf-8").replace('"score": 3', '"score": 2', 1), encoding="utf-8")
    (again / "README.md").unlink()
    assert [p.split(":")[0] for p in validate(run.path).problems] == ["beir/qrels/test.jsonl"]
    assert [p.split(":")[0] for p in validate(tmp_path / "again").problems] == ["beir/README.md"]


def files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())
