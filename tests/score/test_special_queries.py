"""Queries that need several passages, are noisy or have no answer: scored as a plain computation scores them."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest

from goldbench import GoldSet
from goldbench import evaluate as evaluated
from goldbench.errors import InputError, UsageError
from goldbench.goldset.dataset import write_gold
from goldbench.goldset.folder import GoldFolder
from goldbench.measures import evaluate
from goldbench.measures.names import parse_measures
from goldbench.records.query import Query, QueryKind
from goldbench.score.runs import load_gold, load_run, score_run
from tests.conftest import Goldbench
from tests.goldset.test_gold import gold_set

PASSAGES = {f"c{number}": f"passage {number}" for number in range(12)}
NEEDS = {"q1": ("c1", "c2"), "q2": ("c3", "c4", "c5"), "q5": ("c1", "c9")}
ORIGINALS = {"q4": "q3", "q6": "q1", "q7": "q2"}
NOISE = {"q4": "typing", "q6": "typing", "q7": "case"}
KINDS = {
    "q1": QueryKind.MULTI_HOP,
    "q2": QueryKind.MULTI_HOP,
    "q3": QueryKind.FACT,
    **dict.fromkeys(NOISE, QueryKind.NOISY),
}
UNANSWERABLE = ("u1", "u2", "u3")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A set of queries, some of which need several passages, are noisy forms of others, or have no answer."""
    graded = {f"q{number}": {"c1": 3, "c2": 2, "c3": 1, f"c{number}": 3} for number in range(1, 8)}
    for query_id, needed in NEEDS.items():
        graded[query_id] |= dict.fromkeys(needed, 2)
    gold = gold_set({query_id: f"passage of {query_id}" for query_id in graded}, PASSAGES, graded)
    queries = [
        query.model_copy(
            update={
                "needs": NEEDS.get(query.query_id, ()),
                "original": ORIGINALS.get(query.query_id),
                "noise": NOISE.get(query.query_id),
                "kind": KINDS.get(query.query_id),
            }
        )
        for query in gold.queries
    ]
    without = [Query(query_id=one, text=f"passage on {one}", chunk_id="c1", generator="t") for one in UNANSWERABLE]
    write_gold(tmp_path / "set", dataclasses.replace(gold, queries=queries, unanswerable=without))
    GoldFolder(tmp_path / "set").queries.write(queries)
    return tmp_path / "set"


def made_run(seed: int) -> dict[str, dict[str, float]]:
    """Scores with ties; some queries are not in the run."""
    draw = random.Random(seed)
    asked = [f"q{number}" for number in range(1, 8) if draw.random() < 0.9] + list(UNANSWERABLE)
    return {
        query_id: {doc_id: float(draw.randrange(6)) for doc_id in draw.sample(sorted(PASSAGES), 8)}
        for query_id in asked
    }


def written(folder: Path, run: dict[str, dict[str, float]]) -> Path:
    path = folder / "run.trec"
    lines = [f"{q} Q0 {d} 0 {s} x\n" for q, documents in run.items() for d, s in documents.items()]
    path.write_text("".join(lines))
    return path


def plainly(run: dict[str, dict[str, float]], k: int) -> float:
    """The share of queries for which all needed passages are in the first k; ties by id, the greater first."""
    found = []
    for query_id, needed in NEEDS.items():
        ordered = sorted(run.get(query_id, {}).items(), key=lambda item: (item[1], item[0]), reverse=True)
        found.append(set(needed) <= {doc_id for doc_id, _ in ordered[:k]})
    return sum(found) / len(found)


def test_all_at_k_is_what_a_plain_computation_gives(place: Path, tmp_path: Path) -> None:
    gold = load_gold(place)
    measures = parse_measures(["all@2", "ndcg@10", "all@4", "all@8"], rel=gold.level)
    for seed in range(20):
        run = made_run(seed)
        result = score_run(gold, load_run(written(tmp_path, run)), measures)
        for k in (2, 4, 8):
            assert result.mean(f"all@{k}") == pytest.approx(plainly(run, k))
            assert result.defined(f"all@{k}") == len(NEEDS)
        assert result.mean("ndcg@10") == pytest.approx(evaluate(gold.qrels, run, "ndcg@10").mean("ndcg@10"))


def test_a_near_duplicate_that_is_relevant_stands_in_for_a_needed_passage(tmp_path: Path) -> None:
    one = "The feed pump of the northern station stops when the inlet filter is blocked by sand for ten minutes. " * 3
    two = "The spare filter is kept in the cabinet of the southern depot beside the red ladder of the crane. " * 3
    texts = {"a": one, "b": two, "copy-of-a": one + "Printed again.", "other": "A text about gardens and their walls."}
    gold = gold_set({"q": "Where is the spare?"}, texts, {"q": {"a": 3, "b": 3, "copy-of-a": 3, "other": 2}})
    queries = [query.model_copy(update={"needs": ("a", "b"), "chunk_id": "a"}) for query in gold.queries]
    write_gold(tmp_path / "set", dataclasses.replace(gold, queries=queries))
    loaded, measures = load_gold(tmp_path / "set"), parse_measures(["all@2"])
    for found, value in ((["b", "copy-of-a"], 1), (["b", "a"], 1), (["b", "other"], 0), (["a", "copy-of-a"], 0)):
        run = {"q": {doc_id: float(9 - position) for position, doc_id in enumerate(found)}}
        (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
        assert score_run(loaded, load_run(tmp_path / "run.json"), measures).mean("all@2") == value


def test_all_at_k_is_shown_with_the_queries_it_is_over(
    place: Path, tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    run = made_run(1)
    written(tmp_path, run)
    command = ("score", "set", "--run", "run.trec", "--measure", "all@8", "--measure", "hit@8")
    table = goldbench_inside(*command, "--per-query", "values.csv")
    assert table.returncode == 0, table.stderr
    assert f"{plainly(run, 8):.4f}" in table.stdout
    assert "run: all@8 is over 3 of 7 queries: those that need several passages." in table.stderr
    rows = (tmp_path / "values.csv").read_text(encoding="utf-8").splitlines()
    assert [row.split(",")[2] == "" for row in rows[1:]] == [f"q{n}" not in NEEDS for n in range(1, 8)]
    found = json.loads(goldbench_inside(*command, "--format", "json", "--per-query", "values.json").stdout)
    assert found["runs"]["run"]["over"] == {"all@8": 3}
    values = json.loads((tmp_path / "values.json").read_text(encoding="utf-8"))["run"]
    assert values["q3"]["all@8"] is None
    compared = goldbench_inside("compare", "set", "--run", "run.trec", "--run", "b=run.trec", "--measure", "all@8")
    assert "all@8 is defined for 3 of 7 queries; every figure is over these" in compared.stdout + compared.stderr


def test_all_at_k_is_refused_where_nothing_says_which_passages_belong_together(place: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="all@5: needs the passages that belong together"):
        evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "all@5")
    write_gold(tmp_path / "plain", gold_set({"q1": "why"}, {"c1": "text"}, {"q1": {"c1": 3}}))
    gold, run = load_gold(tmp_path / "plain"), load_run(written(tmp_path, {"q1": {"c1": 1.0}}))
    with pytest.raises(InputError, match="all@5: no query that is scored needs several passages"):
        score_run(gold, run, parse_measures(["all@5"]))


def scored(goldbench: Goldbench, *more: object) -> dict[str, Any]:
    done = goldbench("score", "set", "--run", "run.trec", "--measure", "ndcg@5,all@8", "--format", "json", *more)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)["runs"]["run"]
    return found


def test_kinds_noise_and_queries_without_an_answer_are_told_apart(
    place: Path, tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    run = {query_id: {"c1": 3.0, f"c{query_id[1:]}": 2.0 + int(query_id[1:])} for query_id in made_run(2)}
    run |= {f"q{number}": {"c1": 3.0, f"c{number}": 2.0 + number} for number in range(1, 8)}
    run["q4"], run["u1"], run["u2"], run["u3"] = {"c9": 1.0, "c1": 0.5}, {"c2": 2.5}, {"c3": 9.0}, {"c4": 0.1}
    written(tmp_path, run)
    found = scored(goldbench_inside)
    shown = goldbench_inside(
        "score", "set", "--run", "run.trec", "--measure", "ndcg@5,all@8", "--html", "page.html"
    ).stdout
    for text in (shown, (tmp_path / "page.html").read_text(encoding="utf-8")):
        assert "By kind of query" in text
        assert f"{found['noise']['all']['differences']['ndcg@5']['mean']:+.4f}" in text
        assert f"AUROC {found['unanswerable']['auroc']:.4f}" in text
    values = evaluate(load_gold(place).qrels, run, "ndcg@5")
    by_query = dict(zip(values.query_ids, values.values["ndcg@5"], strict=True))
    assert found["means"]["ndcg@5"] == pytest.approx(values.mean("ndcg@5"))  # queries without an answer are in no mean
    assert found["counts"]["extra"] == 0
    assert {kind: one["queries"] for kind, one in found["kinds"].items()} == {
        "noisy": 3,
        "multi_hop": 2,
        "fact": 1,
        "not stated": 1,
    }
    hops = found["kinds"]["multi_hop"]["means"]
    assert hops["ndcg@5"] == pytest.approx((by_query["q1"] + by_query["q2"]) / 2)
    assert "all@8" not in found["kinds"]["fact"]["means"]
    differences = [by_query[noisy] - by_query[first] for noisy, first in ORIGINALS.items()]
    loss = found["noise"]["all"]
    assert (loss["pairs"], list(loss["differences"])) == (3, ["ndcg@5"])
    assert loss["differences"]["ndcg@5"]["mean"] == pytest.approx(sum(differences) / 3)
    assert loss["differences"]["ndcg@5"]["low"] <= sum(differences) / 3 <= loss["differences"]["ndcg@5"]["high"]
    assert (found["noise"]["typing"]["pairs"], found["noise"]["case"]["pairs"]) == (2, 1)
    tops = {query_id: max(documents.values()) for query_id, documents in run.items()}
    pairs = [(tops[f"q{number}"], tops[one]) for number in range(1, 8) for one in UNANSWERABLE]
    auroc = sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs)
    apart = found["unanswerable"]
    assert apart["auroc"] == pytest.approx(auroc)
    assert (apart["answerable"], apart["unanswerable"], apart["low"] < auroc < apart["high"]) == (7, 3, True)


def test_a_run_without_scores_of_its_own_tells_no_query_from_another(
    place: Path, tmp_path: Path, goldbench_inside: Goldbench
) -> None:
    lists = {query_id: ["c1", "c2"] for query_id in ("q1", "q2", "q6", "u1", "u2")}
    (tmp_path / "run.json").write_text(json.dumps(lists), encoding="utf-8")
    command = ("score", "set", "--run", "run.json", "--measure", "all@5", "--format", "json")
    found = json.loads(goldbench_inside(*command).stdout)["runs"]["run"]
    assert found["unanswerable"] == {"unanswerable": 3, "empty": 1}
    loss = found["noise"]["all"]
    assert (loss["pairs"], loss["differences"], loss.get("over")) == (3, {}, None)  # no noisy query needs several


def test_queries_without_an_answer_are_known(place: Path, tmp_path: Path) -> None:
    run = {"q1": {"c1": 1.0}, "u1": {"c2": 1.0}, "u2": {"c3": 2.0}, "unknown": {"c1": 1.0}}
    assert score_run(load_gold(place), load_run(written(tmp_path, run)), parse_measures(["ndcg@5"])).counts.extra == 1
    assert GoldSet.load(place).evaluate(run, "ndcg@5", progress=False).counts.extra == 1


def test_python_has_the_figures_of_the_command(place: Path, goldbench_inside: Goldbench) -> None:
    run = made_run(1)
    file = written(place.parent, run)
    done = goldbench_inside("score", place, "--run", file, "--measure", "hit@5 all@3 mrr@5", "--format", "json")
    told = json.loads(done.stdout)["runs"]["run"]
    gold = GoldSet.load(place)
    for given in (file, run):
        found = gold.evaluate(given, "hit@5 all@3 mrr@5")
        assert found["all@3"] == told["means"]["all@3"]
        kinds = {kind: (one.queries, [one.means["hit@5"], one.means["mrr@5"]]) for kind, one in found.by_kind.items()}
        assert kinds == {
            kind: (one["queries"], [one["means"]["hit@5(rel=2)"], one["means"]["mrr@5(rel=2)"]])
            for kind, one in told["kinds"].items()
        }
        for noise, loss in found.noise.items():
            assert loss.pairs == told["noise"][noise]["pairs"]
            differences = told["noise"][noise]["differences"]
            assert loss.differences["mrr@5"].model_dump() == differences["mrr@5(rel=2)"]
        assert found.separation is not None
        assert dataclasses.asdict(found.separation).items() <= told["unanswerable"].items()
        assert "By kind of query:" in repr(found)
        assert "unanswerable queries with AUROC" in repr(found)
        assert "By kind of query" in found._repr_html_()


def test_the_records_of_a_set_are_there_in_python(place: Path) -> None:
    gold = GoldSet.load(place)
    assert gold.needs == {query_id: list(needed) for query_id, needed in NEEDS.items()}
    assert gold.originals == ORIGINALS
    assert gold.unanswerable == {one: f"passage on {one}" for one in UNANSWERABLE}
    assert (gold.history, gold.standalone, gold.derived) == ({}, {}, {})
    again = GoldSet.load(place)
    (place / "dataset.json").write_text("{}")
    with pytest.raises(InputError, match="was changed since the set was loaded"):
        _ = again.needs


def test_judgments_in_memory_have_nothing_to_do_with_the_set_in_the_current_folder(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    judged = {"q1": {"c1": 1}, "q9": {"c2": 1}}
    found = evaluated(judged, {"q1": ["c1"], "u1": ["c2"]}, "hit@1")
    assert found.counts.extra == 1
    assert (found.by_kind, found.separation) == ({}, None)
    with pytest.raises(InputError, match="no query that is scored needs several passages"):
        evaluated(judged, {"q1": ["c1"]}, "all@2")
