"""A scorecard says what its results say, on the queries they share."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.comparison import scorecard
from goldbench.records.scorecard import GoldReference, Method, Scorecard

METHOD = Method(missing="zero", scores="float64", permutations=200, resamples=200, seed=0, alpha=0.05, confidence=0.95)
GOLD = GoldReference(name="g", sha256="0" * 64, queries=4)


def result(values: dict[str, float], *, judged: float = 1.0, missing: int = 0, tied: int = 0) -> Result:
    """A run's values of ndcg@10 by query."""
    counts = Counts(
        queries=len(values), missing=missing, extra=0, no_relevant=0, tied=tied, holes=(judged < 1) * len(values)
    )
    scores = {"ndcg@10": list(values.values()), "judged@10": [judged] * len(values)}
    return Result(query_ids=list(values), values=scores, counts=counts)


def card(results: dict[str, Result]) -> Scorecard:
    return scorecard(results, ["ndcg@10"], judged="judged@10", gold=GOLD, method=METHOD, goldbench="0")


def many(level: float, seed: int = 0) -> dict[str, float]:
    draw = np.random.default_rng(seed)
    return {f"q{number:03}": float(level * value) for number, value in enumerate(draw.random(60))}


def test_the_best_system_comes_first_and_every_pair_is_compared() -> None:
    found = card({"b": result(many(0.5)), "c": result(many(0.9)), "a": result(many(0.1))})
    assert [system.system for system in found.systems] == ["c", "b", "a"]
    assert [(c.first, c.second) for c in found.comparisons] == [("c", "b"), ("c", "a"), ("b", "a")]
    assert all(c.difference > 0 for c in found.comparisons)


def test_a_mean_is_within_its_interval() -> None:
    score = card({"a": result(many(0.9))}).systems[0].scores["ndcg@10"]
    assert score.low is not None
    assert score.high is not None
    assert score.low < score.mean < score.high


def test_one_query_gives_a_mean_and_nothing_else() -> None:
    found = card({"a": result({"q": 0.5}), "b": result({"q": 0.25})})
    assert found.comparisons == []
    assert "one query is too few for intervals and comparisons" in found.warnings
    assert found.systems[0].scores["ndcg@10"].low is None


def test_only_queries_of_every_run_count_and_the_others_are_told() -> None:
    found = card({"a": result({"q1": 1.0, "q2": 0.5, "q3": 0.1}), "b": result({"q3": 0.2, "q2": 0.6})})
    assert {system.system: system.scores["ndcg@10"].mean for system in found.systems} == pytest.approx(
        {"a": 0.3, "b": 0.4}
    )
    assert "a: queries left out because not every run has them: 1" in found.warnings


def test_runs_without_a_common_query_are_refused() -> None:
    with pytest.raises(ValueError, match="share no query"):
        card({"a": result({"q1": 1.0}), "b": result({"q2": 1.0})})


def test_holes_missing_queries_and_ties_are_told() -> None:
    told = card({"a": result(many(0.9), judged=0.1, missing=3, tied=2)}).warnings
    assert [line.split(": ")[0] for line in told] == ["a", "a", "judged@10"]
