"""Judgments on their way to other tools and back, format by format, whatever people and documents write."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldbench.errors import InputError
from goldbench.formats.annotations import argilla, judgment_table, label_studio, settled_qrels
from goldbench.formats.annotations.exchange import Exchange, Given, objects
from goldbench.prompts.rubric import Rubric
from goldbench.records.query import Turn
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Lane, Review
from goldbench.text.asked_query import SEVERAL, AskedQuery

HOSTILE = [
    "=1+1",
    "+x",
    "-x",
    "@x",
    "\tx",
    "\rx",
    "'=x",
    "''@x",
    'a "b"\r\nc,d',
    "\u2028",
    "<script>",
    "\N{RIGHT-TO-LEFT OVERRIDE}",
    "x\0y",
]
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=("Cs",)), max_size=30))
GRADE = st.sampled_from(Relevance)
NAMES = st.text(st.characters(categories=("L", "N", "S", "P")), min_size=1, max_size=12)


def reviews() -> st.SearchStrategy[list[Review]]:
    one = st.builds(
        Review,
        query_id=st.sampled_from(["q1", "q=2"]),
        chunk_id=st.sampled_from(["c1", "@c2"]),
        annotator=NAMES,
        grade=GRADE,
        first_grade=GRADE,
        lane=st.sampled_from([None, *Lane]),
        inclusion=st.sampled_from([None, 0.1, 1 / 3]),
        evidence=TEXT,
        note=TEXT,
        ms=st.one_of(st.none(), st.integers(0, 10**6)),
        revealed=st.booleans(),
        highlights=st.booleans(),
    )
    return st.lists(one, max_size=6, unique_by=lambda r: (r.query_id, r.chunk_id, r.annotator)).map(
        lambda found: sorted(found, key=lambda r: (r.query_id, r.chunk_id, r.annotator))
    )


RULES = Rubric.of("- 3: all of it")


def exchange(
    said: list[Review], *, model: bool = False, text: str = "words", asked: dict[str, AskedQuery] | None = None
) -> Exchange:
    pairs = [(q, c) for q in ("q1", "q=2") for c in ("@c2", "c1")]
    return Exchange(
        queries={"q1": text, "q=2": "two"},
        passages={"c1": text, "@c2": "other"},
        pairs=pairs,
        reviews=said,
        adjudicated={("q1", "c1"): ("carl", Relevance.HELPS)},
        gold={"q1": {"c1": Relevance.HELPS, "@c2": Relevance.UNRELATED}},
        rubric=RULES,
        data_sha="d" * 64,
        model=dict.fromkeys(pairs, ("m/grade.v1", Relevance.ANSWERS)) if model else {},
        asked=asked or {},
    )


def conversation(text: str) -> dict[str, AskedQuery]:
    """A query that needs two earlier turns and several passages, and a noisy one."""
    turns = (Turn(question=text, answer=text), Turn(question="and then?"))
    return {
        "q1": AskedQuery(text, turns, standalone=f"{text} of Ann", several=True),
        "q=2": AskedQuery("two", original=text),
    }


def through(text: str, read: Callable[[Path], object]) -> list[Given]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "file"
        file.write_bytes(text.encode())
        return list(read(file))  # type: ignore[call-overload]


def written(form: str, said: Exchange) -> str:
    if form == "csv":
        return judgment_table.write(said)
    if form == "argilla":
        return argilla.write(said)["records.jsonl"]
    return label_studio.write(said)["tasks.json"]


READ = {"csv": judgment_table.read, "argilla": argilla.read, "label-studio": label_studio.read}


@pytest.mark.parametrize("form", READ)
@settings(max_examples=40)
@given(said=reviews(), text=TEXT)
def test_what_is_written_is_read_again(form: str, said: list[Review], text: str) -> None:
    found = through(written(form, exchange(said, text=text)), READ[form])
    asked = through(written(form, exchange(said, text=text, asked=conversation(text))), READ[form])
    assert [replace(one, line=0) for one in asked] == [replace(one, line=0) for one in found]
    back = sorted(
        (one.review for one in found if one.kind == "judge"), key=lambda r: (r.query_id, r.chunk_id, r.annotator)
    )
    assert back == said
    (decided,) = [one for one in found if one.kind == "adjudicate"]
    assert (decided.review.annotator, decided.review.grade) == ("carl", Relevance.HELPS)
    assert {one.rubric_sha for one in found if one.kind == "judge"} <= {RULES.sha}


@given(st.text(max_size=20))
def test_a_cell_made_safe_is_restored_exactly(cell: str) -> None:
    assert judgment_table.unsafe(judgment_table.safe(cell)) == cell
    assert judgment_table.safe(cell)[:1] not in set("=+-@\t\r") or not cell


@pytest.mark.parametrize("cell", [text for text in HOSTILE if text[0] in "=+-@\t\r"])
def test_no_cell_is_a_formula(cell: str) -> None:
    review = Review(
        query_id="q1", chunk_id="c1", annotator=cell, grade=Relevance(1), first_grade=Relevance(1), note=cell
    )
    rows = list(csv.reader(io.StringIO(judgment_table.write(exchange([review], text=cell)), newline=""), strict=True))
    assert all(not value.startswith(tuple("=+-@\t\r")) for row in rows for value in row)
    assert rows[1][rows[0].index("note")] == f"'{cell}"


def test_people_elsewhere_read_the_conversation_and_judge_its_stand_alone_form() -> None:
    review = Review(query_id="q1", chunk_id="c1", annotator="a", grade=Relevance(1), first_grade=Relevance(1))
    given = exchange([review], asked=conversation("=Who <b>built</b> it?"))
    built = "=Who <b>built</b> it?"
    turns = f"Person: {built}\nAssistant: {built}\nPerson: and then?\nPerson: {built}"
    (row,) = [
        one for one in csv.DictReader(io.StringIO(judgment_table.write(given), newline="")) if one["kind"] == "judge"
    ]
    shown = (row["query"], row["conversation"], row["hint"], row["original"])
    assert shown == ("'=Who <b>built</b> it? of Ann", turns, SEVERAL, "")
    records = [json.loads(line) for line in argilla.write(given)["records.jsonl"].splitlines()]
    fields = {record["metadata"]["query_id"]: record["fields"] for record in records}
    assert fields["q1"]["query"] == "=Who <b>built</b> it? of Ann"
    assert (fields["q1"]["conversation"], fields["q1"]["hint"]) == (turns, SEVERAL)
    assert fields["q=2"]["original"] == "=Who <b>built</b> it?"
    assert "conversation" not in fields["q=2"]
    settings = json.loads(argilla.write(given)["settings.json"])["fields"]
    assert [(setting["name"], setting["required"]) for setting in settings] == [
        ("conversation", False), ("original", False), ("hint", False), ("query", True), ("passage", True),
    ]  # fmt: skip
    files = label_studio.write(given)
    shown_there = [one.get("value") for one in ET.fromstring(files["config.xml"]).iter("Text")]
    assert shown_there == ["$conversation", "$original", "$hint", "$query", "$passage"]
    data = {task["data"]["query_id"]: task["data"] for task in json.loads(files["tasks.json"])}
    assert data["q1"]["conversation"] == turns
    assert data["q=2"]["conversation"] == ""


@pytest.mark.parametrize("form", READ)
def test_a_models_grades_are_there_only_when_asked_for(form: str) -> None:
    without, with_them = (written(form, exchange([], model=model)) for model in (False, True))
    assert "m/grade.v1" not in without
    assert "model_grade" not in without
    assert not json.loads(without.splitlines()[0])["suggestions"] if form == "argilla" else True
    assert "predictions" not in without
    assert {"csv": "model_grade", "argilla": '"agent": "m/grade.v1"', "label-studio": '"predictions"'}[
        form
    ] in with_them


def test_argilla_finds_records_and_settings_as_it_writes_them_itself() -> None:
    review = Review(query_id="q1", chunk_id="c1", annotator="ann", grade=Relevance(2), first_grade=Relevance(2))
    files = argilla.write(exchange([review]))
    records = [json.loads(line) for line in files["records.jsonl"].splitlines()]
    assert len(records) == 4
    for record in records:
        assert set(record) == {"id", "fields", "metadata", "suggestions", "responses", "vectors"}
        UUID(record["id"])
        assert set(record["fields"]) == {"query", "passage"}
    (response,) = next(r for r in records if r["responses"]["grade"])["responses"]["grade"]
    assert response == {"value": 2, "user_id": str(UUID(response["user_id"]))}
    made = json.loads(files["settings.json"])
    assert made["questions"][0]["settings"] == {"type": "rating", "options": [{"value": n} for n in range(4)]}
    assert made["distribution"] == {"strategy": "overlap", "min_submitted": 1}
    assert [field["settings"]["type"] for field in made["fields"]] == ["text", "text"]
    assert RULES.text in made["guidelines"]


def test_the_page_of_label_studio_has_the_digit_as_key() -> None:
    page = ET.fromstring(label_studio.config(RULES))
    choices = list(page.iter("Choice"))
    assert [(choice.get("alias"), choice.get("hotkey")) for choice in choices] == [(n, n) for n in "3210"]
    names = {tag.get("name"): tag.get("value") for tag in page.iter("Text")}
    assert names == {"query": "$query", "passage": "$passage"}
    assert next(page.iter("Choices")).get("toName") == "passage"


def test_an_answer_given_in_argilla_counts_without_what_goldbench_knew_before() -> None:
    said = Review(
        query_id="q1", chunk_id="c1", annotator="ann", grade=Relevance(2), first_grade=Relevance(2), lane=Lane.ERRORS
    )
    records = [json.loads(line) for line in argilla.write(exchange([said]))["records.jsonl"].splitlines()]
    record = next(r for r in records if r["responses"]["grade"])
    record["metadata"]["goldbench"] = json.dumps(json.loads(record["metadata"]["goldbench"]) | {"adjudicated": None})
    record["responses"]["grade"][0]["value"] = 0
    record["responses"]["grade"] += [
        {"value": 3, "user_id": "12345678-1234-1234-1234-123456789abc", "status": "submitted"},
        {"value": 1, "user_id": "22345678-1234-1234-1234-123456789abc", "status": "draft"},
    ]
    found = through(json.dumps([record], indent=1), argilla.read)
    assert [(one.review.annotator, int(one.review.grade), one.review.lane) for one in found] == [
        ("ann", 0, None),
        ("argilla-12345678", 3, None),
    ]


def test_an_annotation_made_in_label_studio_counts() -> None:
    tasks = json.loads(label_studio.write(exchange([]))["tasks.json"])
    task = next(t for t in tasks if t["data"]["query_id"] == "q=2")
    label = {"from_name": "grade", "to_name": "passage", "type": "choices", "value": {"choices": ["3"]}}
    note = {"from_name": "note", "to_name": "passage", "type": "textarea", "value": {"text": ["why", "so"]}}
    task["annotations"] = [
        {"id": 5, "completed_by": 7, "lead_time": 2.5, "was_cancelled": False, "result": [label, note]},
        {"id": 6, "completed_by": {"email": "a@b.org"}, "was_cancelled": False, "result": [label]},
        {"id": 7, "completed_by": 8, "was_cancelled": True, "result": []},
    ]
    found = through(json.dumps([task]), label_studio.read)
    assert [(one.review.annotator, int(one.review.grade), one.review.ms, one.review.note) for one in found] == [
        ("label-studio-7", 3, 2500, "why\nso"),
        ("a@b.org", 3, None, ""),
    ]


def test_judgments_of_the_field_hold_zeros(tmp_path: Path) -> None:
    trec = settled_qrels.write_trec(exchange([]))
    assert trec == "q1 0 @c2 0\nq1 0 c1 2\n"
    (tmp_path / "q.txt").write_text(trec)
    (tmp_path / "q.txt.about.json").write_text(settled_qrels.about(exchange([])))
    found = list(settled_qrels.read_trec(tmp_path / "q.txt", annotator="ann"))
    assert [(one.review.chunk_id, int(one.review.grade), one.rubric_sha) for one in found] == [
        ("@c2", 0, RULES.sha),
        ("c1", 2, RULES.sha),
    ]


WRONG = {
    "a grade of 7": ("csv", "query_id,chunk_id,annotator,grade\r\nq1,c1,a,2\r\nq1,c1,b,7\r\n", 3, "none of 0, 1, 2, 3"),
    "a short row": ("csv", 'query_id,chunk_id,annotator,grade\nq1,c1,"a\nb",2\nq1,c1\n', 4, "has 2 cells"),
    "an open quote": (
        "csv",
        'query_id,chunk_id,annotator,grade\nq1,c1,"a,2\n',
        2,
        "is malformed in the record beginning here",
    ),
    "no grades": ("csv", "query_id,chunk_id\n", 1, "no column annotator, grade"),
    "a column twice": ("csv", "query_id,chunk_id,annotator,grade,grade\n", 1, "names a column twice"),
    "nothing": ("csv", "", None, "is empty"),
    "a bad probability": ("csv", "query_id,chunk_id,annotator,grade,inclusion\nq1,c1,a,2,x\n", 2, "inclusion"),
    "an id with white space": ("csv", "query_id,chunk_id,annotator,grade\nq 1,c1,a,2\n", 2, "query_id"),
    "no JSON": ("argilla", '{"metadata": {}}\n{"metadata": \n', 2, "is not valid JSON"),
    "no object": ("argilla", "[1]", 1, "is not a JSON object"),
    "a list cut short": ("argilla", '[{"metadata": {}},\n', 2, "ends before its list does"),
    "words after a list": ("argilla", '[{"metadata": {}}]\nx', 1, "goes on after"),
    "no metadata": ("argilla", "{}", 1, "no metadata"),
    "other responses": ("argilla", '{"metadata": {}, "responses": {"grade": 3}}', 1, "not a list of objects"),
    "spoiled metadata": ("argilla", '{"metadata": {"goldbench": "{"}}', 1, "differs from what was written"),
    "two grades": (
        "label-studio",
        '[{"data": {}, "annotations": [{"result": [{"from_name": "grade", "value": {"choices": ["1", "2"]}}]}]}]',
        1,
        "does not have exactly one grade",
    ),
    "no result": ("label-studio", '[\n{"data": {}, "annotations": [{}]}]', 2, "has no result"),
    "deep nesting": ("label-studio", '[{"data": ' + "[" * 100_000, 1, "is not valid JSON"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_malformed_is_named_with_its_line(case: str, tmp_path: Path) -> None:
    form, text, line, reason = WRONG[case]
    (tmp_path / "file").write_text(text, newline="")
    with pytest.raises(InputError, match=reason) as caught:
        list(READ[form](tmp_path / "file"))
    assert caught.value.line == line


@pytest.mark.parametrize("text", ["q1 0 c1\n", "q1 0 c1 9\n", "q1 0 c1 2 x\n"])
def test_a_line_that_is_no_judgment_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("q1 0 c0 0\n" + text)
    with pytest.raises(InputError, match="line 2"):
        list(settled_qrels.read_trec(tmp_path / "file", annotator="a"))


def test_bytes_that_are_no_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"query_id,chunk_id,annotator,grade\nq1,c1,\xff,2\n")
    with pytest.raises(InputError, match="line 2: is not UTF-8"):
        list(judgment_table.read(tmp_path / "file"))


def test_a_mark_before_utf8_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfquery_id,chunk_id,annotator,grade\nq1,c1,a,2\n")
    assert len(list(judgment_table.read(tmp_path / "file"))) == 1


@given(
    st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3), max_size=5),
    st.sampled_from([None, 1]),
)
def test_objects_are_found_in_a_list_and_one_after_the_other(found: list[dict[str, str]], indent: int | None) -> None:
    for text in (json.dumps(found, indent=indent), "\n".join(json.dumps(one, indent=indent) for one in found)):
        assert [one for _, one in through(text, objects)] == found  # type: ignore[misc]


@pytest.mark.parametrize("form", ["csv", "argilla", "label-studio"])
def test_people_who_judge_get_reference_answers_without_the_passage_they_came_from(form: str) -> None:
    answer = {"text": "=a reference", "evidence": [{"quote": "the quote", "chunk_id": "c1"}]}
    said = [Review(query_id="q1", chunk_id="c1", annotator="ann", grade=Relevance.HELPS, first_grade=Relevance.HELPS)]
    plain, given = exchange(said), replace(exchange(said), answers={"q1": answer})
    text = written(form, given)
    assert "=a reference" in text
    assert "the quote" not in text
    assert "answer" not in written(form, plain)
    assert [one.review for one in through(text, READ[form])] == [
        one.review for one in through(written(form, plain), READ[form])
    ]
