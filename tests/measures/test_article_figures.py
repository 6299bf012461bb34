"""The worked examples of the articles that goldbench grew from come out, each under the name of its definition.

The figures are those that the articles print, and their recomputation to full precision where an article rounds.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from goldbench.measures import evaluate
from goldbench.measures.names import FAMILIES, parse_measures


def value(judged: dict[str, int] | list[str], ranking: list[str], measure: str) -> float:
    return evaluate({"q": judged}, {"q": ranking}, measure).mean(measure)


def graded(gains: list[int]) -> tuple[dict[str, int], list[str]]:
    ranking = [f"d{i}" for i in range(len(gains))]
    return dict(zip(ranking, gains, strict=True)), ranking


def test_hit_precision_recall_and_f1_of_the_question_about_anna_pavlovna() -> None:
    """Article on hit rate, precision, recall and F1 on War and Peace: 10 retrieved, 2 of the 3 relevant among them."""
    ranking = [f"c{i}" for i in range(10)]
    judged = ["c1", "c4", "absent"]
    found = {m: value(judged, ranking, m) for m in ("hit@10", "p@10", "r@10", "f1@10")}
    assert found == {"hit@10": 1.0, "p@10": 0.2, "r@10": 2 / 3, "f1@10": pytest.approx(0.3076923076923077)}


def test_average_precision_over_what_was_found() -> None:
    """Article on MRR and AP: relevant at ranks 1 and 4; it divides by the relevant retrieved and prints 0.75."""
    judged, ranking = graded([1, 0, 0, 1])
    assert value(judged, ranking, "ap(norm=hits)") == 0.75
    assert value({**judged, "absent": 1}, ranking, "ap(norm=hits)") == 0.75
    assert value({**judged, "absent": 1}, ranking, "ap") == 0.5


def test_average_precision_at_8_of_three_queries() -> None:
    """Article on search metrics: 8 documents, three sets of relevant ones; it prints 0.54, 0.67, 0.23 and 0.48."""
    relevant = {"q1": "2457", "q2": "1457", "q3": "58"}
    result = evaluate({q: list(ids) for q, ids in relevant.items()}, {q: list("12345678") for q in relevant}, "map@8")
    assert result.values["map@8"] == pytest.approx([0.5428571428571429, 0.6678571428571429, 0.225])
    assert result.mean("map@8") == pytest.approx(0.4785714285714286)


def test_recall_from_rank_1_to_8() -> None:
    """Article on search metrics."""
    found = [value(list("2457"), list("12345678"), f"r@{k}") for k in range(1, 9)]
    assert found == [0.0, 0.25, 0.25, 0.5, 0.75, 0.75, 1.0, 1.0]


@pytest.mark.parametrize("k", [3, 5])
def test_recall_of_the_core_concepts_article(k: int) -> None:
    assert value(["doc1", "doc3", "doc7"], ["doc1", "doc5", "doc3", "doc8", "doc2"], f"recall@{k}") == 2 / 3


@pytest.mark.parametrize(
    ("ranks", "mrr"),
    [([2, 1, 5], 0.5666666666666667), ([1, 3, None], 0.4444444444444444), ([2, 1], 0.75)],
    ids=["article on search metrics", "core-concepts article", "retrieval-experiment article"],
)
def test_mean_reciprocal_rank(ranks: list[int | None], mrr: float) -> None:
    listed = [f"d{i}" for i in range(1, 9)]
    qrels = {f"q{i}": [f"d{rank}" if rank else "absent"] for i, rank in enumerate(ranks)}
    assert evaluate(qrels, {q: listed.copy() for q in qrels}, "mrr").mean("mrr") == pytest.approx(mrr)


def test_ndcg_of_the_core_concepts_article() -> None:
    """Gains 3, 2, 0, 1, 2; the article's code gives these, its text prints 0.918 and 0.892, which nothing gives."""
    judged, ranking = graded([3, 2, 0, 1, 2])
    assert value(judged, ranking, "ndcg@3") == pytest.approx(0.8099531166420328, abs=1e-12)
    assert value(judged, ranking, "ndcg@5") == pytest.approx(0.9602471757862604, abs=1e-12)


def test_no_variant_gives_the_two_figures_that_are_wrong() -> None:
    judged, ranking = graded([3, 2, 0, 1, 2])
    options = FAMILIES["ndcg"].options
    names = [
        f"ndcg@{k}(" + ",".join(f"{key}={choice}" for key, choice in zip(options, choices, strict=True)) + ")"
        for k in (3, 5)
        for choices in product(*options.values())
    ]
    result = evaluate({"q": judged}, {"q": ranking}, names)
    assert len(result.values) == len(parse_measures(names)) == 12
    assert not {0.918, 0.892} & {round(values[0], 3) for values in result.values.values()}


def test_dcg_and_ndcg_of_the_article_on_search_metrics() -> None:
    """Gains 0, 7, 2, 4, 6, 1, 4, 3; the article prints an nDCG of 0.41."""
    judged, ranking = graded([0, 7, 2, 4, 6, 1, 4, 3])
    found = {m: round(value(judged, ranking, m), 4) for m in ("dcg@2", "idcg@2", "ndcg@2", "ndcg@8")}
    assert found == {"dcg@2": 4.4165, "idcg@2": 10.7856, "ndcg@2": 0.4095, "ndcg@8": 0.7237}


def test_ndcg_over_what_was_retrieved_knows_only_that() -> None:
    judged, ranking = graded([0, 7, 2, 4, 6, 1, 4, 3])
    assert value({**judged, "absent": 9}, ranking, "ndcg@2(ideal=retrieved)") == value(judged, ranking, "ndcg@2")


@pytest.mark.parametrize(
    ("system", "hit_rate", "mrr"),
    [
        ("bm25", [0.7975, 0.8536, 0.9003], [0.7975, 0.8255, 0.8411]),
        ("embedding", [0.6075, 0.6978, 0.7321], [0.6075, 0.6526, 0.6641]),
    ],
)
def test_hit_rate_and_mrr_of_the_retrieval_experiment(
    collections: Path, system: str, hit_rate: list[float], mrr: list[float]
) -> None:
    """321 queries on 433 Chinese chunks; a workbook beside them has every reciprocal rank among the first 3.

    Of the two ensembles the workbook holds another run than the one published, so they are not shown here.
    """
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(collections / "percent4" / "search_result_analysis.xlsx", read_only=True)
    head, *rows = book.active.iter_rows(values_only=True)
    found = [row[head.index(f"{system}_mrr")] for row in rows[:321]]
    book.close()
    run = {
        f"q{i}": ["relevant" if value and round(1 / value) == rank else f"other{rank}" for rank in (1, 2, 3)]
        for i, value in enumerate(found)
    }
    result = evaluate({query_id: ["relevant"] for query_id in run}, run, "hit@1 hit@2 hit@3 mrr@1 mrr@2 mrr@3")
    assert [round(result.mean(f"hit@{k}"), 4) for k in (1, 2, 3)] == hit_rate
    assert [round(result.mean(f"mrr@{k}"), 4) for k in (1, 2, 3)] == mrr
