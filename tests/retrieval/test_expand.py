"""Query expansion: several wordings fused, from a model or a file, and passages that would answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from goldbench.errors import InputError, RetrieverFailed
from goldbench.formats.json_maps import read_rewrites
from goldbench.measures.ranks.order import best
from goldbench.retrieval.bm25 import BM25
from goldbench.retrieval.expand import ExpandedRetriever, file_rewrites, model_passages, model_rewrites
from goldbench.retrieval.fusion import reciprocal_ranks
from goldbench.retrieval.stopwatch import Stopwatch
from goldbench.retrieval.system_settings import Analyzer, BM25Settings, HyDESettings, RewriteSettings
from goldbench.retrieval.tokens import tokenizer
from tests.model_server.fixture import ServerHandle
from tests.retrieval.test_listwise import asking

PASSAGES = {"a": "start the pump", "b": "the motor is switched on", "c": "an owl", "d": "switch for the pump"}
REWRITES = {"start pump": ["switch motor", "motor switched on"], "owl": ["night bird owl"]}


class Watched(BM25):
    """BM25 that keeps what it was asked."""

    def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
        self.asked = [dict(queries)]
        return super().search(queries, k=k)


def watched() -> Watched:
    return Watched(BM25Settings(), tokens=tokenizer(Analyzer.UNICODE))


def rewriting(below: BM25, **settings: object) -> ExpandedRetriever:
    rewrites = file_rewrites(REWRITES, source="rewrites.json")
    system = ExpandedRetriever(RewriteSettings(of="bm25", **settings), of=below, expand=rewrites, stopwatch=Stopwatch())
    system.index(PASSAGES)
    return system


def test_the_query_and_its_rewrites_are_searched_in_one_call_and_fused() -> None:
    below = watched()
    match = rewriting(below).search({"q": "start pump", "q#1": "owl"}, k=2)
    assert below.asked == [
        {
            "q#0": "start pump",
            "q#1": "switch motor",
            "q#2": "motor switched on",
            "q#1#0": "owl",
            "q#1#1": "night bird owl",
        }
    ]
    runs = below.search({str(n): text for n, text in enumerate(["start pump", *REWRITES["start pump"]])}, k=100)
    assert match["q"] == best(reciprocal_ranks(list(runs.values()), k=60), 2)
    assert list(match["q#1"]) == ["c"]


def test_without_the_query_only_its_rewrites_are_searched_and_one_alone_is_given_as_it_is() -> None:
    below = watched()
    match = rewriting(below, keep_original=False).search({"q": "owl"}, k=2)
    assert below.asked == [{"q#1": "night bird owl"}]
    assert match["q"] == below.search({"x": "night bird owl"}, k=2)["x"]


def test_rewrites_are_found_by_id_as_well() -> None:
    table = file_rewrites({"q7": ["other"], "text": ["else"]}, source="f")
    assert table({"q7": "text", "q8": " text "}) == {"q7": ["other"], "q8": ["else"]}


def test_a_query_without_rewrites_is_refused_in_one_line() -> None:
    with pytest.raises(RetrieverFailed, match=r"rewrites\.json has no rewrites of 2 of 3 queries, as of 'x'"):
        rewriting(watched()).search({"q": "owl", "x": "unknown", "y": "other"}, k=2)


def test_the_published_rewrites_are_read(collections: Path) -> None:
    table = read_rewrites(collections / "percent4" / "query_rewrite.json")
    queries = json.loads((collections / "percent4" / "doc_qa_test.json").read_text(encoding="utf-8"))["queries"]
    found = file_rewrites(table, source="f")(queries)
    assert len(found) == 321
    assert all(len(rewrites) == 3 for rewrites in found.values())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[]", "no object of the form"),
        ("{}", "no object of the form"),
        ('{"a": "b"}', "no list of rewrites for 'a'"),
        ('{"a": []}', "no list of rewrites for 'a'"),
        ('{"a": ["b", 3]}', "empty or not text for 'a'"),
        ('{"a": [" "]}', "empty or not text for 'a'"),
        ('{"a": ["b"], "a": ["c"]}', "twice"),
        ('{"a": ', "is not valid JSON"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_file_that_holds_no_rewrites_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "rewrites.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=problem) as caught:
        read_rewrites(path)
    assert "\n" not in str(caught.value)


def test_the_model_rewrites_each_query_as_often_as_asked(model_server: ServerHandle, tmp_path: Path) -> None:
    stopwatch, below = Stopwatch(), watched()
    queries = {"q": "start pump", "r": "owl \ud800 <<<END x>>> {{count}}"}
    with asking(model_server, tmp_path / "a.sqlite") as ask:
        rewrites = model_rewrites(ask, count=2)
        system = ExpandedRetriever(RewriteSettings(of="b"), of=below, expand=rewrites, stopwatch=stopwatch)
        system.index(PASSAGES)
        match = system.search(queries, k=3)
        assert system.search(queries, k=3) == match
    assert list(below.asked[0].values())[:3] == ["start pump", "pump start", "start pump"]
    assert len(below.asked[0]) == 6
    assert model_server.stats()["requests"] == 2
    assert stopwatch.seconds["expand"] > 0


@pytest.mark.parametrize("reply", ['{"queries": ["one"]}', '{"queries": ["one", " "]}', '{"queries": []}', "no"])
def test_a_model_that_rewrites_otherwise_fails_the_system(
    model_server: ServerHandle, tmp_path: Path, reply: str
) -> None:
    model_server.script({"when": {}, "do": {"content": reply}})
    with asking(model_server, tmp_path / "a.sqlite") as ask:
        rewrites = model_rewrites(ask, count=2)
        with pytest.raises(RetrieverFailed, match="1 of 1 calls of the model failed") as caught:
            rewrites({"q": "pump"})
    assert "\n" not in str(caught.value)
    assert model_server.stats()["requests"] == 2  # one repair


@pytest.mark.parametrize("keep", [True, False])
def test_hyde_searches_for_a_passage_that_would_answer(
    model_server: ServerHandle, tmp_path: Path, *, keep: bool
) -> None:
    below = watched()
    model_server.script({"when": {}, "do": {"content": '{"passage": "The motor is switched on first."}'}})
    with asking(model_server, tmp_path / "a.sqlite") as ask:
        settings = HyDESettings(of="b", keep_original=keep)
        system = ExpandedRetriever(settings, of=below, expand=model_passages(ask), stopwatch=Stopwatch())
        system.index(PASSAGES)
        found = system.search({"q": "how to start it"}, k=2)["q"]
    assert list(below.asked[0].values()) == ["how to start it"] * keep + ["The motor is switched on first."]
    assert "b" in found
    assert model_server.requests()[0]["body"]["messages"][-1]["content"].count("how to start it") == 1
