"""Reranking over a real ``/rerank`` server: what is sent, kept, refused; and where the others end up."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import given
from hypothesis import strategies as st

from goldbench.errors import CallFailed, ModelUnavailable, RetrieverFailed
from goldbench.llm.model_path import open_reranker
from goldbench.llm.store import AnswerStore
from goldbench.llm.upkeep import stats
from goldbench.llm.vectors import RerankSettings
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.rerank import RateAll, Reranker, above_the_rest, by_rank
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import Analyzer, BM25Settings, RerankEndpointSettings
from goldbench.retrieval.tokens import tokenizer
from tests.model_server.fixture import ServerHandle
from tests.model_server.searching import relevance

PASSAGES = {
    "a": "pump pump pump pump manual of every kind and much else besides",
    "b": "how to start the pump",
    "c": "pump pump pump",
    "d": "the pump",
    "e": "start of the pump season, with music",
    "f": "an owl",
}
QUERIES = {"q": "start the pump", "r": "pump", "s": "zebra"}


def bm25() -> BM25:
    return BM25(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))


@contextlib.contextmanager
def rating(server: ServerHandle, store: Path | None, *, replay: bool = False, **settings: Any) -> Iterator[RateAll]:
    given = {"url": f"{server.base_url}/rerank", "model": "rerank-1", "never_reached_s": 1.0, **settings}
    with contextlib.ExitStack() as stack:
        answers = stack.enter_context(AnswerStore(store)) if store else None
        portal = stack.enter_context(start_blocking_portal())
        path = stack.enter_context(
            portal.wrap_async_context_manager(open_reranker(RerankSettings(**given), answers=answers, replay=replay))
        )
        yield lambda pairs: portal.call(path.rate_all, pairs)


def system(rate_all: RateAll, *, depth: int = 3, stopwatch: Stopwatch | None = None) -> Reranker:
    settings = RerankEndpointSettings(of="bm25", url="http://x/rerank", model="rerank-1", depth=depth)
    reranker = Reranker(settings, of=bm25(), rate_all=rate_all, stopwatch=stopwatch or Stopwatch())
    reranker.index(PASSAGES)
    return reranker


def test_the_first_results_are_ordered_by_the_model_and_the_others_stay_below(
    model_server: ServerHandle, tmp_path: Path
) -> None:
    below = bm25()
    below.index(PASSAGES)
    plain = below.search(QUERIES, k=9)
    stopwatch = Stopwatch()
    with rating(model_server, tmp_path / "a.sqlite") as rate_all:
        match = system(rate_all, stopwatch=stopwatch).search(QUERIES, k=9)
    assert model_server.stats()["texts"] == 6
    for query_id in ("q", "r"):
        head = {d: relevance(QUERIES[query_id], PASSAGES[d]) for d in list(plain[query_id])[:3]}
        assert list(match[query_id])[:3] == sorted(head, key=lambda d: (head[d], d), reverse=True)
        assert {d: match[query_id][d] for d in head} == pytest.approx(head, abs=1e-6)
        assert list(match[query_id])[3:] == list(plain[query_id])[3:]
        scores = list(match[query_id].values())
        assert all(one > other for one, other in pairwise(scores[2:]))
    assert match["s"] == {}
    assert stopwatch.seconds["rerank"] > 0


@pytest.mark.parametrize("path", ["rerank", "../v2/rerank"])
def test_the_body_is_what_cohere_and_jina_take(model_server: ServerHandle, path: str) -> None:
    url = f"{model_server.base_url.removesuffix('/v1')}/{'v2' if 'v2' in path else 'v1'}/rerank"
    with rating(model_server, None, url=url) as rate_all:
        assert len(rate_all([("start the pump", ["one", "two"])])[0]) == 2
    body = model_server.requests()[0]["body"]
    assert body == {"model": "rerank-1", "query": "start the pump", "documents": ["one", "two"], "top_n": 2}


def test_a_pair_is_paid_once_and_a_replay_asks_nobody(model_server: ServerHandle, tmp_path: Path) -> None:
    store = tmp_path / "a.sqlite"
    with rating(model_server, store) as rate_all:
        first = rate_all([("q", ["one", "two", "one"]), ("r", ["one"])])
    with rating(model_server, store) as rate_all:
        assert rate_all([("q", ["three", "two"])])[0][1] == first[0][1]
    stats = model_server.stats()
    assert (stats["texts"], stats["texts_paid_twice"]) == (4, 0)
    model_server.down()
    elsewhere = f"{model_server.base_url}/other/rerank"  # another model may have the same name there
    with rating(model_server, store, replay=True, url=elsewhere) as rate_all, pytest.raises(ModelUnavailable):
        rate_all([("q", ["one"])])
    with rating(model_server, store, replay=True) as rate_all:
        assert rate_all([("q", ["one", "two", "one"]), ("r", ["one"])]) == first
        with pytest.raises(ModelUnavailable, match="rerank: the store has no answer"):
            rate_all([("r", ["two"])])


def test_what_was_paid_before_a_failure_is_kept(model_server: ServerHandle, tmp_path: Path) -> None:
    poison = {"when": {"kind": "rerank", "contains": "poison"}, "do": {"status": 400, "latency_ms": 0}}
    model_server.script(poison, latency_ms=150)
    pairs = [("q", ["one"]), ("poison", ["one"]), ("r", ["one"])]
    with rating(model_server, tmp_path / "a.sqlite") as rate_all, pytest.raises(CallFailed, match="HTTP 400"):
        rate_all(pairs)
    model_server.script()
    with rating(model_server, tmp_path / "a.sqlite") as rate_all:
        rate_all([("q", ["one"]), ("poison", ["one"]), ("r", ["one"])])
    assert (model_server.stats()["texts"], model_server.stats()["texts_paid_twice"]) == (3, 0)


@pytest.mark.parametrize("failure", [{"status": 429, "headers": {"retry-after": "0"}}, {"connection": "refuse"}])
def test_a_passing_failure_is_tried_again(model_server: ServerHandle, failure: dict[str, Any]) -> None:
    model_server.script({"when": {"kind": "rerank", "nth": [1]}, "do": failure})
    with rating(model_server, None) as rate_all:
        assert len(rate_all([("q", ["one"])])[0]) == 1
    assert model_server.stats()["by_kind"]["rerank"] == 2


@pytest.mark.parametrize("reply", ["short", "out-of-range", "twice", "no-index", "nan", "text"])
def test_a_wrong_reply_is_one_line(model_server: ServerHandle, tmp_path: Path, reply: str) -> None:
    model_server.script({"when": {"kind": "rerank"}, "do": {"reply": reply}})
    with rating(model_server, tmp_path / "a.sqlite") as rate_all, pytest.raises(CallFailed) as caught:
        rate_all([("q", ["secret one", "secret two"])])
    assert caught.value.kind == "misfit"
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not stats(tmp_path / "a.sqlite").vectors


@pytest.mark.parametrize("body", ["[]", "{}", '{"results": 5}', '{"results": [1, 2]}', "no JSON"])
def test_a_server_that_is_no_reranker_is_one_line(model_server: ServerHandle, body: str) -> None:
    model_server.script({"when": {"kind": "rerank"}, "do": {"status": 200, "body": body}})
    with (
        rating(model_server, None, max_attempts=1) as rate_all,
        pytest.raises((CallFailed, ModelUnavailable)) as caught,
    ):
        rate_all([("q", ["one", "two"])])
    assert "\n" not in str(caught.value)


def test_a_server_that_is_down_or_refuses_the_key_is_one_line(model_server: ServerHandle) -> None:
    model_server.script(api_key="right")
    with (
        rating(model_server, None, api_key="sk-other") as rate_all,
        pytest.raises(ModelUnavailable, match="key") as caught,
    ):
        rate_all([("q", ["one"])])
    assert "sk-other" not in str(caught.value)
    model_server.down()
    with rating(model_server, None, never_reached_s=0.3) as rate_all, pytest.raises(ModelUnavailable):
        rate_all([("q", ["one"])])


def test_many_passages_go_in_several_requests(model_server: ServerHandle, tmp_path: Path) -> None:
    texts = [f"passage {n}" for n in range(150)]
    with rating(model_server, tmp_path / "a.sqlite") as rate_all:
        assert rate_all([("passage 7", texts)])[0] == pytest.approx([relevance("passage 7", t) for t in texts])
    assert sorted(len(row["body"]["documents"]) for row in model_server.requests()) == [50, 100]


def test_texts_of_any_kind_are_rated(model_server: ServerHandle, tmp_path: Path) -> None:
    with rating(model_server, tmp_path / "a.sqlite") as rate_all:
        scores = rate_all([("lone \ud800", ["\ud83d", "", "\x00\t", "long " * 60_000])])
    assert len(scores[0]) == 4


@pytest.mark.parametrize(
    ("scores", "problem"),
    [
        ([0.5], "1 scores for 2"),
        ([0.5, 1.0, 2.0], "3 scores for 2"),
        ([0.5, math.nan], "not a finite number"),
        ([math.inf, 1], "not a finite"),
    ],
)
def test_scores_that_are_none_are_refused(scores: list[float], problem: str) -> None:
    reranker = system(lambda pairs: [scores for _ in pairs], depth=2)
    with pytest.raises(RetrieverFailed, match=problem):
        reranker.search({"q": "pump"}, k=2)


@pytest.mark.parametrize("lists", [1, 3])
def test_a_reranker_that_returns_another_number_of_lists_is_refused_with_the_counts(lists: int) -> None:
    reranker = system(lambda pairs: [[0.5, 1.0]] * lists, depth=2)
    with pytest.raises(RetrieverFailed, match=f"for {lists} of 2 queries"):
        reranker.search({"q": "pump", "r": "start"}, k=2)


@given(
    st.dictionaries(st.integers(0, 50).map(str), st.floats(-1e300, 1e300), max_size=9),
    st.lists(st.integers(51, 99).map(str), unique=True, max_size=9),
    st.integers(1, 20),
)
def test_the_rest_is_strictly_below_and_keeps_its_order(rated: dict[str, float], rest: list[str], k: int) -> None:
    found = above_the_rest(rated, rest, k=k)
    assert len(found) == min(k, len(rated) + len(rest))
    order = sorted(found, key=lambda doc_id: (found[doc_id], doc_id), reverse=True)
    assert list(found) == order
    assert [doc_id for doc_id in order if doc_id in rest] == rest[: max(0, k - len(rated))]
    assert all(found[doc_id] < score for doc_id in rest if doc_id in found for score in rated.values())


def test_ranks_as_scores_do_not_depend_on_the_cut() -> None:
    assert by_rank(["x", "y", "z"], k=2) == {"x": 3.0, "y": 2.0}


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(Exception, match="not a valid http"):
        RerankSettings(url="ftp://x/rerank", model="m").server()
    assert RerankSettings(url="https://h/v2/rerank?v=1", model="m").path() == "/rerank?v=1"
    assert RerankSettings(url="https://h/v2/rerank", model="m").server().base_url == "https://h/v2"
