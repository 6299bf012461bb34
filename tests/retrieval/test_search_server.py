"""Elasticsearch and OpenSearch, against a server on a socket that speaks their protocol."""

from __future__ import annotations

import base64
import socket
from typing import Any

import pytest

from goldbench.errors import RetrieverFailed
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.guard import GuardedRetriever
from goldbench.retrieval.search_server import SearchServer, server_url
from goldbench.retrieval.system_settings import Analyzer, BM25Settings, SearchServerSettings
from goldbench.retrieval.tokens import tokenizer
from tests.retrieval.search_engine import Engine, running

CORPUS = {
    f"d{number}": text
    for number, text in enumerate(["pump valve", "pump pump seal", "tank", "valve seal tank", "pump valve"])
}
QUERIES = {"q1": "pump valve", "q2": "tank", "q3": "hose"}


def server(engine: Engine, key: str | None = None, **settings: Any) -> GuardedRetriever:
    described = SearchServerSettings(kind="elasticsearch", url=f"elasticsearch://{engine.url}", **settings)
    return GuardedRetriever(SearchServer(described, key=key), name="es")


def test_its_results_are_those_of_our_own_formula_with_these_parameters() -> None:
    with running(Engine()) as engine:
        there = server(engine, k1=0.9, b=0.4)
        there.index(CORPUS)
        match = there.search(QUERIES, k=2)
        there.close()
    bm25 = BM25(BM25Settings(k1=0.9, b=0.4), tokens=tokenizer(Analyzer.UNICODE))
    bm25.index(CORPUS)
    expected = bm25.search(QUERIES, k=2)
    assert {query_id: list(ranking) for query_id, ranking in match.items()} == {
        query_id: list(ranking) for query_id, ranking in expected.items()
    }
    assert match["q1"] == pytest.approx(expected["q1"])
    assert list(match["q1"]) == ["d4", "d0"]  # equal scores by id, the greater first
    assert match["q3"] == {}


def test_the_index_is_gone_at_the_end_and_before_another_corpus() -> None:
    with running(Engine()) as engine:
        there = server(engine)
        there.index(CORPUS)
        there.index({"x": "pump"})
        assert list(there.search({"q": "pump"}, k=9)["q"]) == ["x"]
        there.close()
        assert (engine.indexes, len(engine.deleted)) == ({}, 2)


def test_many_passages_go_in_several_bulks_whatever_their_ids() -> None:
    corpus = {f"{'long' * 200}-{number}": f"pump {number}" for number in range(4500)}
    with running(Engine()) as engine:
        there = server(engine)
        there.index(corpus)
        assert set(there.search({"q": "4242"}, k=9)["q"]) == {f"{'long' * 200}-4242"}
        assert sum(line.endswith("/_bulk") for line in engine.seen) == 3
        there.close()


def test_more_queries_than_one_request_takes_are_each_answered() -> None:
    with running(Engine()) as engine:
        there = server(engine)
        there.index(CORPUS)
        match = there.search({f"q{number}": "tank" if number % 2 else "hose" for number in range(150)}, k=1)
        there.close()
    assert [len(match[f"q{number}"]) for number in range(150)] == [0, 1] * 75


@pytest.mark.parametrize(("key", "sent"), [("abc==", "ApiKey abc=="), ("elastic:pw", "Basic ")])
def test_the_key_is_sent_as_the_server_wants_it(key: str, sent: str) -> None:
    expected = sent + (base64.b64encode(key.encode()).decode() if ":" in key else "")
    with running(Engine(key=expected)) as engine:
        there = server(engine, key)
        there.index(CORPUS)
        there.close()
        with pytest.raises(RetrieverFailed, match=r"system es: 127\.0\.0\.1 refuses the key \(HTTP 401\)"):
            server(engine, "wrong").index(CORPUS)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("bulk", r"system es: the server refused 1 of 5 passages \(mapper_parsing_exception\)"),
        ("shard", r"system es: the server could not search \(search_phase_execution_exception\)"),
        ("junk", "system es: the server did not answer each query once"),
    ],
)
def test_a_server_that_fails_is_one_line_without_texts(fault: str, message: str) -> None:
    with running(Engine(fault=fault)) as engine:
        there = server(engine)
        with pytest.raises(RetrieverFailed, match=message) as caught:
            there.index(CORPUS)
            there.search(QUERIES, k=3)
        there.close()
        assert engine.indexes == {}
    assert "SECRET" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_is_down_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        settings = SearchServerSettings(kind="opensearch", url=f"opensearch://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(RetrieverFailed, match=r"system os: 127\.0\.0\.1 cannot be reached"):
            GuardedRetriever(SearchServer(settings), name="os").index(CORPUS)


def test_a_password_in_the_address_is_refused_and_not_shown() -> None:
    settings = SearchServerSettings(kind="elasticsearch", url="elasticsearch://me:hunter2@host")
    with pytest.raises(RetrieverFailed, match="holds a user or a password") as caught:
        SearchServer(settings)
    assert "hunter2" not in str(caught.value)


def test_addresses_become_http() -> None:
    assert server_url("elasticsearch://host") == "http://host:9200"
    assert server_url("opensearchs://host:1/base/") == "https://host:1/base"
    assert server_url("https://host/es") == "https://host/es"
