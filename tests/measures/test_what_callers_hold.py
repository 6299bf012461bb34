"""``evaluate`` and what a caller may hand it: odd numbers, ids, frames, settings; every refusal is one of ours."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from goldbench.errors import GoldbenchError, InputError, UsageError
from goldbench.measures import evaluate
from goldbench.measures.names import Measure

QRELS = {"q": {"a": 1}}


def mrr(run: object, **how) -> float:
    return evaluate(QRELS, run, "mrr", **how).mean("mrr")


@pytest.mark.parametrize("more", [0, 400])
@pytest.mark.parametrize("pair", [(2**53 + 1, 2**53), (Decimal("1.00000000000000000001"), Decimal(1))])
def test_scores_that_are_one_float64_are_equal_however_they_are_written(pair, more: int) -> None:
    filling = {f"z{i}": 0 for i in range(more)}
    assert mrr({"q": {"a": pair[0], "b": pair[1], **filling}}) == 0.5


@pytest.mark.parametrize("more", [0, 400])
@pytest.mark.parametrize(
    "pair",
    [
        (0.1, np.float32(0.1)),  # as float64 the second is greater
        (np.float32(2**24), 2**24 + 1),
        (Fraction(1, 3), 1 / 3),
        (Decimal(1), 1.0),
        (np.uint64(2**63), 2.0**63),
        (np.float16(60000), np.float16(60000)),
    ],
    ids=str,
)
def test_numbers_of_several_types_are_compared_as_float64(pair, more: int) -> None:
    filling = {f"z{i}": 0 for i in range(more)}
    assert mrr({"q": {"b": pair[1], "a": pair[0], **filling}}) == 0.5
    assert mrr({"q": {"a": pair[0], "b": pair[1], **filling}}) == 0.5


@pytest.mark.parametrize("more", [0, 400])
@pytest.mark.parametrize("score", ["0.5", b"0.5", Decimal("NaN"), Decimal("sNaN"), None], ids=repr)
def test_what_is_no_finite_number_is_refused_in_short_and_long_lists(score, more: int) -> None:
    filling = {f"z{i}": 0 for i in range(more)}
    with pytest.raises(InputError, match="must be a finite number"):
        mrr({"q": {"a": score, "b": Decimal(1), **filling}})


@pytest.mark.parametrize("more", [0, 400])
def test_a_score_beyond_all_floats_is_refused(more: int) -> None:
    filling = {f"z{i}": 0 for i in range(more)}
    with pytest.raises(InputError, match="must be a finite number"):
        mrr({"q": {"a": 10**400, "b": 1, **filling}})


def test_every_document_id_is_looked_at() -> None:
    with pytest.raises(InputError, match="a document id is of type int"):
        mrr({"q": {"a": 1.0, 5: 1.0}})


def test_a_set_of_documents_is_no_ranking() -> None:
    with pytest.raises(InputError, match="a set has no order"):
        mrr({"q": {"a", "b"}})


def test_a_repeated_document_is_found_at_once_in_a_long_list() -> None:
    documents = [f"d{i}" for i in range(20_000)]
    started = process_time()
    with pytest.raises(InputError, match="'d19999'"):
        mrr({"q": [*documents, "d19999"]})
    assert process_time() - started < 1


@pytest.mark.parametrize("rel", [0, -1, "2", 1.5, None])
def test_a_level_that_is_none_is_refused(rel) -> None:
    with pytest.raises(UsageError, match="smallest relevant grade"):
        mrr({"q": {"a": 1}}, rel=rel)


def test_no_measures_at_all_are_refused() -> None:
    with pytest.raises(UsageError, match="give names"):
        evaluate(QRELS, {"q": {"a": 1}}, None)


def test_a_measure_keeps_its_level_beside_names_that_have_none() -> None:
    result = evaluate({"q": {"a": 1, "b": 2}}, {"q": ["a", "b"]}, [Measure("p", 1), "r@1"], rel=2)
    assert {name: result.mean(name) for name in result.values} == {"p@1": 1.0, "r@1(rel=2)": 0.0}


COLUMNS = {"lists": [[1], [2]], "records": [{"x": 1}, {"x": 2}], "dates": [date(2020, 1, 1)] * 2}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_that_holds_no_numbers_is_refused(kind: str) -> None:
    frame = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": COLUMNS[kind]})
    with pytest.raises(InputError, match="make them numbers"):
        mrr(frame)
    with pytest.raises(InputError, match="make them numbers"):
        evaluate(frame.rename({"score": "grade"}), {"q": {"a": 1}}, "mrr")


def test_numbers_as_categories_are_read_by_what_they_say() -> None:
    scores = pl.Series(["2", "10"]).cast(pl.Categorical)
    assert mrr(pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": scores})) == 0.5


FOREIGN = {"complex": [1j, 2j], "periods": pd.period_range("2020", periods=2), "intervals": pd.interval_range(0, 2)}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_frame_of_pandas_with_foreign_types_is_refused(kind: str) -> None:
    with pytest.raises(GoldbenchError):
        mrr(pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "score": FOREIGN[kind]}))


def test_judgments_with_half_a_surrogate_pair_meet_a_frame() -> None:
    frame = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]})
    assert evaluate({**QRELS, "\ud800": {"\udfff": 1}}, frame, "mrr").values == {"mrr": [1.0, 0.0]}
