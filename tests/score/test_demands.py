"""Demands as people write them."""

from __future__ import annotations

import pytest

from goldbench.errors import UsageError
from goldbench.measures.statistics.regression import Drop
from goldbench.score.demands import parse_bound, parse_drop


@pytest.mark.parametrize(
    ("text", "measure", "drop"),
    [
        ("5%", None, Drop(0.05, True)),
        ("0.02", None, Drop(0.02, False)),
        ("ndcg@10=2.5%", "ndcg@10", Drop(0.025, True)),
        ("map@10(norm=hits)=0", "map@10(norm=hits)", Drop(0.0, False)),
    ],
)
def test_a_drop_is_a_share_or_a_difference_of_all_or_one(text: str, measure: str | None, drop: Drop) -> None:
    found_measure, found = parse_drop(text)
    assert found_measure == measure
    assert found.amount == pytest.approx(drop.amount)
    assert found.relative is drop.relative


@pytest.mark.parametrize("text", ["", "five", "-1%", "nan", "ndcg@10=", "101%"])
def test_what_is_no_drop_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--max-drop"):
        parse_drop(text)


def test_a_bound_names_its_measure_even_one_with_options() -> None:
    assert parse_bound("recall@10=0.8", "--min") == ("recall@10", 0.8)
    assert parse_bound("r@10(rel=2)=0.8", "--min") == ("r@10(rel=2)", 0.8)


@pytest.mark.parametrize("text", ["recall@10", "=0.8", "recall@10=nan"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--alert-below"):
        parse_bound(text, "--alert-below")
