"""What the page receives of a query: marks at their exact places, lists with causes, siblings with their rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.records.corpus import Evidence, Span
from goldbench.review.reviewable_set import Position
from goldbench.review.state import State
from goldbench.score.runs import load_gold
from goldbench.workbench.query_detail import QueryDetail, evidence_spans
from goldbench.workbench.set_table import SetTable
from goldbench.workbench.workbench_server import load_table, reviewable
from tests.workbench.conftest import wanted
from tests.workbench.workbench_set import QUERIES, write_workbench_set


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> SetTable:
    folder = write_workbench_set(tmp_path_factory.mktemp("made") / "set")
    return table_of(folder)


def table_of(folder: Path) -> SetTable:
    state = State()
    return load_table(load_gold(folder), wanted(folder), lambda: state, reviewable(folder))


@pytest.fixture(scope="module")
def detail(table: SetTable) -> QueryDetail:
    return QueryDetail(table)


def utf16(text: str, start: int, end: int) -> str:
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


@pytest.mark.parametrize("query_id", QUERIES)
def test_the_evidence_is_marked_where_it_stands_in_every_script(detail: QueryDetail, query_id: str) -> None:
    passage = detail.show(query_id)["passages"][0]
    assert [utf16(passage["text"], *span) for span in passage["evidence"]] == [QUERIES[query_id][2]]


def test_evidence_of_another_document_or_outside_the_passage_is_not_marked() -> None:
    position = Position(span=Span(doc_id="d", start=10, end=20))
    text = "0123456789"
    inside = Evidence(doc_id="d", start=12, end=15, quote="234")
    elsewhere = Evidence(doc_id="other", start=12, end=15, quote="234")
    before = Evidence(doc_id="d", start=0, end=5, quote="12345")
    assert evidence_spans(text, position, [inside, elsewhere, before]) == [(2, 5)]


def test_every_list_has_ranks_scores_grades_and_why_it_fails(detail: QueryDetail) -> None:
    words, vectors = sorted(detail.show("q-de")["systems"], key=lambda one: one["system"] != "words")
    assert [(one["id"], one["rank"], one["score"], one["grade"]) for one in words["results"]] == [
        ("de1", 1, 9.0, 3),
        ("de3", 2, 8.0, None),
        ("de2", 3, 1.0, 0),
    ]
    assert (words["causes"], words["scores"][1]) == ([], 1.0)
    assert vectors["causes"] == ["just-below"]
    assert vectors["scores"] == [0.0, 0.0]
    assert [one["id"] for one in vectors["results"]] == ["de3", "en2", "zh2", "de2", "de1"]


def test_ties_missing_passages_and_missing_results_are_told(detail: QueryDetail) -> None:
    by_query = {one: detail.show(one)["systems"] for one in QUERIES}
    vectors = {one: next(s for s in lists if s["system"] == "vectors") for one, lists in by_query.items()}
    assert [one["tied"] for one in vectors["q-ar"]["results"]] == [True, True, True]
    assert vectors["q-x"]["missing"] == ["en1"]
    assert vectors["q-x"]["causes"] == ["only-unjudged-above", "never-found"]
    assert vectors["q-zh"]["causes"] == ["no-results"]
    assert vectors["q-zh"]["found"] == 0


def test_rejected_siblings_come_with_their_rule(detail: QueryDetail) -> None:
    siblings = {one["rule"]: one for one in detail.show("q-de")["siblings"]}
    assert siblings["deixis"]["text"] == "Wie hoch ist er dort?"
    assert siblings["deixis"]["reason"]
    assert siblings["judge-check"]["by"] == "grading"
    assert "skipped" not in siblings


def test_a_left_out_query_shows_its_rule_and_its_passage(detail: QueryDetail) -> None:
    found = detail.show_left_out("grading q-dropped")
    assert found["left_out"]["rule"] == "judge-check"
    assert found["passages"][0]["id"] == "de1"
    assert [one["key"] for one in found["siblings"]] == ["rejected 1"]


def test_means_are_those_of_score(table: SetTable) -> None:
    means = {one["system"]: one for one in table.overview()["means"]}
    assert means["words"]["now"] == means["words"]["applied"]
    assert means["words"]["now"][1] == 1.0
    assert means["vectors"]["now"][1] == 0.25
    assert means["vectors"]["failed"] == 3
