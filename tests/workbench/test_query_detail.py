"""What the page receives of a query: marks at their exact places, lists with causes, siblings with their rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldbench.records.corpus import Evidence, Span
from goldbench.review.reviewable_set import Position
from goldbench.review.state import State
from goldbench.score.runs import load_gold
from goldbench.text.matched_words import matched_words
from goldbench.workbench.query_detail import QueryDetail, evidence_spans, in_utf16
from goldbench.workbench.set_table import SetTable
from goldbench.workbench.workbench_server import load_table, reviewable
from tests.workbench.conftest import wanted
from tests.workbench.workbench_set import JUDGE, QUERIES, REASON, write_workbench_set


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


def test_an_emoji_before_the_evidence_counts_two_units() -> None:
    assert in_utf16("😀 ab", 2, 4) == [3, 5]


def test_evidence_of_another_document_or_outside_the_passage_is_not_marked() -> None:
    place = Position(span=Span(doc_id="d", start=10, end=20))
    text = "0123456789"
    inside = Evidence(doc_id="d", start=12, end=15, quote="234")
    elsewhere = Evidence(doc_id="other", start=12, end=15, quote="234")
    before = Evidence(doc_id="d", start=0, end=5, quote="12345")
    assert evidence_spans(text, place, [inside, elsewhere, before]) == [(2, 5)]


def test_evidence_that_held_out_words_have_moved_is_found_by_its_words() -> None:
    place = Position(span=Span(doc_id="d", start=0, end=60))
    moved = Evidence(doc_id="d", start=30, end=50, quote="the pump stops at once")
    assert evidence_spans("Then the pump stops at once.", place, [moved]) == [(5, 27)]


@pytest.mark.parametrize(
    ("query", "text", "language", "words"),
    [
        ("Which valves leak?", "A leaking valve leaked.", "en", {"leak": ["leaked", "leaking"], "valv": ["valve"]}),
        ("Ventile der Pumpe", "Das Ventil ist dicht.", "de", {"ventil": ["ventil"]}),
        ("水压是多少", "最大水压", "zh", {"水压": ["水压"]}),
        ("the of", "the of", "en", {}),
    ],
)
def test_shared_words_are_those_that_have_the_same_stem(
    query: str, text: str, language: str, words: dict[str, list[str]]
) -> None:
    assert matched_words(query, text, language) == words


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


def test_judges_tell_their_reason_and_an_unjudged_result_has_none(detail: QueryDetail) -> None:
    rows = {one["id"]: one for one in detail.show("q-de")["systems"][1]["results"]}
    assert [(one["assessor"], one["grade"], one["reason"]) for one in rows["de1"]["judges"]] == [(JUDGE, 3, REASON)]
    assert rows["de3"]["judges"] == []


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


def test_the_list_has_every_query_once_with_its_figures(table: SetTable) -> None:
    rows = {row["id"]: row for row in table.overview(None)["rows"]}
    assert list(rows) == [*QUERIES, "rejected 1", "grading q-dropped"]
    systems = [run.name for run in table.systems.runs]
    assert rows["q-x"]["unjudged"][systems.index("vectors")] == 2
    assert rows["q-ar"]["causes"][systems.index("vectors")] == []  # rank 3 of 3
    assert rows["q-de"]["document"] == "Heft de1"


def test_means_are_those_of_score(table: SetTable) -> None:
    means = {one["system"]: one for one in table.overview(None)["means"]}
    assert means["words"]["now"] == means["words"]["applied"]
    assert means["words"]["now"][1] == 1.0
    assert means["vectors"]["now"][1] == 0.25
    assert means["vectors"]["failed"] == 3


def test_causes_are_counted_by_system(table: SetTable) -> None:
    causes = table.overview(None)["causes"]
    systems = [run.name for run in table.systems.runs]
    counts = {one["cause"]: one["queries"][systems.index("vectors")] for one in causes}
    assert counts == {"only-unjudged-above": 1, "just-below": 1, "never-found": 1, "no-results": 1}


def test_words_are_looked_for_in_the_passages_of_a_query(table: SetTable) -> None:
    assert table.search_passages(["prüfen", "dichtung"]) == ["q-de"]
    assert table.search_passages(["صمام"]) == ["q-ar"]


def test_a_near_duplicate_above_is_named(tmp_path: Path) -> None:
    folder = write_workbench_set(tmp_path / "set", runs=False)
    copy = " ".join(f"Wort{number}" for number in range(60))
    _replace_texts(folder, {"de1": f"{copy} Ende.", "de3": f"{copy} Schluss."})
    from goldbench.formats.runs.trec import write_run

    (folder / "runs").mkdir()
    run = {"q-de": {"de3": 9.0, "zh1": 8.0, "zh2": 7.0, "de1": 1.0}}
    write_run(folder / "runs" / "near.trec", run, tag="near")
    found = QueryDetail(table_of(folder)).show("q-de")["systems"][0]
    assert found["causes"][:2] == ["only-unjudged-above", "near-duplicate-above"]
    assert [one["copy_of"] for one in found["results"]] == ["de1", None, None, None]


def _replace_texts(folder: Path, texts: dict[str, str]) -> None:
    import json

    path = folder / "dataset.json"
    dataset = json.loads(path.read_text(encoding="utf-8"))
    dataset["corpus"] |= texts
    path.write_text(json.dumps(dataset), encoding="utf-8")
    lines = [json.loads(line) for line in (folder / "1-chunks.jsonl").read_text(encoding="utf-8").splitlines()]
    for line in lines:
        line["text"] = texts.get(line["chunk_id"], line["text"])
    (folder / "1-chunks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
