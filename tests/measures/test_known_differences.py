"""Where the tools of the field disagree, goldbench gives trec_eval's figure, and others' under a name of their own.

The figures of trec_eval are those of its versions 9.0.8 and 10.0, run on these cases.
"""

from __future__ import annotations

import pytest

from goldbench.errors import InputError
from goldbench.measures import evaluate


def one(judged, run, measure: str, **how) -> float:
    return round(evaluate({"q": judged}, {"q": run}, measure, **how).mean(measure), 4)


TIED = {"a": 1.0, "b": 1.0, "c": 1.0}
GRADED = {"a": 3, "b": 2, "c": 1, "d": 0}
FOUR = dict.fromkeys("abcd", 1)


@pytest.mark.parametrize("order", ["abc", "cba", "bac"])
def test_ties_go_by_id_whatever_the_order_of_the_run(order: str) -> None:
    run = dict.fromkeys(order, 1.0)
    assert (one({"a": 1}, run, "mrr"), one({"a": 1}, run, "ndcg"), one({"a": 1}, run, "mrr@10")) == (
        0.3333,
        0.5,
        0.3333,
    )


def test_scores_that_differ_only_in_float64() -> None:
    run = {"a": 20.0000002, "b": 20.0000001}
    assert one({"a": 1}, run, "mrr") == 1.0
    assert one({"a": 1}, run, "mrr", scores="float32") == 0.5


def test_a_query_that_the_run_lacks() -> None:
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}
    assert evaluate(qrels, run, "map").mean("map") == 0.5
    assert evaluate(qrels, run, "map", missing="skip").mean("map") == 1.0
    with pytest.raises(InputError, match="lacks the judged query 'q2'"):
        evaluate(qrels, run, "map", missing="error")
    assert evaluate(qrels, run, "map").counts.missing == 1


def test_a_query_that_is_not_judged_is_passed_over_and_counted() -> None:
    result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}, "x": {"a": 1.0}}, "map")
    assert (result.mean("map"), result.counts.extra, result.counts.queries) == (1.0, 1, 1)


def test_precision_divides_by_k_unless_told_otherwise() -> None:
    judged = dict.fromkeys("abz", 1)
    run = ["a", "b", "x"]
    assert one(judged, run, "p@10") == 0.2
    assert one(judged, run, "p@10(k=returned)") == 0.6667
    assert one(judged, run, "SetP") == 0.6667


def test_f1_at_10() -> None:
    assert one(dict.fromkeys("abz", 1), ["a", "b", "x"], "f1@10") == 0.3077
    assert one(dict.fromkeys("abz", 1), ["a", "b", "x"], "f1@10(k=returned)") == 0.6667


def test_average_precision_divides_by_all_relevant() -> None:
    run = ["a", "x", "b"]
    assert one(FOUR, run, "ap@3") == 0.4167
    assert one(FOUR, run, "ap@3(norm=min)") == 0.5556
    assert one(FOUR, run, "ap@3(norm=hits)") == 0.8333


def test_the_gain_is_linear_and_the_ideal_is_of_all_that_was_judged() -> None:
    run = ["d", "b", "a"]
    assert one(GRADED, run, "ndcg@3") == 0.5800
    assert one(GRADED, run, "ndcg@3(gain=exp)") == 0.5741
    assert one(GRADED, run, "ndcg@3(ideal=retrieved)") == 0.6480


def test_a_level_moves_average_precision_and_not_ndcg() -> None:
    run = ["d", "b", "a"]
    assert one(GRADED, run, "ap(rel=2)") == 0.5833
    assert evaluate({"q": GRADED}, {"q": run}, "ndcg@3", rel=2).mean("ndcg@3") == pytest.approx(0.5800, abs=5e-5)


def test_the_ideal_is_cut_at_k() -> None:
    judged = {f"d{i}": 1 for i in range(12)}
    run = [f"d{i}" for i in range(10)]
    assert one(judged, run, "ndcg@10") == 1.0
    assert one(judged, run, "ndcg@10(ideal=uncut)") == 0.8922


def test_a_document_retrieved_twice_is_refused() -> None:
    with pytest.raises(InputError, match="twice"):
        evaluate({"q": {"a": 1}}, {"q": ["a", "a"]}, "map")


def test_a_query_with_no_documents_counts_0() -> None:
    result = evaluate({"q": {"a": 1}, "r": {"a": 1}}, {"q": {}, "r": {"a": 1.0}}, "map")
    assert (list(result.values["map"]), result.counts.missing) == ([0.0, 1.0], 0)


def test_scores_of_numpy_and_grades_in_floating_point_are_welcome() -> None:
    import numpy as np

    qrels = {"q": {"a": 1.0, "b": np.int64(2)}}
    assert evaluate(qrels, {"q": {"a": np.float32(1), "b": 2}}, "ndcg").mean("ndcg") == 1.0


def test_half_a_grade_is_refused() -> None:
    with pytest.raises(InputError, match="not a whole number from"):
        evaluate({"q": {"a": 2.7}}, {"q": {"a": 1.0}}, "map")


def test_negative_grades_are_no_judgment() -> None:
    result = evaluate({"q": {"a": -2, "b": 1}}, {"q": ["a", "b"]}, ["judged@2", "ndcg@2", "bpref"])
    assert result.mean("judged@2") == 0.5
    assert result.mean("bpref") == 1.0


def test_a_query_without_a_relevant_document_stays_in_the_mean_and_is_counted() -> None:
    result = evaluate({"q": {"a": 1}, "r": {"a": 0}}, {"q": ["a"], "r": ["a"]}, ["map", "ndcg", "p@1", "mrr"])
    assert [result.mean(m) for m in ("map", "ndcg", "p@1", "mrr")] == [0.5] * 4
    assert result.counts.no_relevant == 1


def test_ties_that_matter_are_counted() -> None:
    run = {"same": TIED, "matters": TIED, "none": {"a": 2.0, "b": 1.0}}
    result = evaluate({"same": dict.fromkeys(TIED, 1), "matters": {"a": 1}, "none": {"a": 1}}, run, "mrr")
    assert result.counts.tied == 1


def test_a_tie_below_the_cutoff_does_not_matter() -> None:
    run = {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}
    assert evaluate({"q": {"a": 1, "b": 1}}, run, "map@1").counts.tied == 0
    assert evaluate({"q": {"a": 1, "b": 1}}, run, "map@2").counts.tied == 1


def test_a_tie_within_the_cutoff_does_not_move_precision() -> None:
    assert evaluate({"q": {"a": 1}}, {"q": TIED}, "p@3").counts.tied == 0
    assert evaluate({"q": {"a": 1}}, {"q": TIED}, "p@2").counts.tied == 1


def test_holes_above_the_largest_cutoff_are_counted() -> None:
    run = {"q": ["a", "x"], "r": ["a", "b"]}
    qrels = {"q": {"a": 1}, "r": {"a": 1, "b": 0}}
    assert evaluate(qrels, run, "map@1").counts.holes == 0
    assert evaluate(qrels, run, "map@2").counts.holes == 1
