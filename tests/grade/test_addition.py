"""One's own queries in a set: with a label they join it, without one they wait until somebody finds a passage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldbench.api.gold_set import GoldSet
from goldbench.config import Config
from goldbench.errors import InputError
from goldbench.formats.own_queries import read_own_queries
from goldbench.goldset.dataset import read_dataset
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.grade.addition import Addition, add_queries
from goldbench.records.review_event import EventKind
from goldbench.review.apply import apply_review
from tests.benchmarks.build_speed import Clock
from tests.conftest import Goldbench
from tests.grade.graded_sets import KnownSet, artifacts, grade, settings, write_set
from tests.model_server.fixture import ServerHandle
from tests.review.made_set import event, ledger_of

ANSWERED, UNANSWERED = "who notes the date of greasing the valve", "which cook repairs the reactor"


@pytest.fixture
def known(tmp_path: Path) -> KnownSet:
    return write_set(tmp_path / "set", subjects=4)


def add(known: KnownSet, *rows: dict[str, Any], dry_run: bool = False) -> Addition:
    file = known.folder.parent / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = read_own_queries(file)
    return add_queries(known.folder, asked, str(file), Config(), progress=Clock(), dry_run=dry_run)


def answer_of(known: KnownSet, subject: str = "valve") -> str:
    return next(one for one in known.texts if one.startswith(f"{subject}-3"))


def test_queries_with_labels_join_the_set_with_these_labels_and_no_other(known: KnownSet) -> None:
    chunk = answer_of(known)
    made = add(
        known,
        {"query": "Who greases it?", "passages": chunk},
        {"query": "What is noted?", "quote": "notes the date in book 31", "document": "pump-3", "answer": "the date"},
    )
    data = read_dataset(known.folder / "dataset.json")
    ids = {query.text: query.query_id for query in made.labelled}
    assert data.relevance_scores is not None
    assert data.relevance_scores[ids["Who greases it?"]] == {chunk: 3}
    assert data.relevance_scores[ids["What is noted?"]] == {answer_of(known, "pump"): 3}
    assert data.answers[ids["What is noted?"]].text == "the date"
    assert validate(known.folder).problems == ()
    assert GoldFolder(known.folder).waiting() == []


def test_queries_without_labels_wait_and_join_when_the_judge_finds_a_passage(
    known: KnownSet, model_server: ServerHandle
) -> None:
    before = (known.folder / "dataset.json").read_bytes()
    made = add(known, {"query": ANSWERED}, {"query": UNANSWERED})
    assert [query.text for query in made.waiting] == [ANSWERED, UNANSWERED]
    assert (known.folder / "dataset.json").read_bytes() == before
    home = GoldFolder(known.folder)
    assert {row.query_id for row in home.pool.read()} == {query.query_id for query in made.waiting}
    text = known.texts[answer_of(known)]
    model_server.script(judge={"truth": {**known.truth, ANSWERED: {text: 3}, UNANSWERED: {}}})
    grade(known.folder, settings(model_server))
    data = home.dataset()
    first, second = (query.query_id for query in made.waiting)
    assert data.relevant_docs[first] == [answer_of(known)]
    assert second not in data.queries
    assert [query.text for query in home.waiting()] == [UNANSWERED]
    check = next(report for report in home.manifest().stages if report.stage == "judge-check")
    assert check.rules == {"nothing-found": 1}
    assert validate(known.folder).problems == ()
    _labels_are_given(home)
    requests = model_server.stats()["requests"]
    again = grade(known.folder, settings(model_server))
    assert model_server.stats()["requests"] == requests
    assert again.complete
    assert home.dataset() == data


def _labels_are_given(home: GoldFolder) -> None:
    """Check that every label was given by a judge."""
    said = {
        (judgment.query_id, judgment.chunk_id): judgment.relevance
        for judgment in home.judgments.read()
        if judgment.canary is None
    }
    scores = home.dataset().relevance_scores or {}
    assert {(query, one) for query, grades in scores.items() for one in grades} <= said.keys()


def test_a_graded_set_takes_more_queries_and_asks_about_these_alone(
    known: KnownSet, model_server: ServerHandle
) -> None:
    text = known.texts[answer_of(known)]
    model_server.script(judge={"truth": {**known.truth, ANSWERED: {text: 2}}})
    grade(known.folder, settings(model_server))
    add(known, {"query": ANSWERED}, {"query": "Who greases it?", "passages": answer_of(known)})
    assert validate(known.folder).problems == ()
    before = model_server.stats()["requests"]
    done = grade(known.folder, settings(model_server))
    data = read_dataset(known.folder / "dataset.json")
    assert ANSWERED in data.queries.values()
    assert len(data.queries) == 5  # nobody grades the pump's answer 2 or more for the other one
    assert model_server.stats()["requests"] - before < done.grading.pairs
    assert validate(known.folder).problems == ()


def test_people_judge_waiting_queries_and_take_it_back(known: KnownSet) -> None:
    made = add(known, {"query": ANSWERED}, {"query": UNANSWERED})
    first, second = (query.query_id for query in made.waiting)
    material, ledger = ledger_of(known.folder)
    assert material.queries[first] == ANSWERED
    assert {row.query_id for row in material.pool} == set(material.queries)
    pair = {"chunk_id": answer_of(known)}
    with ledger:
        ledger.append_all([event(material, EventKind.JUDGE, first, grade=2, **pair)])
        ledger.append_all([event(material, EventKind.JUDGE, second, grade=0, **pair)])
    apply_review(known.folder, ledger=None)
    home = GoldFolder(known.folder)
    assert home.dataset().relevance_scores is not None
    assert (home.dataset().relevance_scores or {})[first] == {answer_of(known): 2}
    assert [query.query_id for query in home.waiting()] == [second]
    assert {row.query_id for row in home.pool.read()} >= {first, second}
    assert validate(known.folder).problems == ()
    with ledger_of(known.folder)[1] as ledger:
        ledger.append_all([event(material, EventKind.JUDGE, first, grade=1, **pair)])
    apply_review(known.folder, ledger=None)
    assert first not in home.dataset().queries
    assert [query.query_id for query in home.waiting()] == [first, second]
    assert validate(known.folder).problems == ()


def test_queries_added_after_a_review_leave_what_people_decided(known: KnownSet) -> None:
    material, ledger = ledger_of(known.folder)
    with ledger:
        ledger.append_all([event(material, EventKind.REJECT_QUERY, "q-pump")])
    apply_review(known.folder, ledger=None)
    made = add(known, {"query": ANSWERED}, {"query": "Who greases it?", "passages": answer_of(known)})
    home = GoldFolder(known.folder)
    assert "q-pump" not in home.dataset().queries
    assert validate(known.folder).problems == ()
    apply_review(known.folder, ledger=None)
    assert "q-pump" not in home.dataset().queries
    assert made.labelled[0].query_id in home.dataset().queries
    assert [query.text for query in home.waiting()] == [ANSWERED]
    assert validate(known.folder).problems == ()


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (
            {"query": "Who?", "passages": "nobody:0-9"},
            "column passages: nobody:0-9 is not in the set; 1-chunks.jsonl holds",
        ),
        (
            {"query": "Who?", "quote": "greased", "document": "nobody"},
            "column document: nobody is not in the set; 0-documents.jsonl holds",
        ),
        ({"query": "Who?", "quote": "deck crew."}, "its quotation stands in 4 documents"),
        ({"query": "Who?", "quote": "greased", "passages": "a"}, "names passages and a quotation"),
        ({"query": " "}, "holds no query"),
    ],
)
def test_a_row_that_is_wrong_is_named_by_its_line_and_changes_nothing(
    known: KnownSet, row: dict[str, Any], problem: str
) -> None:
    before = artifacts(known.folder)
    with pytest.raises(InputError, match=problem) as raised:
        add(known, {"query": "Who greases the pump?"}, row)
    assert raised.value.line == 2
    assert artifacts(known.folder) == before


def test_queries_of_the_set_and_repeated_ones_are_left_out(known: KnownSet) -> None:
    made = add(known, {"query": "How often is the PUMP greased?"}, {"query": "New one"}, {"query": "new  one?"})
    assert [one.line for one in made.repeated] == [1, 3]
    assert len(made.waiting) == 1
    assert [one.line for one in add(known, {"query": "NEW ONE"}).repeated] == [1]


def test_queries_are_added_from_python(known: KnownSet) -> None:
    file = known.folder.parent / "own.jsonl"
    rows = [{"query": ANSWERED}, {"query": "Who?", "passages": [answer_of(known)]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    gold = GoldSet.load(known.folder)
    assert gold.add(file, progress=False) is gold
    assert "Who?" in gold.queries.values()
    assert gold.remarks[-1] == "1 query waiting for judgments"


def test_a_dry_run_changes_nothing(known: KnownSet) -> None:
    before = artifacts(known.folder)
    made = add(known, {"query": ANSWERED}, {"query": "Who?", "passages": answer_of(known)}, dry_run=True)
    assert (len(made.waiting), len(made.labelled)) == (1, 1)
    assert artifacts(known.folder) == before


def test_the_command_says_what_waits_and_what_to_do_next(known: KnownSet, goldbench_inside: Goldbench) -> None:
    file = known.folder.parent / "own.csv"
    file.write_text(f'query,passages\n"Who, then?",{answer_of(known)}\n{ANSWERED},\n', encoding="utf-8")
    done = goldbench_inside("add", str(known.folder), str(file))
    assert "1 query added with labels, 1 query waiting for judgments" in done.stdout
    assert f"goldbench review {known.folder}" in done.stdout
    lines = file.with_suffix(".txt")
    lines.write_text("Who, then?\n\nWho else?\n", encoding="utf-8")
    assert "0 queries added with labels, 1 query wait" in goldbench_inside("add", str(known.folder), str(lines)).stdout
    file.write_text("frage\nWer?\n", encoding="utf-8")
    wrong = goldbench_inside("add", str(known.folder), str(file))
    assert wrong.returncode == 2
    assert "own.csv, line 2: holds no query; name its column query" in wrong.stderr
