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

import pytest

from goldbench import GoldSet
from goldbench.formats.annotations import settled_qrels
from goldbench.formats.dataset_card import TABLES
from goldbench.goldset.dataset import write_gold
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.records.query import Turn
from goldbench.score.runs import load_gold
from tests.conftest import ROOT, Goldbench, needs
from tests.formats.annotations.test_annotations import exchange
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
        return [{table.name: found[f"{folder} {table.name}"] for table in TABLES} for folder in folders]

    return load


def front_matter(folder: Path) -> tuple[dict[str, Any], str]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    _, head, body = (folder / "beir" / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def test_datasets_loads_hostile_ids_and_texts_as_they_are(tmp_path: Path, loaded: Any) -> None:
    queries = {'q"1': "what\tis\nthis", "q,2": '=HYPERLINK("x")'}
    relevance = {'q"1': {'"quoted"': 3, 'a"b': 2}, "q,2": {"ид-1": 3, "'=1+1": 0}}
    write_gold(tmp_path, gold_set(queries, HOSTILE, relevance))
    (found,) = loaded(tmp_path / "beir")
    assert {row["_id"]: row["text"] for row in found["corpus"]} == HOSTILE
    assert {row["title"] for row in found["corpus"]} == {""}
    assert {row["_id"]: row["text"] for row in found["queries"]} == queries
    assert {(row["query-id"], row["corpus-id"]): row["score"] for row in found["qrels"]} == {
        ('q"1', '"quoted"'): 3,
        ('q"1', 'a"b'): 2,
        ("q,2", "ид-1"): 3,
        ("q,2", "'=1+1"): 0,
    }


@pytest.mark.parametrize(
    ("ids", "parquet"),
    [(["1", "02", "3e5"], False), (["2019-01-01", "2019-01-02", "2024-02-29 10:30"], True), (["true", "null"], False)],
)
def test_ids_that_look_like_numbers_dates_or_nothing_stay_the_same_strings(
    tmp_path: Path, loaded: Any, ids: list[str], parquet: bool
) -> None:
    ids = [one.replace(" ", "T") for one in ids]
    corpus = {one: f"text {one}" for one in ids}
    gold = gold_set(
        {ids[0]: "2020-01-01"} if parquet else {"7": "8"}, corpus, {ids[0] if parquet else "7": {ids[-1]: 3}}
    )
    write_gold(tmp_path, gold)
    (found,) = loaded(tmp_path / "beir")
    assert [row["_id"] for row in found["corpus"]] == ids
    assert [(row["_id"], row["text"]) for row in found["queries"]] == [(q.query_id, q.text) for q in gold.queries]
    assert found["qrels"] == [{"query-id": gold.queries[0].query_id, "corpus-id": ids[-1], "score": 3}]
    assert (tmp_path / "beir" / "corpus.parquet").exists() is parquet


def test_answers_and_conversations_of_some_queries_load_elsewhere(tmp_path: Path, loaded: Any) -> None:
    gold = gold_set({"q1": "why", "q2": "who"}, {"c1": "text"}, {"q1": {"c1": 3}, "q2": {"c1": 3}})
    folders = []
    for name, answer in (("words", "because"), ("date", "2019-01-01")):
        turns = (Turn(question="where"), Turn(question=answer, answer=answer))
        conversation = {"history": turns, "standalone": "why there"}
        queries = [gold.queries[0].model_copy(update={"answer": answer, **conversation}), gold.queries[1]]
        folders.append(tmp_path / name / "beir")
        folders[-1].mkdir(parents=True)
        write_gold(tmp_path / name, replace(gold, queries=queries))
    for found, text in zip(loaded(*folders), ("because", "2019-01-01"), strict=True):
        first, second = (row["metadata"]["answer"] for row in found["queries"])
        assert first == {"text": text, "evidence": [{"quote": "x", "chunk_id": None}]}
        assert second is None or second["text"] is None
        asked, other = (row["metadata"]["history"] for row in found["queries"])
        assert (asked, other or []) == ([{"question": "where", "answer": None}, {"question": text, "answer": text}], [])
        assert [row["metadata"]["standalone"] for row in found["queries"]] == ["why there", None]
    assert GoldSet.load(folders[0]).answers == {"q1": {"text": "because", "evidence": [{"quote": "x"}]}}


@pytest.mark.slow
def test_original_texts_of_some_passages_and_exported_reviews_load_too(
    tmp_path: Path, loaded: Any, goldbench_inside: Goldbench
) -> None:
    documents = ROOT / "data/example/documents/support"
    build = ("build", documents, "--out", "run", "--queries", 6, "--offline-recipe", "held-out")
    assert goldbench_inside(*build).returncode == 0
    (found,) = loaded(tmp_path / "run" / "beir")
    originals = [one["metadata"]["original_text"] for one in found["corpus"]]
    assert 0 < sum(one is not None for one in originals) < len(originals)
    given = exchange([])
    for name, text in settled_qrels.write_beir(given).items():
        (tmp_path / "export" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "export" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (found,) = loaded(tmp_path / "export")
    assert {one["_id"]: one["text"] for one in found["corpus"]} == given.passages
    assert {(one["query-id"], one["corpus-id"]): one["score"] for one in found["qrels"]} == {
        ("q1", "c1"): 2,
        ("q1", "@c2"): 0,
    }


def test_parquet_copies_go_when_they_are_no_longer_needed(tmp_path: Path) -> None:
    write_gold(tmp_path, gold_set({"q": "why"}, {"2019-01-01": "text"}, {"q": {"2019-01-01": 3}}))
    assert len(list((tmp_path / "beir").rglob("*.parquet"))) == 3
    write_gold(tmp_path, gold_set({"q": "why"}, {"c1": "text"}, {"q": {"c1": 3}}))
    assert list((tmp_path / "beir").rglob("*.parquet")) == []


@pytest.mark.slow
def test_two_sets_and_a_set_built_again_are_not_mixed_up_in_the_cache(tmp_path: Path, loaded: Any) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_gold(tmp_path / name, gold_set({"q": "why"}, {"c1": f"text of {name}"}, {"q": {"c1": 3}}))
    found = loaded(tmp_path / "a" / "beir", tmp_path / "b" / "beir")
    assert [one["corpus"][0]["text"] for one in found] == ["text of a", "text of b"]
    write_gold(tmp_path / "a", gold_set({"q": "why"}, {"c1": "text of a"}, {"q": {"c1": 2}}))
    (again,) = loaded(tmp_path / "a" / "beir")
    assert again["qrels"][0]["score"] == 2


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
    assert "language" not in head
    assert [part["config_name"] for part in head["configs"]] == ["corpus", "queries", "qrels"]
    assert head["size_categories"] == ["n<1K"]
    titles = [line for line in body.splitlines() if line.startswith("#")]
    assert titles == ["# Retrieval test set", "## Files", "## Scores", "## How it was made", "## Licence"]
    assert "<script" not in body
    assert "](" not in body.replace("\\](", "").replace("\\]\\(", "")
    assert "\x1b" not in body
    assert all(line.replace("\\|", "").count("|") == 3 for line in body.splitlines() if line.startswith("| Model"))


def test_the_card_tells_level_warning_languages_and_counts(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    done = goldbench_inside("build", ROOT / "data/example/documents/support", "--out", "run", "--queries", 5)
    assert done.returncode == 0, done.stderr
    head, body = front_matter(tmp_path / "run")
    metadata = GoldFolder(tmp_path / "run").metadata()
    assert head["language"] == ["en"]
    assert "**Evidence level: smoke.** The queries are simulated or written by a tiny model." in body
    assert metadata["notice"].split(" (")[0] in body
    assert "5 queries" in body
    assert "README.md" in "".join(GoldFolder(tmp_path / "run").manifest().files)
    assert "licence" in body


def test_files_are_listed_checked_scored_and_brought_back(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    assert goldbench_inside("build", ROOT / "data/example/documents/zh", "--out", "run", "--queries", 4).returncode == 0
    run = GoldFolder(tmp_path / "run")
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
    assert [p.split(":")[0] for p in validate(run.path).problems] == ["beir/qrels/test.jsonl"] * 2
    assert [p.split(":")[0] for p in validate(tmp_path / "again").problems] == ["beir/README.md"]


def files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file())


MTEB = """
import json, sys, warnings
warnings.simplefilter("ignore")
import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

class GoldSet(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="GoldSet", description="A gold set.", type="Retrieval", category="t2t", modalities=["text"],
        eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10",
        dataset={"path": sys.argv[1], "revision": "main"},
    )

class Finished:
    "A system whose results are known."
    mteb_model_meta = mteb.models.ModelMeta.create_empty({"name": "none/finished", "revision": "1"})
    run = json.load(open(sys.argv[2]))
    def index(self, corpus, **_):
        self.corpus = {row["id"] for row in corpus}
    def search(self, queries, **_):
        return {row["id"]: {d: s for d, s in self.run[row["id"]].items() if d in self.corpus} for row in queries}

task = GoldSet()
result = mteb.evaluate(Finished(), tasks=[task], cache=None, show_progress_bar=False)
json.dump(result.task_results[0].scores["test"][0], sys.stdout)
"""


@pytest.mark.slow
def test_a_task_of_mteb_scores_the_set_as_we_do(goldbench: Goldbench, tmp_path: Path) -> None:
    needs("mteb")
    assert goldbench("build", ROOT / "data/example/documents", "--out", "run", "--queries", 40).returncode == 0
    assert goldbench("retrieve", "run", "--system", "bm25", "-o", "run/runs/bm25.trec").returncode == 0
    run: dict[str, dict[str, float]] = {}
    for line in (tmp_path / "run/runs/bm25.trec").read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, _, score, _ = line.split()
        run.setdefault(query_id, {})[doc_id] = float(score)
    (tmp_path / "run.json").write_text(json.dumps(run))
    done = subprocess.run(
        [sys.executable, "-c", MTEB, str(tmp_path / "run" / "beir"), str(tmp_path / "run.json")],
        env={**os.environ, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    theirs = json.loads(done.stdout.splitlines()[-1])
    from goldbench.measures import evaluate

    ours = evaluate(load_gold(tmp_path / "run").qrels, run, ["ndcg@10", "r@10", "map@10"], scores="float32")
    assert theirs["ndcg_at_10"] == pytest.approx(ours.mean("ndcg@10"), abs=1e-5)
    assert theirs["recall_at_10"] == pytest.approx(ours.mean("r@10"), abs=1e-5)
    assert theirs["map_at_10"] == pytest.approx(ours.mean("map@10"), abs=1e-5)


@pytest.mark.slow
def test_a_hundred_thousand_passages_get_their_card_in_bounded_memory(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from goldbench.goldset.dataset import GoldContents, Passage, write_gold
from goldbench.records.relevance import Relevance
from goldbench.records.query import Query
from tests.peak_memory import peak_megabytes
def corpus():
    return (Passage(f"2019-01-01-{n}" if n else "2019-01-01", "", f"passage {n} " * 60) for n in range(100_000))
queries = [Query(query_id=f"q{n}", text="why", chunk_id="2019-01-01", generator="t") for n in range(300)]
gold = GoldContents(queries, corpus, {q.query_id: {"2019-01-01": Relevance.ANSWERS} for q in queries}, {})
write_gold(Path(sys.argv[1]), gold)
print(peak_megabytes())
"""
    arguments = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "beir" / "corpus.parquet").exists()
    assert float(done.stdout) < 500
