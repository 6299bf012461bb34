"""What a type checker knows of the public interface; ``make lint`` checks this file, and nothing runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import goldbench
from goldbench import CostPlan, Evaluation, Evaluations, GoldCard, GoldSet, RunComparison, build, compare, evaluate


def search(query: str, k: int) -> list[str]:
    return []


def sets(path: Path) -> None:
    gold = build(texts=["a text"], queries=3, model="m")
    assert_type(gold, GoldSet)
    assert_type(build(path, config={"generate": {"queries": 3}}, dry_run=True), CostPlan)
    assert_type(GoldSet.load(path, kind="beir"), GoldSet)
    assert_type(gold.queries, dict[str, str])
    assert_type(gold.answers, dict[str, dict[str, Any]])
    assert_type(gold.qrels, dict[str, dict[str, int]])
    assert_type(gold.needs, dict[str, list[str]])
    assert_type(gold.unanswerable, dict[str, str])
    assert_type(gold.frequency, dict[str, int])
    assert_type(gold.traffic, dict[str, float])
    assert_type(gold.history, dict[str, list[dict[str, Any]]])
    assert_type(gold.standalone, dict[str, str])
    assert_type(gold.originals, dict[str, str])
    assert_type(gold.derived, dict[str, list[str]])
    assert_type(gold.grade(model="m", depth=5), GoldSet)
    assert_type(gold.add("own.csv"), GoldSet)
    assert_type(gold.grade(model="m", dry_run=True), CostPlan)
    assert_type(gold.card(), GoldCard)
    assert_type(gold.export("ragas", "ragas.jsonl", force=True), Path)
    assert_type(gold.to_phoenix(), list[dict[str, Any]])
    assert_type(goldbench.__version__, str)
    build(texts=["a text"], queries="many")  # type: ignore[call-overload]
    build(texts=["a text"], querys=3)  # type: ignore[call-overload]
    GoldSet.load(7)  # type: ignore[arg-type]


def scores(gold: GoldSet, path: Path) -> None:
    run = {"q1": {"d1": 1.0}}
    assert_type(gold.evaluate(search), Evaluation)
    assert_type(gold.evaluate(run), Evaluation)
    assert_type(gold.evaluate(path, "ndcg@10", k=10), Evaluation)
    assert_type(gold.evaluate({"mine": search, "theirs": path}), Evaluations)
    assert_type(gold.evaluate({"mine": run})["mine"], Evaluation)
    assert_type(gold.evaluate(gold.evaluate(run)), Evaluation)
    assert_type(gold.evaluate(search)["ndcg@10"], float)
    assert_type(gold.evaluate(search, conversation="standalone").by_kind["noisy"].queries, int)
    assert_type(gold.evaluate(search).noise["all"].pairs, int)
    if (separation := gold.evaluate(search).separation) is not None:
        assert_type(separation.auroc, float)
    gold.evaluate(search, conversation="first")  # type: ignore[call-overload]
    assert_type(gold.compare({"mine": search, "theirs": run}), RunComparison)
    assert_type(evaluate({"q1": {"d1": 1}}, run, ["ndcg@10"]), Evaluation)
    assert_type(compare({"q1": {"d1": 1}}, {"a": run, "b": run}), RunComparison)
