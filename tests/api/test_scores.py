"""Scores from Python are those of the command, for whatever a caller holds: functions, retrievers, runs, frames."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import signal
import time
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import goldbench
from goldbench import Evaluation, Evaluations, GoldSet, UsageError, compare, evaluate
from tests.conftest import Goldbench, posix
from tests.generate.test_build import corpus
from tests.report.hostile import IMAGE, SCRIPT
from tests.score.deciding_files import write_gold, write_run

QRELS = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}, "q3": {"d": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"x": 1.0, "c": 1.0}, "q9": {"a": 1.0}}


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> GoldSet:
    folder = tmp_path_factory.mktemp("gold")
    return goldbench.build(corpus(folder / "docs"), out=folder / "run", queries=6, progress=False)


def words(gold: GoldSet) -> Any:
    def search(query: str, k: int) -> list[str]:
        asked = set(query.lower().split())
        return sorted(gold.corpus, key=lambda doc_id: (-len(asked & set(gold.corpus[doc_id].lower().split())), doc_id))[
            :k
        ]

    return search


def means(done: Any, name: str) -> dict[str, float]:
    return dict(json.loads(done.stdout)["runs"][name]["means"])


@pytest.mark.parametrize("measures", [None, "ndcg@10, recall@5, map@1000", ["mrr@10(rel=2)", "p@1"]])
@pytest.mark.parametrize("missing", ["zero", "skip"])
def test_the_figures_of_a_file_are_those_of_the_command(
    goldbench_inside: Goldbench, tmp_path: Path, gold: GoldSet, measures: Any, missing: Any
) -> None:
    found = gold.evaluate(words(gold), "ndcg@10", progress=False)
    assert isinstance(found.run, dict)
    lines = [f"{q} Q0 {d} 0 {score!r} t" for q, docs in list(found.run.items())[1:] for d, score in docs.items()]
    (tmp_path / "mine.trec").write_text("\n".join(lines) + "\n")
    mine = gold.evaluate(tmp_path / "mine.trec", measures, missing=missing)
    names = [] if measures is None else ["--measure", measures if isinstance(measures, str) else ",".join(measures)]
    options = ("--run", "mine.trec", "--missing", missing, *names, "--format", "json", "--per-query", "each.json")
    done = goldbench_inside("score", gold.path, *options)
    assert dict(mine) == means(done, "mine")
    assert mine.by_query == json.loads((tmp_path / "each.json").read_text())["mine"]
    counts = json.loads(done.stdout)["runs"]["mine"]["counts"]
    assert mine.counts.missing == counts["missing"] == 1
    held = dict(list(found.run.items())[1:])
    assert dict(gold.evaluate(held, measures, missing=missing)) == dict(mine)


def test_a_retriever_scores_as_the_command_scores_what_it_finds(
    goldbench_inside: Goldbench, tmp_path: Path, gold: GoldSet
) -> None:
    (tmp_path / "own.py").write_text(
        "def search(query, k):\n"
        "    corpus = __import__('json').loads(__import__('pathlib').Path('corpus.json').read_text())\n"
        "    asked = set(query.lower().split())\n"
        "    return sorted(corpus, key=lambda d: (-len(asked & set(corpus[d].lower().split())), d))[:k]\n"
    )
    (tmp_path / "corpus.json").write_text(json.dumps(gold.corpus))
    done = goldbench_inside("retrieve", gold.path, "--system", "python:own:search", "-o", "own.trec")
    assert done.returncode == 0, done.stderr
    theirs = means(goldbench_inside("score", gold.path, "--run", "own.trec", "--format", "json"), "own")
    assert dict(gold.evaluate(words(gold), progress=False)) == theirs


def test_every_kind_of_retriever_gives_the_same_figures(gold: GoldSet) -> None:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    search = words(gold)

    async def later(query: str, k: int) -> list[tuple[str, float]]:
        await asyncio.sleep(0)
        return [(doc_id, -float(position)) for position, doc_id in enumerate(search(query, k))]

    class Chain(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [Document(page_content=gold.corpus[one], metadata={"id": one}) for one in search(query, 10)]

    class Native:
        def index(self, passages: Mapping[str, str]) -> None:
            self.passages = passages

        def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
            ranked = {q: search(text, k) for q, text in queries.items()}
            return {q: {d: -float(place) for place, d in enumerate(found)} for q, found in ranked.items()}

    def texts(query: str, k: int) -> list[str]:
        return [gold.corpus[one] for one in search(query, k)]

    expected = dict(gold.evaluate(search, "ndcg@10 mrr@10", k=10, progress=False))
    for retriever in (later, Chain(), Native()):
        assert dict(gold.evaluate(retriever, "ndcg@10 mrr@10", k=10, progress=False)) == expected
    assert dict(gold.evaluate(texts, "ndcg@10 mrr@10", k=10, match="text", progress=False)) == expected
    listed = {q: texts(text, 10) for q, text in gold.queries.items()}
    assert dict(gold.evaluate(listed, "ndcg@10 mrr@10", match="text")) == expected


@pytest.mark.slow  # importing LlamaIndex takes seconds
def test_a_retriever_of_llamaindex_gives_the_same_figures(gold: GoldSet) -> None:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    search = words(gold)

    class Mine(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            ranked = search(query_bundle.query_str, 10)
            nodes = [TextNode(text=gold.corpus[one], metadata={"chunk_id": one}) for one in ranked]
            return [NodeWithScore(node=node, score=1.0 / (position + 1)) for position, node in enumerate(nodes)]

    async def inside() -> Evaluation:
        return gold.evaluate(Mine(), "ndcg@10", k=10, progress=False)

    expected = gold.evaluate(search, "ndcg@10", k=10, progress=False)["ndcg@10"]
    assert asyncio.run(inside())["ndcg@10"] == expected


def frames(run: Mapping[str, Mapping[str, float]], library: Any) -> Any:
    rows = [(q, d, score) for q, docs in run.items() for d, score in docs.items()]
    return library.DataFrame(
        {name: [row[position] for row in rows] for position, name in enumerate(("qid", "docno", "score"))}
    )


@pytest.mark.parametrize("library", [pd, pl])
def test_judgments_and_runs_in_memory_and_in_files_score_alike(tmp_path: Path, library: Any) -> None:
    (tmp_path / "gold.qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, ds in QRELS.items() for d, g in ds.items()))
    (tmp_path / "a.trec").write_text("".join(f"{q} Q0 {d} 0 {s} t\n" for q, ds in RUN.items() for d, s in ds.items()))
    expected = dict(evaluate(QRELS, RUN))
    judged = [
        QRELS,
        frames(QRELS, library).rename({"score": "grade"} if library is pl else str),
        tmp_path / "gold.qrels",
    ]
    for qrels in judged:
        for run in (RUN, frames(RUN, library), tmp_path / "a.trec", str(tmp_path / "a.trec")):
            assert dict(evaluate(qrels, run)) == expected
    assert evaluate(QRELS, RUN, "p@1", rel=2)["p@1(rel=2)"] == pytest.approx(1 / 3)


def test_a_result_is_read_by_measure_by_query_and_as_a_frame() -> None:
    found = evaluate(QRELS, RUN, ["mrr@10", "recall@1"])
    assert (found["mrr@10"], found.mean("RR@10"), found["recall@1"], found["r@1"]) == (0.5, 0.5, 1 / 6, 1 / 6)
    assert "recall@1" in found
    assert "ndcg@10" not in found
    assert "no measure" not in found
    assert list(found) == ["mrr@10", "r@1"]
    assert found.by_query["q2"]["mrr@10"] == 0.5
    frame = found.to_pandas()
    assert list(frame.columns) == ["measure", "mean", "low", "high"]
    assert frame.dtypes.astype(str).tolist() == ["string", "float64", "float64", "float64"]
    assert frame.set_index("measure").loc["mrr@10", "mean"] == 0.5
    each = found.to_pandas(per_query=True)
    assert each.set_index("query_id")["mrr@10"].to_dict() == {"q1": 1.0, "q2": 0.5, "q3": 0.0}
    one = evaluate({"q1": {"a": 1}}, {"q1": ["a"]}, "mrr@10")
    assert one.intervals == {}
    assert math.isnan(one.to_pandas()["low"][0])
    assert "interval" not in repr(one)


def test_intervals_are_those_of_the_command(goldbench_inside: Goldbench, tmp_path: Path) -> None:
    qrels, run = write_gold(tmp_path), write_run(tmp_path, "a.trec", skill=0.5)
    write_run(tmp_path, "b.trec", skill=0.9)
    arguments = ("compare", qrels, "--run", "a.trec", "--run", "b.trec", "--format", "json")
    theirs = json.loads(goldbench_inside(*arguments).stdout)
    mine = compare(qrels, {"a": run, "b": tmp_path / "b.trec"})
    assert json.loads(mine.card.model_dump_json()) == theirs
    shown = {one["system"]: one["scores"] for one in theirs["systems"]}
    found = evaluate(qrels, run, "ndcg@10 mrr@10 r@10")
    for name, (low, high) in found.intervals.items():
        assert (low, high) == pytest.approx((shown["a"][name]["low"], shown["a"][name]["high"]), abs=1e-9)


def test_a_comparison_in_memory_is_that_of_the_files(tmp_path: Path) -> None:
    qrels, names = write_gold(tmp_path), {"a": 0.5, "b": 0.9}
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for name, skill in names.items():
        rows = (line.split() for line in write_run(tmp_path, f"{name}.trec", skill=skill).read_text().splitlines())
        for query, _, doc, _, score, _ in rows:
            runs.setdefault(name, {}).setdefault(query, {})[doc] = float(score)
    judged = {f"q{n:03}": {f"d{n:03}": 1} for n in range(60)}
    held = compare(judged, runs, "mrr@10", permutations=500)
    read = compare(qrels, {name: tmp_path / f"{name}.trec" for name in names}, "mrr@10", permutations=500)
    assert held.card.comparisons == read.card.comparisons
    assert held.card.gold.sha256 == read.card.gold.sha256
    assert (held.systems, held.card.gold.name) == (["b", "a"], "qrels")
    assert "By mrr@10, b is the best of 2." in repr(held)
    assert held["RR@10"][0].first == "b"
    assert held.leaderboard()["mean"].tolist() == [held.mean("b", "mrr@10").mean, held.mean("a", "mrr@10").mean]
    assert held.to_pandas()["wins"].dtype == "int64"
    with pytest.raises(KeyError, match="ndcg@10: not measured; measured are mrr@10"):
        held["ndcg@10"]


def test_several_systems_are_scored_by_name(gold: GoldSet, tmp_path: Path) -> None:
    search = words(gold)
    found = gold.evaluate({"mine": search, "first": {q: list(gold.corpus)[:3] for q in gold.queries}}, progress=False)
    assert isinstance(found, Evaluations)
    assert list(found) == ["mine", "first"]
    assert found["mine"]["ndcg@10"] > found["first"]["ndcg@10"]
    assert found.to_pandas()["system"].tolist() == ["mine"] * 8 + ["first"] * 8
    assert len(found.to_pandas(per_query=True)) == 12
    assert "simulated" in repr(found)
    compared = gold.compare({"mine": search, "first": found["mine"].run}, "ndcg@10", progress=False)
    assert compared["ndcg@10"][0].verdict.value == "same"
    assert gold.compare(found, "ndcg@10").systems == ["mine", "first"]
    assert dict(gold.evaluate(found["mine"])) == dict(found["mine"])


def test_texts_that_were_matched_are_compared_by_their_ids(gold: GoldSet, tmp_path: Path) -> None:
    search = words(gold)
    texts = {q: [gold.corpus[one] for one in search(text, 10)] for q, text in gold.queries.items()}
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    by_text = [gold.evaluate(given, "ndcg@10", match="text") for given in (texts, tmp_path / "texts.json")]
    by_text.append(
        gold.evaluate(lambda q, k: [gold.corpus[one] for one in search(q, 10)], match="text", progress=False)
    )
    expected = gold.evaluate(search, "ndcg@10", k=10, progress=False)["ndcg@10"]
    assert expected > 0
    for found in by_text:
        assert found["ndcg@10"] == expected
        assert dict(gold.evaluate(found, match="text")) == dict(gold.evaluate(found))
        for match in ("id", "text"):
            both = gold.compare({"a": found, "b": texts}, "ndcg@10", match=match, resamples=100, permutations=100)
            assert both.mean("a", "ndcg@10").mean == expected
        assert compare(gold.qrels, {"a": found, "b": found}, "ndcg@10").mean("a", "ndcg@10").mean == expected
        assert evaluate(gold.qrels, found, "ndcg@10")["ndcg@10"] == expected


def test_texts_that_equal_a_passage_are_that_passage_however_they_are_given(tmp_path: Path) -> None:
    short, long = "Close the valve.", "Before the test starts: Close the valve. Then wait."
    only = beir(tmp_path / "set", {"short": short, "long": long}, {"q1": {"short": 1}})
    texts, by_id = {"q1": [long, short]}, {"q1": ["long", "short"]}
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    for given in (texts, tmp_path / "texts.json", lambda query, k: [long, short]):
        found = only.evaluate(given, "mrr", match="text", progress=False)
        assert found["mrr"] == only.evaluate(by_id, "mrr")["mrr"] == 0.5
    assert only.evaluate({"q1": ["Wait. " + short]}, "mrr", match="text")["mrr"] == 1.0
    other = only.evaluate({"q1": ["\u00a0", "another text"]}, "mrr", match="text")
    assert list(other.run["q1"]) == ["no-passage-1", "no-passage-2"]


def test_texts_score_as_their_ids_do_however_they_overlap(tmp_path: Path) -> None:
    random = Random(7)
    passages = {f"d{n:02}": " ".join(random.choices("abc", k=random.randint(1, 4))) for n in range(62)}
    texts = {text: doc_id for doc_id, text in passages.items()}  # one id for each text
    corpus = {doc_id: text for text, doc_id in texts.items()}
    qrels = {f"q{n}": {one: random.randint(1, 3) for one in random.sample(sorted(corpus), 4)} for n in range(20)}
    only = beir(tmp_path / "set", corpus, qrels)
    ranked = {query: random.sample(sorted(corpus), 12) for query in qrels}
    shown = {query: [corpus[one].upper() for one in found] for query, found in ranked.items()}
    asked = {only.queries[query]: found for query, found in shown.items()}
    expected = only.evaluate(ranked)
    for given in (shown, lambda query, k: asked[query]):
        found = only.evaluate(given, match="text", progress=False)
        assert dict(found) == dict(expected)
        assert {query: list(docs) for query, docs in found.run.items()} == ranked
    shown |= {query: [random.choice((text[2:], f"x {text}", text)) for text in found] for query, found in shown.items()}
    asked = {only.queries[query]: found for query, found in shown.items()}
    by_run, by_function = (
        only.evaluate(given, match="text", progress=False) for given in (shown, lambda query, k: asked[query])
    )
    assert dict(by_run) == dict(by_function)
    assert dict(by_run) == dict(only.evaluate(by_run.run))


def beir(folder: Path, corpus: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], *more: str) -> GoldSet:
    """Write a folder of BEIR, whose queries are those judged and ``more``."""
    (folder / "qrels").mkdir(parents=True)
    rows = [f"{query}\t{doc}\t{grade}\n" for query, judged in qrels.items() for doc, grade in judged.items()]
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    for name, texts in (("corpus", corpus), ("queries", {query: f"text of {query}" for query in (*qrels, *more)})):
        lines = [json.dumps({"_id": one, "text": text}) + "\n" for one, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("".join(lines))
    return GoldSet.load(folder)


@pytest.mark.parametrize("name", ["run.trec", "run.json", "run.csv", "run.parquet"])
def test_an_evaluation_holds_the_run_that_was_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rows = frames(RUN, pl)
    path = tmp_path / name
    monkeypatch.chdir(tmp_path)

    def write(of: Mapping[str, Mapping[str, float]]) -> None:
        path.write_text(
            json.dumps(of)
            if name.endswith("json")
            else "".join(f"{q} Q0 {d} 0 {score} t\n" for q, docs in of.items() for d, score in docs.items())
        )
        if name.endswith(("csv", "parquet")):
            getattr(frames(of, pl), f"write_{path.suffix[1:]}")(path)

    write(RUN)
    held = {query: dict(docs) for query, docs in RUN.items()}
    frame = frames(RUN, pd)
    found = [evaluate(QRELS, given, "mrr") for given in (Path(name), held, frame, rows)]
    write({query: {"nothing": 1.0} for query in RUN})
    held["q1"]["b"] = -1.0
    held.clear()
    frame["score"] = -frame["score"]
    monkeypatch.chdir("/")
    for one in found:
        assert one.run == RUN
        assert evaluate(QRELS, one, "mrr")["mrr"] == one["mrr"] == 0.5
        assert evaluate(QRELS, one, "mrr").run is one.run
        assert compare(QRELS, {"a": one, "b": one}, "mrr", resamples=100).mean("a", "mrr").mean == 0.5


def test_retrievers_are_asked_for_judged_queries_only(tmp_path: Path) -> None:
    only = beir(tmp_path / "set", {"a": "one", "b": "two"}, {"q1": {"a": 1}, "q2": {"b": 0}}, "other", "third")
    asked: list[str] = []

    class Native:
        def index(self, passages: Mapping[str, str]) -> None: ...

        def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
            asked.extend(queries.values())
            return {query: {"a": 1.0} for query in queries}

    for given in (lambda query, k: asked.append(query) or ["a"], Native()):
        asked.clear()
        found = only.evaluate(given, progress=False)
        assert sorted(asked) == ["text of q1", "text of q2"]
        assert found.counts.extra == 0
        assert set(found.run) == {"q1", "q2"}


def test_scores_that_rise_down_a_list_and_lists_that_are_too_short_are_told(gold: GoldSet) -> None:
    best = list(gold.corpus)[:5]

    def distances(query: str, k: int) -> list[tuple[str, float]]:
        return [(one, 0.1 * position) for position, one in enumerate(best)]

    class Native:
        def index(self, passages: dict[str, str]) -> None:
            passages |= {"one more": ""}
            passages.pop(best[0])

        def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
            return {query_id: dict(distances(text, k)) for query_id, text in queries.items()}

    rising = (
        "the scores rise down the list for 6 of 6 queries with 2 results or more, and higher is better: if they are "
    )
    short = "mine: at most 5 results per query, measured at 10."
    for given in (distances, Native()):
        found = gold.evaluate({"mine": given}, "mrr@10", progress=False)
        again = gold.evaluate({"mine": found["mine"]}, "mrr@10", progress=False)
        shown = gold.compare({"mine": given, "b": found["mine"]}, "mrr@10", progress=False, permutations=100)
        for result in (found, again, shown):
            assert f"mine: {rising}" in repr(result)
            assert short in repr(result)
        assert f"b: {rising}" in repr(shown)
    falling = {"mine": lambda query, k: [(one, -score) for one, score in distances(query, k)]}
    assert rising not in repr(gold.evaluate(falling, progress=False))
    assert short not in repr(gold.evaluate(falling, "mrr@5", progress=False))
    assert short in repr(gold.evaluate({"mine": lambda query, k: list(gold.corpus)[:k]}, "mrr@10", k=5, progress=False))


def test_a_system_that_finds_nothing_is_not_better_than_it_looks(gold: GoldSet) -> None:
    found = gold.evaluate({"a": words(gold), "nothing": lambda query, k: []}, progress=False)
    both = gold.compare(found, "ndcg@10 mrr")
    assert "better than it looks" not in repr(both)
    for name in both.systems:
        assert both.mean(name, "ndcg@10").mean == found[name]["ndcg@10"]


def test_a_set_without_queries_is_refused_alike() -> None:
    only = goldbench.build(texts={"a": "Too short."}, queries=1, no_chunk=True, progress=False)
    for systems in ({"a": RUN, "b": RUN}, {"a": len, "b": len}):
        with pytest.raises(goldbench.InputError, match="holds 0 queries: there is nothing to compare"):
            only.compare(systems)
    with pytest.raises(goldbench.InputError, match="holds 0 queries: there is nothing to retrieve for"):
        only.evaluate(lambda query, k: [])


@pytest.mark.parametrize("library", [pd, pl])
def test_a_frame_of_several_systems_says_how_to_split_it(library: Any) -> None:
    columns = {"query_id": ["q1", "q1"], "doc_id": ["a", "a"], "score": [1.0, 2.0], "system": ["x", "y"]}
    with pytest.raises(
        goldbench.InputError, match=r"already in row 1; if system names systems, give each by name: \{name: "
    ):
        evaluate(QRELS, library.DataFrame(columns))
    with pytest.raises(goldbench.InputError, match="already in row 1; keep one of the two"):
        evaluate(QRELS, library.DataFrame({**columns, "system": ["x", "x"]}))


def test_what_is_given_or_looked_up_by_mistake_is_told(gold: GoldSet) -> None:
    arrays = {query: np.array(list(gold.corpus)[:5]) for query in gold.queries}
    found = gold.evaluate({"a": arrays, "b": {query: list(ids) for query, ids in arrays.items()}})
    assert dict(found["a"]) == dict(found["b"])
    with pytest.raises(goldbench.InputError, match="holds a str; give documents with numbers, or a list"):
        gold.evaluate(dict.fromkeys(gold.queries, "doc"))
    with pytest.raises(UsageError, match="qrels: is a GoldSet; call its own evaluate"):
        evaluate(gold, arrays)
    with pytest.raises(KeyError, match="not a system; systems are a, b; read a measure as "):
        found["ndcg@10"]
    with pytest.raises(KeyError, match="'x': not a scored query"):
        found["a"].by_query["x"]
    with pytest.raises(KeyError, match="'foo': unknown measure; known: "):
        found["a"]["foo"]


@pytest.mark.parametrize("missing", ["zero", "skip", "error"])
def test_a_query_that_is_answered_with_nothing_counts_0_and_is_not_missing(
    goldbench_inside: Goldbench, tmp_path: Path, gold: GoldSet, missing: Any
) -> None:
    search, (first, *others) = words(gold), gold.queries

    class Native:
        def index(self, passages: Mapping[str, str]) -> None: ...

        def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
            return {q: {} if q == first else dict.fromkeys(search(text, k), 1.0) for q, text in queries.items()}

    def answers(query: str, k: int) -> list[str]:
        return [] if query == gold.queries[first] else search(query, k)

    lists = {q: answers(text, 100) for q, text in gold.queries.items()}
    (tmp_path / "mine.json").write_text(json.dumps(lists))
    expected = sum(gold.evaluate(search, "mrr", progress=False).by_query[q]["mrr"] for q in others) / len(gold.queries)
    for given in (answers, lists, {**lists, first: {}}, tmp_path / "mine.json"):
        found = gold.evaluate(given, "mrr", missing=missing, progress=False)
        assert (found["mrr"], found.counts.missing, found.by_query[first]) == (pytest.approx(expected), 0, {"mrr": 0.0})
        assert "1 query answered with no results; scored 0." in repr(found)
    assert gold.evaluate(Native(), missing=missing, progress=False).counts.missing == 0
    done = goldbench_inside("score", gold.path, "--run", "mine.json", "--missing", missing, "--measure", "mrr")
    assert f"{expected:.4f}" in done.stdout
    assert "1 query answered with no results" in done.stderr
    nothing = gold.evaluate(lambda query, k: [], missing=missing, progress=False)
    assert set(nothing.values()) == {0.0}
    assert "same ids" not in repr(nothing)


def test_measures_are_read_by_every_name_on_judgments_that_are_graded() -> None:
    qrels = {"q1": {"a": 1, "b": 2}, "q2": {"a": 3, "b": 1}}
    runs = {"x": {"q1": ["a", "b"], "q2": ["a"]}, "y": {"q1": ["b"], "q2": ["c"]}}
    asked = ["recall@10", "ndcg@10", "hit@1", "R(rel=1)@10"]
    found = evaluate(qrels, runs["x"], asked, rel=2)
    assert list(found) == ["r@10", "ndcg@10", "hit@1", "r@10(rel=1)"]
    assert list(found.to_pandas()["measure"]) == list(found.to_pandas(per_query=True).columns)[1:] == list(found)
    for name in (*asked, *found, "r@10(rel=2)", "hit@1(rel=2)", "success@1"):
        assert name in found
        assert found.intervals[name][1] >= found[name]
        assert found.by_query["q1"][name] == found.by_query["q1"].get(name)
    assert (found["recall@10"], found["r@10(rel=1)"], found["hit@1"]) == (1.0, 0.75, 0.5)
    assert repr(found).count("rel=") == 1
    assert "Relevant: grade 2 or more." in repr(found)
    for absent in ("mrr@10", "hit@1(rel=3)", "no measure"):
        assert absent not in found.by_query["q1"]
        assert found.intervals.get(absent, 7) == 7
        with pytest.raises(KeyError):
            found[absent]
    both = compare(qrels, runs, asked, rel=2, resamples=100, permutations=100)
    assert list(both) == list(found) == list(dict.fromkeys(both.to_pandas()["measure"]))
    assert both.card.measures == ["r@10(rel=2)", "ndcg@10", "hit@1(rel=2)", "r@10"]
    for name in asked:
        assert both.mean("x", name).mean == found[name]
        assert both[name][0].measure in found
    assert "by recall@10" not in repr(both)
    assert "r@10(rel=2)" not in repr(both)
    for get in (lambda: both["mrr@10"], lambda: both.mean("z", "recall@10"), lambda: both[7]):
        with pytest.raises(KeyError):
            get()


def test_evaluations_are_compared_with_anything_else(gold: GoldSet) -> None:
    search = words(gold)
    found = gold.evaluate({"a": search, "b": {q: list(gold.corpus)[:3] for q in gold.queries}}, progress=False)
    mixed = gold.compare({**found, "c": found["a"].run, "d": search}, "ndcg@10", progress=False, resamples=100)
    assert {name: mixed.mean(name, "ndcg@10").mean for name in "acd"} == dict.fromkeys("acd", found["a"]["ndcg@10"])
    assert dict(gold.evaluate({"again": found["b"]})["again"]) == dict(found["b"])


@pytest.mark.parametrize("wrong", [7, dict, lambda query: [], "no/such/run.trec"])
def test_what_is_no_system_is_refused_before_the_first_one_is_asked(gold: GoldSet, wrong: Any) -> None:
    asked: list[str] = []
    for score in (gold.evaluate, gold.compare):
        with pytest.raises(goldbench.GoldbenchError):
            score({"mine": lambda query, k: asked.append(query), "wrong": wrong}, progress=False)
    assert asked == []


def test_what_a_retriever_prints_is_printed(gold: GoldSet, capsys: pytest.CaptureFixture[str]) -> None:
    def search(query: str, k: int) -> list[str]:
        print("asked")
        return list(gold.corpus)[:1]

    gold.evaluate(search, "mrr@10", progress=False)
    assert capsys.readouterr() == ("asked\n" * 6, "")


WRONG_SYSTEMS: list[tuple[Any, str]] = [
    (7, "system int: an int is neither a run nor a function of a query and k nor"),
    (lambda query: [], "not a function of a query and k: too many positional arguments"),
    (lambda query, k: ["nowhere"], "ids that are not passages, the first 'nowhere'; ids of passages are like '"),
    (lambda query, k: ["nowhere"], "'; if it returns texts, give match='text'"),
    (lambda query, k: "text", "answered a str, where a list of ids"),
    (lambda query, k: None, "answered nothing"),
    (lambda query, k: 1 / 0, "raised ZeroDivisionError: division by zero (test_scores.py, line "),
    (lambda query, k: {"a", "b"}, "answered a set, which has no order; return a list"),
    (lambda query, k: {"a": 1}.keys(), "answered a dict_keys, which has no order; return a list"),
    (lambda query, k: [b"a"], "answered a bytes with neither id nor text"),
    (lambda query, k: [("a", np.datetime64("NaT", "s"))], "answered a score that is not a number"),
    (dict, "dict is a class; give an object of it, as dict()"),
    ({"q1": np.array([["d"]])}, "run: a document id is of type list"),
    (
        {"q1": {"d": 1}.keys()},
        "run: query 'q1': holds a dict_keys; give documents with numbers, or a list of documents",
    ),
    (None, "system NoneType: None is neither a run nor"),
    ("", "systems: not a valid value: ''; give the path of a run"),
    ("bm25", "bm25: file not found; a built-in system such as bm25 is run by 'goldbench retrieve'"),
    ("no/such/run.trec", "no/such/run.trec: file not found"),
    ({}, "run: holds no results"),
    ({"q1": {}, "mine": lambda query, k: []}, "q1: holds no results"),
    ({None: len}, "systems: not a valid value: None"),
    ({None: {"q1": {"d": 1.0}}}, "systems: not a valid value: None"),
    ({1: {"d": 1.0}}, "run: a query id is of type int"),
    ({"q1": {"d"}}, "a set has no order"),
    ({"q1": ["d"], "mine": len}, "systems: holds results of queries beside systems"),
    ({7: len}, "systems: not a valid value: 7"),
    ({"a\x1b[31m": len}, "systems: not a valid value"),
    (pd.DataFrame({"query_id": ["q1"], "doc_id": ["d"], "score": [math.nan]}), "run: row 1: the "),
    (pd.DataFrame({"query_id": ["q1"], "doc_id": [None], "score": [1.0]}), "run: row 1: the cell of doc_id is empty"),
    (pd.DataFrame({"doc_id": ["d"], "score": [1.0]}), "run: has no column query_id"),
    (pd.DataFrame({"query_id": [], "doc_id": [], "score": []}), "run: holds no results"),
    ({"a": Evaluations({"b": evaluate(QRELS, RUN)}), "c": len}, "systems: 'a' holds several evaluations; give them by"),
]


@pytest.mark.parametrize(("given", "says"), WRONG_SYSTEMS, ids=[says for _, says in WRONG_SYSTEMS])
def test_what_is_no_system_is_refused_in_one_line(gold: GoldSet, given: Any, says: str) -> None:
    with pytest.raises(goldbench.GoldbenchError) as caught:
        gold.evaluate(given, progress=False)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"measures": "ncdg@10, recal@5"}, "did you mean ndcg@10?"),
        ({"measures": 7}, "measures=7: give names"),
        ({"measures": []}, "no measure is named"),
        ({"measures": [[["mrr"]]]}, "measures: holds a list; give names such as 'ndcg@10'"),
        ({"measures": "ndcg@99999999999"}, "give a whole number from 1 to 1,000,000,000"),
        ({"measures": "mrr(rel=99999)"}, "the smallest relevant grade is a whole number from 1 to 9999"),
        ({"cutoffs": "10"}, "cutoffs: not a valid value: '10'"),
        ({"cutoffs": 0}, "cutoffs: not a valid value: 0; give a whole number of at least 1"),
        ({"cutoffs": ["5"]}, "cutoffs: not a valid value: '5'"),
        ({"k": 0}, "k: not a valid value: 0"),
        ({"k": True}, "k: not a valid value: True"),
        ({"missing": "ignore"}, "missing: not a valid value: 'ignore'; give one of zero, skip, error"),
        ({"match": "words"}, "match: not a valid value: 'words'; give one of id, text"),
        ({"timeout": 0}, "timeout: not a valid value: 0; give a number of seconds above 0"),
    ],
)
def test_what_is_wrong_with_a_parameter_is_one_line(gold: GoldSet, options: dict[str, Any], says: str) -> None:
    with pytest.raises(goldbench.GoldbenchError) as caught:
        gold.evaluate({"q1": ["d1"]}, progress=False, **options)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alpha": 1}, "alpha: not a valid value: 1"),
        ({"permutations": True}, "permutations: not a valid value: True"),
        ({"measures": len}, "compare: give the systems by name in one mapping, as {'a': f, 'b': g}"),
        ({"resamples": 5}, "resamples: not a valid value: 5"),
        ({"seed": -1}, "seed: not a valid value: -1"),
        ({"measures": "judged@10"}, "measures: judged@k counts judged results"),
        ({"missing": "error"}, "or use missing='zero' or missing='skip'"),
        ({"runs": {"a": RUN}}, "compare: give at least two systems by name"),
        ({"runs": RUN}, "compare: give at least two systems by name"),
        ({"runs": {"a": RUN, "b": len}}, "or the path of a run; retrievers are scored by GoldSet.evaluate"),
    ],
)
def test_what_cannot_be_compared_is_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(goldbench.GoldbenchError) as caught:
        compare(QRELS, **{"runs": {"a": RUN, "b": RUN}, **options})
    assert says in str(caught.value)


def test_an_error_in_a_retriever_names_query_and_line_and_keeps_its_cause(gold: GoldSet) -> None:
    line = 0

    def fails(query: str, k: int) -> list[str]:
        nonlocal line
        line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        return json.loads("{\x1b[31m\n\u202e")  # type: ignore[no-any-return]

    class Native:
        def index(self, passages: Mapping[str, str]) -> None: ...

        def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
            return {q: dict.fromkeys(fails(text, k), 1.0) for q, text in queries.items()}

    async def later(query: str, k: int) -> list[str]:
        return fails(query, k)

    def own_kind(query: str, k: int) -> list[str]:
        raise goldbench.InputError("there", "\x1b[31m is\nwrong")

    first = next(iter(gold.queries))
    for retriever, where in ((fails, f"query '{first}': "), (later, f"query '{first}': "), (Native(), "")):
        with pytest.raises(goldbench.RetrieverFailed) as caught:
            gold.evaluate({"mine": retriever}, progress=False)
        said = str(caught.value)
        assert said.startswith(f"system mine: {where}raised JSONDecodeError: Expecting property name")
        assert f"(test_scores.py, line {line})" in said
        assert isinstance(caught.value.__cause__, json.JSONDecodeError)
        frames = [one.name for one in traceback.extract_tb(caught.value.__cause__.__traceback__)]
        assert "_work" not in frames
        assert "fails" in frames
    with pytest.raises(goldbench.RetrieverFailed) as caught:
        gold.evaluate(own_kind, progress=False)
    assert str(caught.value).isprintable()
    assert isinstance(caught.value.__cause__, goldbench.InputError)


def test_what_is_shown_of_an_error_begins_at_the_users_own_code(gold: GoldSet) -> None:
    def fails(query: str, k: int) -> list[str]:
        return [1 / 0]  # type: ignore[list-item]

    with pytest.raises(goldbench.RetrieverFailed) as caught:
        gold.evaluate(fails, progress=False)
    shown = traceback.format_exception(caught.value)
    assert len([line for line in shown if line.lstrip().startswith("File ")]) <= 4, shown
    assert len("".join(shown).splitlines()) < 20


def test_a_time_limit_holds_for_every_kind_of_retriever(gold: GoldSet) -> None:
    ended: list[str] = []

    async def sleeps(query: str, k: int) -> list[str]:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(query)
        return []

    class Native:
        def index(self, passages: Mapping[str, str]) -> None:
            time.sleep(0.3)

        def search(self, queries: Mapping[str, str], *, k: int) -> dict[str, dict[str, float]]:
            time.sleep(60)
            return {}

    with pytest.raises(goldbench.RetrieverFailed, match=r"did not answer in 0\.5 s"):
        gold.evaluate(sleeps, timeout=0.5, progress=False)
    with pytest.raises(goldbench.RetrieverFailed, match=r"did not answer in 0\.12 s while searching"):
        gold.evaluate(Native(), timeout=0.02, progress=False)
    deadline = time.monotonic() + 60
    while not ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended == [next(iter(gold.queries.values()))], "what is left behind is cancelled"
    expected = dict(gold.evaluate(words(gold), progress=False))
    for unlimited in (math.inf, 1e300, 10**400, np.float32(30)):
        assert dict(gold.evaluate(words(gold), timeout=unlimited, progress=False)) == expected


def test_an_asynchronous_retriever_keeps_one_loop_inside_another_and_sees_the_variables_of_the_caller(
    gold: GoldSet,
) -> None:
    variable: ContextVar[str] = ContextVar("variable")
    search, seen = words(gold), []

    async def later(query: str, k: int) -> list[str]:
        seen.append((asyncio.get_running_loop(), variable.get()))
        return search(query, k)

    async def notebook() -> Evaluation:
        variable.set("seen")
        return gold.evaluate(later, progress=False)

    assert dict(asyncio.run(notebook())) == dict(gold.evaluate(search, progress=False))
    assert len(seen) == len(gold.queries)
    assert len(set(seen)) == 1
    assert seen[0][1] == "seen"


@posix
def test_an_interrupt_ends_a_retriever_inside_a_running_loop(gold: GoldSet) -> None:
    async def outside() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        gold.evaluate(lambda query, k: time.sleep(60), progress=False)

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(outside())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 50


@pytest.mark.parametrize("score", ["high", math.nan, None])
def test_a_score_that_is_no_number_is_refused_with_its_system(gold: GoldSet, score: Any) -> None:
    query_id, doc_id = next(iter(gold.queries)), next(iter(gold.corpus))
    with pytest.raises(goldbench.InputError, match=f"^mine: query '{query_id}': "):
        gold.evaluate({"mine": {query_id: {doc_id: score}}})


def test_judgments_alone_have_no_texts_to_search(tmp_path: Path) -> None:
    only = GoldSet.load(write_gold(tmp_path))
    assert (only.queries, only.corpus) == ({}, {})
    with pytest.raises(goldbench.InputError, match="holds no texts of queries and passages"):
        only.evaluate(lambda query, k: ["d"], progress=False)
    assert only.evaluate(write_run(tmp_path, "a.trec", skill=1.0), "mrr@10")["mrr@10"] == 1.0


def test_a_deep_measure_asks_for_as_many_results(gold: GoldSet) -> None:
    asked: set[int] = set()
    found = list(gold.corpus)[:1]
    for measures in ("mrr@10", "recall@1000"):
        gold.evaluate(lambda query, k: asked.add(k) or found, measures, progress=False)
    gold.evaluate(lambda query, k: asked.add(k) or found, "mrr@10", k=5, progress=False)
    assert asked == {100, 1000, 5}


def test_hostile_ids_and_names_are_shown_as_text() -> None:
    qrels = {f"q{n}{SCRIPT}": {IMAGE: 1} for n in range(3)}
    run = {query: {IMAGE: 1.0, "\x1b[31m": 0.5} for query in qrels}
    both = compare(qrels, {SCRIPT: run, IMAGE: run}, "mrr@10", permutations=100, resamples=100)
    found = evaluate(qrels, run, "mrr@10")
    found.system = f"{SCRIPT}\x1b[31m"
    for thing in (found, both, Evaluations({SCRIPT: found, IMAGE: found})):
        shown = thing._repr_html_()
        assert "<script" not in shown
        assert "<img" not in shown
        assert "&lt;script&gt;" in shown
        assert "\x1b" not in shown + repr(thing)
    assert len(found.to_pandas(per_query=True)) == 3


def test_ids_stay_strings_and_half_a_surrogate_pair_is_one(tmp_path: Path) -> None:
    found = evaluate({"007": {"1": 1}, "\ud800": {"2": 1}}, {"007": ["1"], "\ud800": ["2"]}, "mrr@10")
    assert found.to_pandas(per_query=True)["query_id"].tolist() == ["007", "\ud800"]


def test_usage_errors_are_goldbench_errors() -> None:
    assert issubclass(UsageError, goldbench.GoldbenchError)
