"""Systems of one's own: functions, endpoints, objects; what they may answer, and that the command outlives them."""

from __future__ import annotations

import itertools
import json
import math
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from goldbench.errors import RetrieverFailed
from goldbench.retrieval import endpoint as endpoint_module
from goldbench.retrieval import user_answers
from goldbench.systems import adapt, open_systems

CORPUS = {"c1": "The pump hums.", "c2": "The valve, it leaks badly in winter time.", "c3": "Tank", "7": "Seven seals"}


def asked(function: Any, k: int = 3, **settings: Any) -> dict[str, float]:
    retriever = adapt(function, name="mine", **settings)
    retriever.index(CORPUS)
    return retriever.search({"q": "which pump?"}, k=k)["q"]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (["c2", "c1"], ["c2", "c1"]),
        ([("c1", 1), ("c2", 3.5)], ["c2", "c1"]),
        ({"c1": 0.5, "c3": 0.25}, ["c1", "c3"]),
        ([{"id": "c3", "score": 2}, {"id": "c1", "score": 2}], ["c3", "c1"]),
        ([("c1", np.float32(1)), ("c2", np.float64(2))], ["c2", "c1"]),
        (iter(["c3"]), ["c3"]),
        ([7], ["7"]),
        (np.array(["c1", "c3"]), ["c1", "c3"]),
        ([], []),
    ],
)
def test_ids_pairs_mappings_and_objects_are_read(answer: Any, expected: list[str]) -> None:
    assert list(asked(lambda query, k: answer)) == expected


def test_an_asynchronous_function_is_awaited() -> None:
    async def later(query: str, k: int) -> list[str]:
        return ["c1"] if query == "which pump?" and k == 3 else []

    assert list(asked(later)) == ["c1"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            ["c1", "nowhere", "c9"],
            "query 'q': answered 2 of 3 ids that are not passages, the first 'nowhere'; ids of passages are like 'c1'",
        ),
        (["c1", "c2", "c3", "7"], "answered 4 results where 3 were asked for"),
        (["c1", "c1"], "answered passage 'c1' twice"),
        ([("c1", math.nan)], "a score that is not a finite number"),
        ([("c1", -math.inf)], "a score that is not a finite number"),
        ([("c1", "high")], "a score that is not a number but a str"),
        ([("c1", True)], "a score that is not a number but a bool"),
        (["c1", ("c2", 1.0)], "some results with a score and some without"),
        ("c1", "answered a str"),
        (None, "answered nothing"),
        (3, "answered an int"),
        ({"c1", "c2"}, "answered a set, which has no order; return a list"),
        (dict.fromkeys(["c1"]).keys(), "answered a dict_keys, which has no order"),
        ([object()], "answered an object with neither id nor text"),
    ],
)
def test_what_no_retriever_may_answer_is_refused(answer: Any, message: str) -> None:
    with pytest.raises(RetrieverFailed, match=f"system mine: .*{message}") as caught:
        asked(lambda query, k: answer)
    assert "\n" not in str(caught.value)


def test_one_that_does_not_come_back_is_given_up_and_not_asked_again() -> None:
    let_go = threading.Event()
    retriever = adapt(lambda query, k: [let_go.wait(30)], name="mine", timeout_s=0.2)
    retriever.index(CORPUS)
    with pytest.raises(RetrieverFailed, match=r"did not answer in 0.2 s"):
        retriever.search({"q": "pump"}, k=3)
    with pytest.raises(RetrieverFailed, match="earlier query"):
        retriever.search({"q": "pump"}, k=3)
    let_go.set()


def test_texts_are_known_by_what_they_contain_and_keep_their_rank() -> None:
    texts = [
        "unheard of",
        "the  PUMP hums.",
        "Prologue. The valve, it leaks badly in winter time. End.",
        "valve, it leaks",
    ]
    found = list(asked(lambda query, k: texts, k=4, returns="texts"))
    assert found == ["no-passage-of-mine-1", "c1", "c2", "no-passage-of-mine-4"]  # c2 is found once


def test_langchain_retrievers_are_taken_as_they_are() -> None:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Mine(BaseRetriever):
        key: str

        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            assert query == "which pump?"
            return [
                Document(page_content="whatever", metadata={self.key: "c2", "source": "x"}),
                Document(page_content="unknown", id="c3"),
                Document(page_content="The pump hums."),
                Document(page_content="beyond k", id="7"),
            ]

    assert list(asked(Mine(key="chunk_id"))) == ["c2", "c3", "c1"]


@pytest.mark.slow  # importing LlamaIndex takes seconds
def test_llamaindex_retrievers_are_taken_as_they_are() -> None:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Mine(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            assert query_bundle.query_str == "which pump?"
            return [
                NodeWithScore(node=TextNode(id_="c1", text="whatever"), score=0.25),
                NodeWithScore(node=TextNode(text="x", metadata={"doc_id": "c3"}), score=0.5),
                NodeWithScore(node=TextNode(text="the valve, it leaks badly"), score=0.75),
            ]

    assert asked(Mine()) == {"c2": 0.75, "c3": 0.5, "c1": 0.25}


def test_what_is_no_retriever_is_refused() -> None:
    from goldbench.errors import UsageError

    with pytest.raises(UsageError, match="an int is neither a run nor"):
        adapt(3)


MODULE = """
import sys, time
def good(query, k):
    print("noise")
    return ["c1"]
def hang(query, k):
    time.sleep(20)
def leave(query, k):
    sys.exit(0)
class Some:
    @staticmethod
    def method(query, k):
        return [("c2", k)]
"""


def functions(folder: Path, name: str, seconds: float = 5.0) -> dict[str, float]:
    (folder / "theirs.py").write_text(MODULE)
    table = {"kind": "python", "function": f"theirs:{name}", "timeout_seconds": seconds}
    with open_systems(["mine"], {"mine": table}, folder=folder) as systems:
        retriever = systems.retriever("mine")
        retriever.index(CORPUS)
        return retriever.search({"q": "pump"}, k=2)["q"]


def test_what_a_function_prints_is_not_on_standard_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert str(functions(tmp_path, "good")) == "{'c1': 0.0}", "not -0.0"
    assert capfd.readouterr().out == ""
    assert functions(tmp_path, "Some.method") == {"c2": 2.0}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hang", "did not answer in 0.5 s"),
        ("leave", r"raised SystemExit \(theirs.py, line \d+\)"),
        ("missing", "module theirs has no function missing"),
    ],
)
def test_whatever_a_function_does_is_one_line(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(RetrieverFailed, match=message):
        functions(tmp_path, name, 0.5 if name == "hang" else 5.0)


@pytest.fixture
def endpoint() -> Iterator[tuple[str, dict[str, Any]]]:
    """An endpoint on a socket; what it answers, and what it was sent."""
    said: dict[str, Any] = {"status": 200, "body": b"", "wait": 0.0}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said["sent"] = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said["key"] = self.headers.get("authorization")
            time.sleep(said["wait"])
            self.send_response(said["status"])
            self.send_header("content-length", str(len(said["body"])))
            self.end_headers()
            self.wfile.write(said["body"])

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/search", said
    server.shutdown()
    server.server_close()
    thread.join()


def searched(url: str, **settings: Any) -> dict[str, float]:
    with open_systems(["there"], {"there": {"kind": "http", "url": url, **settings}}) as systems:
        retriever = systems.retriever("there")
        retriever.index(CORPUS)
        return retriever.search({"q": "pump"}, k=2)["q"]


def test_an_endpoint_with_another_key_is_told_which_is_expected(endpoint: tuple[str, dict[str, Any]]) -> None:
    url, said = endpoint
    said["body"] = b'{"hits": [{"id": "c2", "score": 0.5}]}'
    expected = r'answered no key "results"; expected \{"results": \[\{"id": \.\.\., "score": \.\.\.\}\]\}'
    with pytest.raises(RetrieverFailed, match=expected):
        searched(url)
    said["body"] = b'{"c2": 0.5, "c1": 0.75}'
    assert searched(url) == {"c1": 0.75, "c2": 0.5}


def test_an_endpoint_takes_json_and_answers_json(
    endpoint: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, said = endpoint
    monkeypatch.setenv("THEIR_KEY", "k1")
    said["body"] = b'{"results": [{"id": "c2", "score": 0.5}, {"id": "c1", "score": 0.75}]}'
    assert searched(url, api_key_env="THEIR_KEY") == {"c1": 0.75, "c2": 0.5}
    assert (said["sent"], said["key"]) == ({"query": "pump", "k": 2}, "Bearer k1")
    said["body"] = b'["c3"]'
    assert list(searched(url)) == ["c3"]
    said["body"] = b'{"results": [{"text": "tank"}]}'
    assert list(searched(url, returns="texts")) == ["c3"]


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (500, b"SECRET", "127.0.0.1 answered HTTP 500"),
        (401, b"SECRET", r"127.0.0.1 refuses the key \(HTTP 401\)"),
        (302, b"", "127.0.0.1 answered HTTP 302"),
        (200, b"SECRET", "127.0.0.1 did not answer with JSON"),
        (200, b'{"answer": []}', 'answered no key "results"'),
        (200, b'{"results": [{"score": 1}]}', "answered a dict with neither id nor text"),
        (200, b'{"results": [{"id": "c1", "score": NaN}]}', "not a finite number"),
    ],
)
def test_an_endpoint_that_fails_is_one_line(
    endpoint: tuple[str, dict[str, Any]], status: int, body: bytes, message: str
) -> None:
    url, said = endpoint
    said.update(status=status, body=body)
    with pytest.raises(RetrieverFailed, match=message) as caught:
        searched(url)
    assert "SECRET" not in str(caught.value)


def test_an_endpoint_that_is_slow_is_given_up(endpoint: tuple[str, dict[str, Any]]) -> None:
    url, said = endpoint
    said["wait"] = 1.0
    with pytest.raises(RetrieverFailed, match=r"127.0.0.1 did not answer in 0.2 s"):
        searched(url, timeout_seconds=0.2)


def test_an_answer_without_end_is_not_read_for_ever(
    endpoint: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_answers, "MOST", 1000)
    with pytest.raises(RetrieverFailed, match="query 'q': answered more than 1,000 results for one query"):
        asked(lambda query, k: itertools.repeat("c1"))
    url, said = endpoint
    monkeypatch.setattr(endpoint_module, "MOST_BYTES", 2**20)
    said["body"] = b" " * 2**21
    with pytest.raises(RetrieverFailed, match=r"127.0.0.1 answered more than 1 MB"):
        searched(url)
