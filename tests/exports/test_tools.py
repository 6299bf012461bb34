"""Each tool loads an export with its own class: the same queries, references and passages, in whatever characters."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from goldbench import GoldSet
from tests.exports.conftest import Read
from tests.exports.sample_exports import ALONE, ANSWERS, CONTEXTS, CORPUS, GRADES, UNANSWERED

TEXTS = {key: [CORPUS[doc_id] for doc_id in found] for key, found in CONTEXTS.items()}
EVERY = {**ALONE, **UNANSWERED}


def check(found: Any, *, contextless: bool) -> None:
    """Compare what a tool holds, rows of id, query, answer and passages, with the set."""
    wanted = EVERY if contextless else ALONE
    assert {row[0]: row[1] for row in found} == wanted
    assert {row[0]: row[2] for row in found if row[2]} == ANSWERS
    assert {row[0]: row[3] for row in found} == {key: TEXTS.get(key, []) for key in wanted}


@pytest.mark.slow
def test_deepeval_loads_goldens(sample: Path, tmp_path: Path, read: Read) -> None:
    gold = GoldSet.load(sample)
    gold.export("deepeval", tmp_path / "x.json")
    gold.export("deepeval", tmp_path / "x.jsonl")
    lines = """
from deepeval.dataset import EvaluationDataset
from goldbench import GoldSet
every = []
for load in ("json", "jsonl", None):
    dataset = EvaluationDataset() if load else GoldSet.load(file + "/run").to_deepeval()
    if load:
        getattr(dataset, f"add_goldens_from_{load}_file")(f"{file}/x.{load}")
    every.append([[g.name, g.input, g.expected_output, g.context, g.additional_metadata] for g in dataset.goldens])
found = every
"""
    found = read("tools", lines, tmp_path)
    for rows in found:
        check(rows, contextless=True)
        assert {row[0]: row[4].get("grades", {}) for row in rows} == {**GRADES, "q9": {}}
        assert [row[0] for row in rows if not row[4]["answerable"]] == ["q9"]


LLAMA_INDEX = """
import json
from goldbench import GoldSet
from llama_index.core.evaluation import RetrieverEvaluator
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore
given = GoldSet.load(file + "/run").to_llama_index()
by_text = {}
for query_id, text in given.queries.items():
    by_text[text] = [node for node in given.nodes if node.node_id in given.relevant_docs[query_id]]
class Perfect(BaseRetriever):
    def _retrieve(self, query):
        return [NodeWithScore(node=node, score=1.0) for node in by_text[query.query_str]]
evaluator = RetrieverEvaluator.from_metric_names(["hit_rate", "mrr"], retriever=Perfect())
scores = [evaluator.evaluate(given.queries[q], given.relevant_docs[q]).metric_vals_dict for q in given.queries]
found = {
    "nodes": {node.node_id: node.text for node in given.nodes},
    "queries": given.queries,
    "relevant_docs": given.relevant_docs,
    "scores": scores,
    "class": type(given.dataset).__name__,
}
"""


@pytest.mark.slow
def test_llama_index_0_14_evaluates_a_retriever(sample: Path, read: Read) -> None:
    found = read("tools", LLAMA_INDEX, sample.parent)
    assert (found["nodes"], found["queries"], found["relevant_docs"]) == (CORPUS, ALONE, CONTEXTS)
    assert found["scores"] == [{"hit_rate": 1.0, "mrr": 1.0}] * len(ALONE)
    assert found["class"] == "NoneType"  # it has no class for such sets any more


@pytest.mark.slow
def test_llama_index_0_12_loads_both_of_its_sets_from_one_file(sample: Path, tmp_path: Path, read: Read) -> None:
    file = GoldSet.load(sample).export("llama-index", tmp_path / "x.json")
    lines = f"""
{LLAMA_INDEX}
from llama_index.core.evaluation import EmbeddingQAFinetuneDataset
from llama_index.core.llama_dataset import LabelledRagDataset
rag = LabelledRagDataset.from_json({str(file)!r})
whole = EmbeddingQAFinetuneDataset.from_json({str(file)!r})
found = [found, whole.model_dump(), given.dataset == whole, [one.model_dump() for one in rag.examples]]
"""
    given, queries, same, examples = read("llama-index-0.12", lines, sample.parent)
    assert (given["class"], same) == ("EmbeddingQAFinetuneDataset", True)
    assert given["scores"] == [{"hit_rate": 1.0, "mrr": 1.0}] * len(ALONE)
    assert queries == {"queries": ALONE, "corpus": CORPUS, "relevant_docs": CONTEXTS, "mode": "text"}
    rows = [
        [key, one["query"], one["reference_answer"], one["reference_contexts"]]
        for key, one in zip(ALONE, examples, strict=True)
    ]
    check(rows, contextless=False)


class Recorded(http.server.ThreadingHTTPServer):
    """A server on loopback that stores what is sent and answers by a function of path and body."""

    def __init__(self, answer: Callable[[str, str, Any], Any]) -> None:
        self.answer, self.sent = answer, list[tuple[str, str, Any]]()
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Recorded

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        kind = self.headers.get("content-type", "")
        body = json.loads(raw) if raw and "json" in kind else raw.decode("latin-1")
        path = urlsplit(self.path).path
        self.server.sent.append((self.command, path, body))
        found = self.server.answer(self.command, path, body)
        answer = (found if isinstance(found, str) else json.dumps(found)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815  as the class has it

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the class has it
        pass


@contextmanager
def recorded(answer: Callable[[str, str, Any], Any]) -> Iterator[Recorded]:
    server = Recorded(answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


NUMBER = "00000000-0000-0000-0000-00000000000{}"


def langsmith(method: str, path: str, body: Any) -> Any:
    if path == "/info":
        return {"version": "1", "instance_flags": {"dataset_examples_multipart_enabled": False}}
    if path == "/examples/bulk":
        return [{"id": NUMBER.format(number)} for number in range(len(body))]
    return [{"id": NUMBER.format(9), "name": "gold", "created_at": "2026-01-01T00:00:00Z"}]


@pytest.mark.slow
def test_langsmiths_client_uploads_examples(sample: Path, tmp_path: Path, read: Read) -> None:
    GoldSet.load(sample).export("langsmith", tmp_path / "x.jsonl")
    lines = """
import json
from goldbench import GoldSet
from langsmith import Client
client = Client(api_key="none")
examples = [json.loads(line) for line in open(file + "/x.jsonl")]
found = [client.create_examples(dataset_name="gold", examples=given)["count"]
         for given in (examples, GoldSet.load(file + "/run").to_langsmith())]
"""
    with recorded(langsmith) as server:
        found = read("tools", lines, tmp_path, LANGSMITH_ENDPOINT=server.url)
    assert found == [len(EVERY)] * 2
    bodies = [body for _, path, body in server.sent if path == "/examples/bulk"]
    assert len(bodies) == 2
    for body in bodies:
        rows = [[one["metadata"]["query_id"], one["inputs"]["question"], one["outputs"].get("answer")] for one in body]
        check([[*row, one["outputs"]["contexts"]] for row, one in zip(rows, body, strict=True)], contextless=True)
        assert {one["metadata"]["query_id"]: one["metadata"].get("grades", {}) for one in body} == {**GRADES, "q9": {}}


def phoenix(method: str, path: str, body: Any) -> Any:
    if path == "/arize_phoenix_version":
        return "20.0.0"
    if path == "/v1/datasets/upload":
        return {"data": {"dataset_id": "RGF0YXNldDox", "version_id": "RGF0YXNldFZlcnNpb246MQ=="}}
    if path.endswith("/examples"):
        return {"data": {"dataset_id": "RGF0YXNldDox", "version_id": "RGF0YXNldFZlcnNpb246MQ==", "examples": []}}
    return {
        "data": {
            "id": "RGF0YXNldDox", "name": "gold", "description": None, "metadata": {}, "example_count": 0,
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        }
    }  # fmt: skip


@pytest.mark.slow
def test_phoenix_client_uploads_examples_and_tables(sample: Path, tmp_path: Path, read: Read) -> None:
    gold = GoldSet.load(sample)
    gold.export("phoenix", tmp_path / "x.jsonl")
    table = gold.export("phoenix", tmp_path / "x.csv")
    assert gold.to_phoenix() == [json.loads(line) for line in (tmp_path / "x.jsonl").read_bytes().splitlines()]
    lines = """
import json, pandas
from phoenix.client import Client
datasets = Client().datasets
datasets.create_dataset(name="gold", examples=[json.loads(line) for line in open(file + "/x.jsonl")])
datasets.create_dataset(name="table", csv_file_path=file + "/x.csv", input_keys=["question"],
                        output_keys=["answer", "contexts"], metadata_keys=["query_id", "context_ids", "metadata"])
frame = pandas.read_csv(file + "/x.csv", dtype=str, keep_default_na=False)
found = frame.values.tolist()
"""
    with recorded(phoenix) as server:
        found = read("tools", lines, tmp_path, PHOENIX_COLLECTOR_ENDPOINT=server.url)
    check([[key, text, answer, json.loads(texts)] for key, text, answer, texts, *_ in found], contextless=True)
    (sent, uploaded) = (body for _, path, body in server.sent if path == "/v1/datasets/upload")
    rows = zip(sent["example_ids"], sent["inputs"], sent["outputs"], strict=True)
    check(
        [[key, asked["question"], said.get("answer"), said["contexts"]] for key, asked, said in rows], contextless=True
    )
    assert {key: one.get("grades", {}) for key, one in zip(EVERY, sent["metadata"], strict=True)} == {
        **GRADES,
        "q9": {},
    }
    assert 'name="file"' in uploaded
    assert table.stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".json", ".jsonl", ".yaml"])
def test_promptfoo_runs_the_test_cases(sample: Path, tmp_path: Path, ending: str) -> None:
    program = shutil.which("promptfoo")
    if program is None:
        pytest.skip("promptfoo is not on the path: npm install --global promptfoo, with a Node.js that it supports")
    file = GoldSet.load(sample).export("promptfoo", tmp_path / f"x{ending}")
    (tmp_path / "prompt.txt").write_text("{{ gold.question }}", encoding="utf-8")
    config = f"prompts: [file://prompt.txt]\nproviders: [echo]\ntests: file://{file.name}\n"
    (tmp_path / "promptfooconfig.yaml").write_text(config, encoding="utf-8")
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(tmp_path)}
    command = [program, "eval", "-o", "out.json", "--no-cache", "--no-table"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]["results"]
    gold = [(one["testCase"]["description"], one["response"]["output"], one["vars"]["gold"]) for one in results]
    check([[key, said, vars_["answer"], vars_["contexts"]] for key, said, vars_ in gold], contextless=True)
    assert {one["testCase"]["description"]: one["testCase"]["metadata"].get("grades", {}) for one in results} == {
        **GRADES,
        "q9": {},
    }


def test_promptfoo_gets_no_text_as_a_variable_of_its_own(sample: Path) -> None:
    assert {type(value) for case in GoldSet.load(sample).to_promptfoo() for value in case["vars"].values()} == {dict}
