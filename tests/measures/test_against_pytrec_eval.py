"""In float32 mode the figures are those of pytrec_eval, which is trec_eval 9."""

from __future__ import annotations

import pytest
import pytrec_eval
from hypothesis import given, settings

from goldbench.measures import evaluate
from goldbench.measures.names import parse_measures
from tests.measures.cases import qrels, runs

CUTOFFS = (1, 2, 3, 5, 10, 30)
AT = {"hit": "success", "p": "P", "r": "recall", "map": "map_cut", "ndcg": "ndcg_cut"}
WHOLE = {
    "mrr": "recip_rank", "map": "map", "ndcg": "ndcg", "rprec": "Rprec", "bpref": "bpref",
    "p(k=returned)": "set_P", "r": "set_recall", "f1(k=returned)": "set_F",
}  # fmt: skip
OURS = [*(f"{name}@{k}" for name in AT for k in CUTOFFS), *WHOLE]
THEIRS = {f"{theirs}.{','.join(map(str, CUTOFFS))}" for theirs in AT.values()} | set(WHOLE.values())
NAMES = {f"{name}@{k}": f"{theirs}_{k}" for name, theirs in AT.items() for k in CUTOFFS} | WHOLE


ASKED = {level: parse_measures(OURS, rel=level) for level in (1, 2)}


def compare(judgments: dict[str, dict[str, int]], run: dict[str, dict[str, float]], level: int = 1) -> None:
    if not judgments.keys() & run.keys():
        return
    expected = pytrec_eval.RelevanceEvaluator(judgments, THEIRS, relevance_level=level).evaluate(run)
    result = evaluate(judgments, run, ASKED[level], missing="skip", scores="float32")
    assert list(result.query_ids) == sorted(expected)
    for measure, theirs in NAMES.items():
        values = result.values[measure if level == 1 or measure.startswith("ndcg") else with_level(measure, level)]
        for query_id, value in zip(result.query_ids, values, strict=True):
            assert value == pytest.approx(expected[query_id][theirs], abs=1e-9), (measure, query_id)


def with_level(measure: str, level: int) -> str:
    head, _, options = measure.partition("(")
    return f"{head}(rel={level}{',' + options if options else ')'}"


@settings(max_examples=400, deadline=None)
@given(qrels(), runs())
def test_each_value_of_each_query_is_that_of_pytrec_eval(judgments, run) -> None:
    compare(judgments, run)


@settings(max_examples=200, deadline=None)
@given(qrels(lowest=0), runs())
def test_a_higher_level_of_relevance_gives_the_values_of_pytrec_eval(judgments, run) -> None:
    if any(grade >= 2 for judged in judgments.values() for grade in judged.values()):
        compare(judgments, run, level=2)
