"""In float64 mode the figures are those of the rules written out plainly, on every way that leads to them."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.measures import evaluate
from goldbench.measures.names import parse_measures
from goldbench.measures.result import Result
from tests.measures.cases import order, plain, qrels, runs

MEASURES = ("hit", "p", "r", "f1", "mrr", "map", "dcg", "ndcg", "judged")
CUTOFFS = (1, 2, 3, 5, 10, 30)
ASKED = parse_measures(f"{measure}@{k}" for measure in MEASURES for k in CUTOFFS)


def check(judgments, run, result: Result, *, single: bool = False) -> None:
    assert list(result.query_ids) == sorted(judgments)
    for row, query_id in enumerate(result.query_ids):
        ranking = order(run.get(query_id, {}), single=single)
        for measure in MEASURES:
            for k in CUTOFFS:
                expected = plain(measure, judgments[query_id], ranking, k)
                value = result.values[f"{measure}@{k}"][row]
                assert value == expected or value == pytest.approx(expected, abs=1e-15), (measure, k, query_id)


def rows(run) -> list[tuple[str, str, float]]:
    return [(q, d, s) for q, documents in run.items() for d, s in documents.items()]


def met(judgments, run) -> bool:
    return bool(judgments.keys() & run.keys())


@settings(max_examples=500, deadline=None)
@given(qrels(), runs(), st.sampled_from(["float64", "float32"]))
def test_from_dicts(judgments, run, scores) -> None:
    if met(judgments, run):
        check(judgments, run, evaluate(judgments, run, ASKED, scores=scores), single=scores == "float32")


@settings(max_examples=200, deadline=None)
@given(qrels(), runs(), st.sampled_from(["float64", "float32"]), st.booleans())
def test_from_a_frame_in_order_of_queries(judgments, run, scores, best_first) -> None:
    if met(judgments, run):
        listed = sorted(rows(run), key=lambda row: (row[0], -row[2])) if best_first else rows(run)
        frame = pl.DataFrame(listed, schema=["query_id", "doc_id", "score"], orient="row")
        check(judgments, run, evaluate(judgments, frame, ASKED, scores=scores), single=scores == "float32")


@settings(max_examples=200, deadline=None)
@given(qrels(), runs(), st.randoms(use_true_random=False), st.sampled_from(["float64", "float32"]))
def test_from_a_frame_in_no_order(judgments, run, random, scores) -> None:
    if met(judgments, run):
        listed = rows(run)
        random.shuffle(listed)
        frame = pl.DataFrame(listed, schema=["query_id", "doc_id", "score"], orient="row")
        check(judgments, run, evaluate(judgments, frame, ASKED, scores=scores), single=scores == "float32")


def test_many_judged_documents_in_no_order() -> None:
    run = {q: {f"d{i}": float((i * 37) % 23) for i in range(60)} for q in ("q1", "q2", "q3")}
    judgments = {q: {f"d{i}": i % 4 for i in range(0, 60, 2)} for q in ("q1", "q3", "q4")}
    listed = sorted(rows(run), key=lambda row: hash_of(row[1] + row[0]))
    frame = pl.DataFrame(listed, schema=["query_id", "doc_id", "score"], orient="row")
    check(judgments, run, evaluate(judgments, frame, ASKED))
    check(judgments, run, evaluate(judgments, frame.sort("query_id"), ASKED))


def test_a_frame_of_pandas_gives_the_same() -> None:
    run = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"c": 1.0}}
    judgments = {"q1": {"a": 1}, "q2": {"c": 2, "d": 1}}
    frame = pd.DataFrame(rows(run), columns=["qid", "docno", "score"])
    judged = pd.DataFrame(
        [(q, d, g) for q, j in judgments.items() for d, g in j.items()], columns=["qid", "docno", "rel"]
    )
    check(judgments, run, evaluate(judged, frame, ASKED))


def hash_of(text: str) -> int:
    import zlib

    return zlib.crc32(text.encode())
