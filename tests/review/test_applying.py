"""``goldbench review apply``: grades and decisions on queries go into the set, the ledger stays as it is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from goldbench.errors import InputError
from goldbench.formats.jsonl import RecordFile
from goldbench.goldset.dataset import read_dataset
from goldbench.goldset.folder import GoldFolder
from goldbench.goldset.integrity import validate
from goldbench.prompts.rubric import DEFAULT
from goldbench.records.query import DroppedQuery, Query, Turn
from goldbench.records.relevance import RELEVANT, Relevance
from goldbench.records.review_event import BadQuery, Event, EventKind
from goldbench.review.apply import apply_review
from goldbench.review.people import load_reviewed
from tests.conftest import Goldbench
from tests.review.conftest import events_of
from tests.review.made_set import Made, event, judgments, ledger_of, make_set, queue_of


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return make_set(tmp_path / "gold", queries=6, pool=5)


def decide(made: Made, *events: tuple[EventKind, str, dict[str, object]]) -> list[Event]:
    material, ledger = ledger_of(made.folder)
    with ledger:
        return ledger.append_all([event(material, kind, query_id, **values) for kind, query_id, values in events])


def state_of(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith((".lock", "review.sqlite"))
    }


def applied(made: Made, **options: object) -> dict[str, object]:
    result = apply_review(made.folder, **{"ledger": None, **options})  # type: ignore[arg-type]
    assert validate(result.folder).problems == ()
    return {name: getattr(result, name) for name in result.__slots__}


GRADE = {"grade": Relevance.ANSWERS, "chunk_id": "c001-3"}


def test_a_persons_grade_takes_the_place_of_the_models(made: Made) -> None:
    other = next(p for p in made.model if p[0] == "q001" and made.model[p] < RELEVANT)
    decide(made, (EventKind.JUDGE, "q001", {"grade": Relevance.ANSWERS, "chunk_id": other[1]}))
    found = applied(made)
    dataset = read_dataset(made.folder / "dataset.json")
    assert dataset.relevance_scores is not None
    assert dataset.relevance_scores["q001"][other[1]] == 3
    assert other[1] in dataset.relevant_docs["q001"]
    assert (found["people"], found["model"]) == (1, 29)
    assert dataset.metadata["review"]["judgments"] == {"people": 1, "model": 29, "people_on_an_earlier_wording": 0}
    assert f"q001 0 {other[1]} 3\n" in (made.folder / "trec" / "qrels.txt").read_text()


def test_an_edited_query_is_a_new_version_that_knows_the_old_one(made: Made) -> None:
    decide(made, (EventKind.JUDGE, "q002", {"grade": Relevance(2), "chunk_id": "c002-1"}))
    decide(made, (EventKind.EDIT_QUERY, "q002", {"text": "  How does   matter 2 end? "}))
    found = applied(made)
    dataset = read_dataset(made.folder / "dataset.json")
    assert dataset.queries["q002.v2"] == "How does matter 2 end?"
    assert "q002" not in dataset.queries
    note = dataset.metadata["review"]["queries"]["q002.v2"]
    assert (note["earlier"], note["earlier_text"], note["verdict"]) == (["q002"], "What of matter 2?", "edited")
    query = next(q for q in RecordFile.open(made.folder / "3-queries.jsonl", Query) if q.query_id == "q002.v2")
    assert (query.first_text, query.evidence[0].quote) == ("What of matter 2?", "Passage 2-0 speaks of matter 3. ")
    assert found["carried"] == 1
    assert dataset.relevance_scores["q002.v2"]["c002-1"] == 2  # type: ignore[index]


def test_an_edited_conversation_keeps_its_turns_and_an_edited_noisy_query_is_no_pair_any_more(made: Made) -> None:
    turns = (Turn(question="Who built machine 1?", answer="Ann."),)
    changes = {
        "q001": {"history": turns, "standalone": "What did Ann build?"},
        "q003": {"original": "q004", "noise": "keyboard"},
    }
    file = made.folder / "3-queries.jsonl"
    asked = [one.model_copy(update=changes.get(one.query_id, {})) for one in RecordFile.open(file, Query)]
    RecordFile.write(file, Query, asked)
    decide(made, (EventKind.EDIT_QUERY, "q001", {"text": "What else did Ann build?"}))
    decide(made, (EventKind.EDIT_QUERY, "q003", {"text": "What then?"}))
    assert applied(made)["edited"] == 2
    dataset = read_dataset(made.folder / "dataset.json")
    assert dataset.queries["q001.v2"] == "What of matter 1?"
    assert dataset.standalone == {"q001.v2": "What else did Ann build?"}
    assert dataset.history == {"q001.v2": list(turns)}
    assert dataset.metadata["review"]["queries"]["q001.v2"]["earlier_text"] == "What did Ann build?"
    assert dataset.queries["q003.v2"] == "What then?"
    assert dataset.originals == {}
    applied(made)
    assert "q001.v3" not in read_dataset(made.folder / "dataset.json").queries


def test_a_new_version_can_be_judged_and_edited_again(made: Made) -> None:
    decide(made, (EventKind.EDIT_QUERY, "q002", {"text": "Second?"}))
    applied(made)
    decide(made, (EventKind.JUDGE, "q002.v2", {"grade": Relevance(1), "chunk_id": "c002-4"}))
    decide(made, (EventKind.EDIT_QUERY, "q002.v2", {"text": "Third?"}))
    applied(made)
    dataset = read_dataset(made.folder / "dataset.json")
    assert dataset.queries["q002.v3"] == "Third?"
    assert dataset.metadata["review"]["queries"]["q002.v3"]["earlier"] == ["q002.v2", "q002"]
    assert dataset.relevance_scores["q002.v3"]["c002-4"] == 1  # type: ignore[index]
    reviewed = load_reviewed(made.folder, None)
    assert reviewed.people == {"q002.v3": {"c002-4": 1}}
    assert reviewed.judge["q002.v3"]["c002-4"] == made.model["q002", "c002-4"]


def test_a_rejected_query_goes_with_its_reason(made: Made) -> None:
    decide(made, (EventKind.REJECT_QUERY, "q003", {"reason": BadQuery.UNREALISTIC}))
    assert applied(made)["dropped"] == {"rejected": 1}
    assert "q003" not in read_dataset(made.folder / "dataset.json").queries
    (dropped,) = RecordFile.open(made.folder / "5-rejections.jsonl", DroppedQuery)
    assert (dropped.query.query_id, dropped.filter, dropped.reason) == ("q003", "rejected", "unrealistic")
    assert all('"q003"' not in line for line in (made.folder / "4-pool.jsonl").read_text().splitlines())


def test_a_query_called_bad_stays_until_it_is_decided_or_all_such_are_to_go(made: Made) -> None:
    decide(made, (EventKind.BAD_QUERY, "q003", {"reason": BadQuery.TOO_BROAD}))
    assert applied(made)["undecided"] == 1
    assert "q003" in read_dataset(made.folder / "dataset.json").queries
    assert applied(made, reject_bad=True)["dropped"] == {"bad-query": 1}


def test_a_query_that_nothing_answers_any_more_falls_out(made: Made) -> None:
    pairs = [chunk_id for query_id, chunk_id in made.model if query_id == "q004"]
    decide(made, *((EventKind.JUDGE, "q004", {"grade": Relevance(1), "chunk_id": chunk_id}) for chunk_id in pairs))
    assert applied(made)["dropped"] == {"unanswered": 1}


def test_applying_twice_changes_nothing_more_and_never_the_ledger(made: Made) -> None:
    material, ledger = ledger_of(made.folder)
    with ledger:
        ledger.append_all(judgments(material, queue_of(material, calibration=6, complete=2)[:18], made.truth))
    decide(made, (EventKind.EDIT_QUERY, "q002", {"text": "Second?"}), (EventKind.REJECT_QUERY, "q005", {}))
    before = events_of(made.folder)
    applied(made)
    once = state_of(made.folder)
    applied(made)
    assert state_of(made.folder) == once
    assert events_of(made.folder) == before


def test_what_is_taken_back_in_the_ledger_is_taken_back_in_the_set(made: Made) -> None:
    original = read_dataset(made.folder / "dataset.json")
    edit, reject, grade = decide(
        made,
        (EventKind.EDIT_QUERY, "q002", {"text": "Second?"}),
        (EventKind.REJECT_QUERY, "q005", {}),
        (EventKind.JUDGE, "q001", GRADE),
    )
    applied(made)
    assert read_dataset(made.folder / "dataset.json").queries != original.queries
    decide(made, *((EventKind.UNDO, one.query_id, {"undoes": one.client_id}) for one in (grade, reject, edit)))
    applied(made)
    again = read_dataset(made.folder / "dataset.json")
    assert (again.queries, again.relevance_scores) == (original.queries, original.relevance_scores)


def test_a_new_folder_leaves_the_old_one_alone(made: Made, tmp_path: Path) -> None:
    decide(made, (EventKind.EDIT_QUERY, "q002", {"text": "Second?"}))
    (made.folder / "rubric.md").write_text("- 3: all of it\n", encoding="utf-8")
    before = state_of(made.folder)
    applied(made, out=tmp_path / "new")
    assert state_of(made.folder) == before
    assert GoldFolder(tmp_path / "new").rubric() == GoldFolder(made.folder).rubric() != DEFAULT
    first = state_of(tmp_path / "new")
    applied(made, out=tmp_path / "new")
    assert state_of(tmp_path / "new") == first
    applied(made)
    assert state_of(made.folder) == first


def test_an_id_that_is_taken_is_not_given_twice(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=3, pool=5)
    lines = (made.folder / "3-queries.jsonl").read_text().replace('"q001"', '"q000.v2"')
    (made.folder / "3-queries.jsonl").write_text(lines)
    decide(made, (EventKind.EDIT_QUERY, "q000", {"text": "Second?"}))
    with pytest.raises(InputError, match=r"already holds a query 'q000.v2'"):
        apply_review(made.folder, ledger=None)


def test_the_command_says_what_it_did(goldbench_inside: Goldbench, made: Made) -> None:
    decide(
        made,
        (EventKind.EDIT_QUERY, "q002", {"text": "Second?"}),
        (EventKind.JUDGE, "q002", {**GRADE, "chunk_id": "c002-1"}),
    )
    done = goldbench_inside("review", "apply", "gold")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:2] == [
        "6 queries: 0 accepted, 1 edited; left out: none",
        "30 judgments: 1 of people, 29 of the model",
    ]
    assert "an earlier wording" in done.stderr
    assert json.loads((made.folder / "dataset.json").read_text())["queries"]["q002.v2"] == "Second?"
