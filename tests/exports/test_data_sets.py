"""Data sets for the Hub, AutoRAG and ir_datasets: their own packages read them, and `import` brings them back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from goldbench import GoldSet
from goldbench.goldset.integrity import validate
from tests.conftest import ROOT, Goldbench, needs
from tests.exports.conftest import Read
from tests.exports.how_to_page import SECTIONS, blocks
from tests.exports.sample_exports import ALONE, ANSWERS, CONTEXTS, CORPUS, GRADES, QUESTIONS, UNANSWERED

Import = Callable[..., dict[str, Any]]
JUDGED = {(query, doc): grade for query, grades in GRADES.items() for doc, grade in grades.items()}


@pytest.fixture
def brought(tmp_path: Path, goldbench_inside: Goldbench) -> Import:
    """Import an export and return the new set's ``dataset.json``, every reference checked."""

    def bring(kind: str, path: Path, *options: str) -> dict[str, Any]:
        out = tmp_path / f"again-{kind}"
        done = goldbench_inside("import", kind, path, "--out", out, *options)
        assert done.returncode == 0, done.stderr
        assert not validate(out).problems
        return dict(json.loads((out / "dataset.json").read_text(encoding="utf-8")))

    return bring


def check_brought(found: dict[str, Any], *, evidence: bool = True) -> None:
    """Check that a set came back as it was."""
    assert found["corpus"] == CORPUS
    assert found["relevance_scores"] == GRADES
    assert found["metadata"]["evidence_level"] == "model"
    assert found["metadata"]["notice"] == "Written by a test."
    assert {key: one["text"] for key, one in found["answers"].items()} == ANSWERS
    if evidence:
        quotes = {key: [(q["quote"], q["chunk_id"]) for q in one["evidence"]] for key, one in found["answers"].items()}
        assert quotes == {key: [(CORPUS[CONTEXTS[key][0]][:4], CONTEXTS[key][0])] for key in ANSWERS}


class TestTheHub:
    def test_the_card_has_the_counts_and_nothing_of_the_texts(self, sample: Path, tmp_path: Path) -> None:
        yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
        folder = GoldSet.load(sample).export("hf", tmp_path / "x")
        _, head, body = (folder / "README.md").read_text(encoding="utf-8").split("---\n", 2)
        front = yaml.safe_load(head)
        assert front["language"] == ["en", "zh"]
        assert front["relevant_from"] == 2
        files = {one["config_name"]: one["data_files"][0]["path"] for one in front["configs"]}
        assert {path.name for path in folder.glob("*.parquet")} == set(files.values())
        assert "5 passages, 4 queries and 7 judgments made with goldbench." in body
        assert "**Evidence level: model.**" in body
        assert "alert" not in head + body

    @pytest.mark.slow
    def test_it_comes_back_with_answers_and_conversations(self, sample: Path, tmp_path: Path, brought: Import) -> None:
        needs("datasets")
        for kind, to in (("hf", "hf"), ("mteb", "mteb")):
            found = brought(kind, GoldSet.load(sample).export(to, tmp_path / to))
            check_brought(found)
            assert found["queries"] == QUESTIONS
            assert found["standalone"] == {"q4": ALONE["q4"]}
            assert found["needs"] == {"q2": ["tank#1", "valve"]}
            assert found.get("unanswerable", {}) == (UNANSWERED if to == "hf" else {})
            assert found["history"]["q4"] == [{"question": "Which valve is slow?", "answer": "The motor valve."}]
        import datasets

        with pytest.raises(ValueError, match="'corpus', 'queries', 'qrels', 'answers', 'notes', 'unanswerable'"):
            datasets.load_dataset(str(tmp_path / "hf"))


class TestAutoRAG:
    def test_the_tables_hold_queries_passages_and_answers(self, sample: Path, tmp_path: Path) -> None:
        gold = GoldSet.load(sample)
        folder = gold.export("autorag", tmp_path / "x")
        qa, corpus = (pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("qa", "corpus"))
        assert {row["qid"]: row["query"] for row in qa} == ALONE
        assert {row["doc_id"]: row["contents"] for row in corpus} == CORPUS
        groups = {row["qid"]: row["retrieval_gt"] for row in qa}
        assert groups == {"q1": [["pump"]], "q2": [["tank#1"], ["valve"]], "q3": [["水-1"]], "q4": [["valve"]]}
        assert {row["qid"]: row["generation_gt"] for row in qa if row["generation_gt"]} == {
            key: [answer] for key, answer in ANSWERS.items()
        }
        frames = gold.to_autorag()
        assert [frame.to_dict("records") for frame in frames] == [qa, corpus]

    def test_they_come_back(self, sample: Path, tmp_path: Path, brought: Import) -> None:
        found = brought("autorag", GoldSet.load(sample).export("autorag", tmp_path / "x"))
        check_brought(found)
        assert found["queries"] == QUESTIONS
        assert found["needs"] == {"q2": ["tank#1", "valve"]}
        assert found["standalone"] == {"q4": ALONE["q4"]}

    @pytest.mark.parametrize(
        ("given", "relevant", "needs"),
        [
            (["a", "b"], {"a", "b"}, None),
            ([["a", "b"]], {"a", "b"}, None),
            ([["a"], ["b"]], {"a", "b"}, ["a", "b"]),
            ([["a", "b"], ["c"]], {"a", "b", "c"}, None),
        ],
    )
    def test_every_form_of_its_own_tables_is_taken(
        self, tmp_path: Path, brought: Import, given: Any, relevant: set[str], needs: list[str] | None
    ) -> None:
        import pyarrow as pa

        passages = [{"doc_id": one, "contents": f"text {one}", "metadata": {"page": 1}} for one in "abc"]
        rows = [{"qid": "q", "query": "why?", "retrieval_gt": given, "generation_gt": ["since"]}]
        pq.write_table(pa.Table.from_pylist(passages), tmp_path / "corpus.parquet")
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "qa.parquet")
        found = brought("autorag", tmp_path)
        assert found["relevance_scores"] == {"q": dict.fromkeys(sorted(relevant), 3)}
        assert found.get("needs", {}).get("q") == needs
        assert found["answers"]["q"]["text"] == "since"
        assert found["metadata"]["evidence_level"] == "model"

    @pytest.mark.parametrize(
        ("row", "says"),
        [
            ({"qid": "q", "query": "x", "retrieval_gt": [["z"]]}, "row 1: judges document 'z'"),
            (
                {"qid": "q", "query": "x", "retrieval_gt": [["a"]], "goldbench": '{"grades": {"a": "3"}}'},
                "row 1: has a grade",
            ),
            ({"qid": "q", "query": "x", "retrieval_gt": [["a"]], "goldbench": "{"}, "row 1: is not valid JSON"),
        ],
    )
    def test_a_row_that_is_wrong_is_named(
        self, tmp_path: Path, goldbench_inside: Goldbench, row: dict[str, Any], says: str
    ) -> None:
        import pyarrow as pa

        pq.write_table(pa.Table.from_pylist([{"doc_id": "a", "contents": "text"}]), tmp_path / "corpus.parquet")
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / "qa.parquet")
        done = goldbench_inside("import", "autorag", ".", "--out", "out")
        assert done.returncode == 2
        assert says in done.stderr, done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "out").exists()

    @pytest.mark.slow
    def test_autorag_takes_the_tables_and_measures_by_them(self, sample: Path, tmp_path: Path, read: Read) -> None:
        GoldSet.load(sample).export("autorag", tmp_path / "mine-autorag")
        (page,) = blocks("python", SECTIONS["AutoRAG"])
        lines = """
from autorag.schema.metricinput import MetricInput
inputs = MetricInput.from_dataframe(qa)
found = {
    "groups": {row.qid: row.retrieval_gt for row in qa.itertuples()},
    "answers": {row.qid: row.generation_gt for row in qa.itertuples() if row.generation_gt},
    "corpus": dict(zip(corpus.doc_id, corpus.contents)),
    "complete": [one.is_fields_notnone(["query", "retrieval_gt"]) for one in inputs],
}
"""
        found = read("autorag", page + lines)
        contexts = {key: Counter(doc for group in groups for doc in group) for key, groups in found["groups"].items()}
        assert contexts == {key: Counter(docs) for key, docs in CONTEXTS.items()}
        assert found["answers"] == {key: [answer] for key, answer in ANSWERS.items()}
        assert set(found["corpus"]) == set(CORPUS)
        assert found["complete"] == [True] * 4


class TestIrDatasets:
    @pytest.mark.slow
    def test_it_reads_the_same_documents_queries_and_judgments(self, sample: Path, tmp_path: Path, read: Read) -> None:
        GoldSet.load(sample).export("ir_datasets", tmp_path / "mine-ir")
        GoldSet.load(sample).export("hf", tmp_path / "mine-hf")
        pages = [*blocks("python", SECTIONS["ir_datasets"]), *blocks("python", SECTIONS["Hugging Face Hub"])]
        lines = """
found = {
    "id": ir_dataset.DATASET_ID,
    "docs": {doc.doc_id: doc.default_text() for doc in data.docs_iter()},
    "queries": {query.query_id: query.default_text() for query in data.queries_iter()},
    "answers": {query.query_id: query.answer for query in data.queries_iter() if query.answer},
    "qrels": data.qrels_dict(),
    "one": data.docs_store().get("valve").text,
    "meanings": list(data.qrels_defs()),
    "hub": [len(queries), len(judgments)],
}
from goldbench import GoldSet
again = GoldSet.load(ir_dataset.DATASET_ID, kind="ir_datasets")
found["again"] = {"corpus": again.corpus, "qrels": again.qrels}
data = GoldSet.load("run").to_ir_datasets("again")
found["method"] = [query.query_id for query in data.queries_iter()]
"""
        found = read("evaluation", "".join(pages) + lines)
        assert found["id"] == "goldbench/run"
        assert found["hub"] == [len(ALONE), len(JUDGED)]
        assert found["docs"] == CORPUS
        assert found["queries"] == ALONE
        assert found["answers"] == ANSWERS
        assert found["qrels"] == GRADES
        assert found["one"] == CORPUS["valve"]
        assert found["meanings"] == [0, 1, 2, 3]
        assert found["again"] == {"corpus": CORPUS, "qrels": GRADES}
        assert found["method"] == list(ALONE)

    def test_the_folder_comes_back_without_its_module_being_run(
        self, sample: Path, tmp_path: Path, brought: Import
    ) -> None:
        folder = GoldSet.load(sample).export("ir_datasets", tmp_path / "x")
        (folder / "ir_dataset.py").write_text("raise SystemExit('was run')")
        found = brought("ir_datasets", folder)
        check_brought(found, evidence=False)
        assert found["queries"] == ALONE


def test_a_module_that_is_written_is_that_of_the_package(sample: Path, tmp_path: Path) -> None:
    for to, name in (("mteb", "mteb_task"), ("ir_datasets", "ir_dataset")):
        folder = GoldSet.load(sample).export(to, tmp_path / to)
        module = (folder / f"{name}.py").read_text(encoding="utf-8")
        assert module == (ROOT / "pipeline/goldbench/exports/standalone" / f"{name}.py").read_text(encoding="utf-8")
        assert "import goldbench" not in module
        assert "from goldbench" not in module


def test_grades_that_count_from_1_on_count_from_1_on_after_a_round_trip(tmp_path: Path, brought: Import) -> None:
    (tmp_path / "set" / "qrels").mkdir(parents=True)
    (tmp_path / "set" / "corpus.jsonl").write_text('{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n')
    (tmp_path / "set" / "queries.jsonl").write_text('{"_id": "q", "text": "which?"}\n{"_id": "r", "text": "why?"}\n')
    (tmp_path / "set" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\nq\tb\t2\nr\tb\t1\n")
    gold = GoldSet.load(tmp_path / "set")
    assert gold.relevant_from == 1
    for kind, to in (("ir_datasets", "ir_datasets"), ("autorag", "autorag")):
        found = brought(kind, gold.export(to, tmp_path / to))
        assert found["relevant_docs"] == {"q": ["b", "a"], "r": ["b"]}
        assert found["relevance_scores"] == {"q": {"a": 2, "b": 3}, "r": {"b": 2}}
