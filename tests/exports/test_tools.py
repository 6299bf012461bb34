"""Each tool loads an export with its own class: the same queries, references and passages, in whatever characters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from goldbench import GoldSet
from tests.conftest import Goldbench
from tests.exports.conftest import Read
from tests.exports.how_to_page import SECTIONS, blocks, carried_out
from tests.exports.recorded_server import langsmith, phoenix, recorded
from tests.exports.sample_exports import ALONE, ANSWERS, CONTEXTS, CORPUS, GRADES, QUESTIONS, UNANSWERED

TEXTS = {key: [CORPUS[doc_id] for doc_id in found] for key, found in CONTEXTS.items()}
EVERY = {**ALONE, **UNANSWERED}


def check(found: Any, *, contextless: bool) -> None:
    """Compare what a tool holds, rows of id, query, answer and passages, with the set."""
    wanted = EVERY if contextless else ALONE
    assert {row[0]: row[1] for row in found} == wanted
    assert {row[0]: row[2] for row in found if row[2]} == ANSWERS
    assert {row[0]: row[3] for row in found} == {key: TEXTS.get(key, []) for key in wanted}


@pytest.mark.slow
def test_ragas_loads_samples(sample: Path, read: Read, goldbench_inside: Goldbench) -> None:
    (lines,) = carried_out("ragas", sample, goldbench_inside)
    samples = read("ragas", lines + RAGAS)
    check([[*row[:2], row[2], row[3]] for row in samples], contextless=False)
    assert {row[0]: row[4] for row in samples} == CONTEXTS


RAGAS = """
ids = [json.loads(line)["goldbench"]["query_id"] for line in open("ragas.jsonl")]
found = [[query_id, one.user_input, one.reference, one.reference_contexts, one.reference_context_ids]
         for query_id, one in zip(ids, dataset)]
"""


@pytest.mark.slow
def test_deepeval_loads_goldens(sample: Path, read: Read, goldbench_inside: Goldbench) -> None:
    (lines,) = carried_out("deepeval", sample, goldbench_inside)
    rows = read("evaluation", lines + DEEPEVAL)
    check(rows, contextless=True)
    assert {row[0]: row[4].get("grades", {}) for row in rows} == {**GRADES, "q9": {}}
    assert [row[0] for row in rows if not row[4]["answerable"]] == ["q9"]
    back = GoldSet.load(sample.parent / "saved.json", kind="deepeval")
    assert (back.queries, back.unanswerable) == (QUESTIONS, UNANSWERED)
    assert {key: list(judged) for key, judged in back.qrels.items()} == CONTEXTS


DEEPEVAL = """
dataset.save_as("json", ".", "saved")
found = [[g.name, g.input, g.expected_output, g.context, g.additional_metadata] for g in dataset.goldens]
"""


@pytest.mark.slow
def test_llama_index_0_14_evaluates_a_retriever(sample: Path, read: Read, goldbench_inside: Goldbench) -> None:
    lines = carried_out("LlamaIndex", sample, goldbench_inside)[0]
    found = read("evaluation", f"{RETRIEVER}{lines}{LLAMA_INDEX}")
    assert (found["nodes"], found["queries"], found["relevant_docs"]) == (CORPUS, ALONE, CONTEXTS)
    assert found["scores"] == [{"hit_rate": 1.0, "mrr": 1.0}] * len(ALONE)


RETRIEVER = """
def index(nodes):
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore
    class Perfect(BaseRetriever):
        def _retrieve(self, query):
            key = next(key for key, text in data["queries"].items() if text == query.query_str)
            return [NodeWithScore(node=one, score=1.0) for one in nodes if one.node_id in data["relevant_docs"][key]]
    return Perfect()
"""

LLAMA_INDEX = """
found = {
    "nodes": {node.node_id: node.text for node in nodes},
    "queries": data["queries"],
    "relevant_docs": data["relevant_docs"],
    "scores": [one.metric_vals_dict for one in results],
}
"""


@pytest.mark.slow
def test_llama_index_0_12_loads_both_of_its_sets_from_one_file(
    sample: Path, read: Read, goldbench_inside: Goldbench
) -> None:
    evaluation, classes = carried_out("LlamaIndex", sample, goldbench_inside)
    rest = """
found = [found, dataset.model_dump(), [one.model_dump() for one in answers.examples]]
"""
    given, queries, examples = read("llama-index-0.12", f"{RETRIEVER}{evaluation}{LLAMA_INDEX}{classes}{rest}")
    assert given["scores"] == [{"hit_rate": 1.0, "mrr": 1.0}] * len(ALONE)
    assert queries == {"queries": ALONE, "corpus": CORPUS, "relevant_docs": CONTEXTS, "mode": "text"}
    rows = [
        [key, example["query"], example["reference_answer"], example["reference_contexts"]]
        for key, example in zip(ALONE, examples, strict=True)
    ]
    check(rows, contextless=False)


@pytest.mark.slow
def test_langsmiths_client_uploads_examples(sample: Path, read: Read, goldbench_inside: Goldbench) -> None:
    (lines,) = carried_out("LangSmith", sample, goldbench_inside)
    with recorded(langsmith) as server:
        read("evaluation", f"{lines}found = None", LANGSMITH_ENDPOINT=server.url, LANGSMITH_API_KEY="none")
    (body,) = (body for _, path, body in server.sent if path == "/examples/bulk")
    rows = [[one["metadata"]["query_id"], one["inputs"]["question"], one["outputs"].get("answer")] for one in body]
    check([[*row, one["outputs"]["contexts"]] for row, one in zip(rows, body, strict=True)], contextless=True)
    assert {one["metadata"]["query_id"]: one["metadata"].get("grades", {}) for one in body} == {**GRADES, "q9": {}}


@pytest.mark.slow
def test_phoenix_client_uploads_examples(sample: Path, read: Read, goldbench_inside: Goldbench) -> None:
    (lines,) = carried_out("Phoenix", sample, goldbench_inside)
    written = (sample.parent / "phoenix.jsonl").read_bytes().splitlines()
    assert GoldSet.load(sample).to_phoenix() == [json.loads(line) for line in written]
    with recorded(phoenix) as server:
        read("evaluation", f"{lines}found = None", PHOENIX_COLLECTOR_ENDPOINT=server.url)
    (sent,) = (body for _, path, body in server.sent if path == "/v1/datasets/upload")
    rows = zip(sent["example_ids"], sent["inputs"], sent["outputs"], strict=True)
    check([[key, one["question"], said.get("answer"), said["contexts"]] for key, one, said in rows], contextless=True)
    grades = {key: one.get("grades", {}) for key, one in zip(EVERY, sent["metadata"], strict=True)}
    assert grades == {**GRADES, "q9": {}}


@pytest.mark.slow
def test_promptfoo_runs_the_test_cases(sample: Path, tmp_path: Path) -> None:
    program = shutil.which("promptfoo")
    if program is None:
        pytest.skip("promptfoo is not on the path: npm install --global promptfoo, with a Node.js that it supports")
    GoldSet.load(sample).export("promptfoo", tmp_path / "tests.json")
    (page,) = blocks("yaml", SECTIONS["promptfoo"])
    (tmp_path / "promptfooconfig.yaml").write_text(page, encoding="utf-8")
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(tmp_path)}
    command = [program, "eval", "-o", "out.json", "--no-cache", "--no-table"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]["results"]
    assert all(result["success"] for result in results)
    gold = [(one["testCase"]["description"], one["response"]["output"], one["vars"]["gold"]) for one in results]
    check([[key, said, vars_["answer"], vars_["contexts"]] for key, said, vars_ in gold], contextless=True)
    assert {one["testCase"]["description"]: one["testCase"]["metadata"].get("grades", {}) for one in results} == {
        **GRADES,
        "q9": {},
    }


def test_promptfoo_gets_no_text_as_a_variable_of_its_own(sample: Path) -> None:
    assert {type(value) for case in GoldSet.load(sample).to_promptfoo() for value in case["vars"].values()} == {dict}
