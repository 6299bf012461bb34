"""What a gate lets pass and what it stops."""

from __future__ import annotations

import numpy as np
import pytest

from goldbench.measures.result import Counts, Result
from goldbench.measures.statistics.regression import Drop, check_drops, check_minimums
from goldbench.records.scorecard import Baseline, GoldReference

FIVE_PERCENT = Drop(0.05, relative=True)


def result(values: dict[str, float]) -> Result:
    counts = Counts(queries=len(values), missing=0, extra=0, no_relevant=0, tied=0, holes=0)
    return Result(query_ids=list(values), values={"ndcg@10": list(values.values())}, counts=counts)


def baseline(values: dict[str, float]) -> Baseline:
    gold = GoldReference(name="g", sha256="0", queries=len(values))
    return Baseline(
        goldbench="0", gold=gold, system="s", query_ids=list(values), values={"ndcg@10": list(values.values())}
    )


def falls(now: dict[str, float], before: dict[str, float], drop: Drop, *, significant_only: bool = False):
    (check,) = check_drops(
        result(now), baseline(before), {"ndcg@10": drop}, significant_only=significant_only, permutations=999
    )
    return check


def test_a_mean_at_its_lowest_value_passes() -> None:
    minimums = check_minimums(result({"a": 0.7, "b": 0.9}), {"ndcg@10": 0.8})
    assert [check.passed for check in minimums] == [True]
    assert not check_minimums(result({"a": 0.7, "b": 0.9}), {"ndcg@10": 0.81})[0].passed


def test_the_queries_that_fell_most_are_named_deepest_first() -> None:
    before = {"a": 1.0, "b": 1.0, "c": 0.5, "d": 0.2}
    now = {"d": 0.1, "a": 0.4, "b": 0.0, "c": 0.9}
    assert [(fall.query_id, fall.before, fall.now) for fall in falls(now, before, FIVE_PERCENT).fallen] == [
        ("b", 1.0, 0.0),
        ("a", 1.0, 0.4),
        ("d", 0.2, 0.1),
    ]


def test_only_queries_of_both_sides_are_compared() -> None:
    found = falls({"a": 0.5, "new": 0.0}, {"a": 0.5, "gone": 1.0}, FIVE_PERCENT)
    assert (found.value, found.reference, found.passed) == (0.5, 0.5, True)
    with pytest.raises(ValueError, match="no query in common"):
        falls({"a": 1.0}, {"b": 1.0}, FIVE_PERCENT)


def test_a_deep_drop_that_chance_explains_passes_only_where_significance_is_asked() -> None:
    before = {f"q{number}": 1.0 if number % 2 else 0.0 for number in range(30)}
    now = {**before, "q1": 0.0, "q3": 0.0, "q5": 0.0}
    assert not falls(now, before, FIVE_PERCENT).passed
    lenient = falls(now, before, FIVE_PERCENT, significant_only=True)
    assert (lenient.passed, lenient.excused) == (True, True)


def test_a_deep_drop_that_chance_does_not_explain_is_stopped() -> None:
    draw = np.random.default_rng(0)
    before = {f"q{number:03}": float(value) for number, value in enumerate(draw.random(200))}
    now = {query: value * 0.9 for query, value in before.items()}
    found = falls(now, before, FIVE_PERCENT, significant_only=True)
    assert (found.passed, found.excused) == (False, False)
    assert found.p is not None
    assert found.p <= 0.05
