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
