"""``goldbench review export`` and ``import``: the same state after a way there and back, all of a file or nothing."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from goldbench.errors import InputError, OutputError, UsageError
from goldbench.formats.annotations.judgment_table import safe, unsafe
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import BadQuery, EventKind, Lane
from goldbench.review.exports import Format, export
from goldbench.review.imports import import_file
from goldbench.review.ledger import Ledger
from goldbench.review.people import load_reviewed
from goldbench.review.reviewable_set import ReviewableSet
from goldbench.review.state import State, fold
from tests.conftest import Goldbench
from tests.review.made_set import Made, event, judgments, ledger_of, make_set, only, queue_of

AT = "2026-02-02T00:00:00+00:00"
FORMATS: dict[Format, str] = {
    "native": "out.jsonl",
    "csv": "out.csv",
    "trec": "out.txt",
    "argilla": "out",
    "label-studio": "out",
}


@pytest.fixture
def made(base: Made, tmp_path: Path) -> Made:
    """A copy of that set."""
    shutil.copytree(base.folder, tmp_path / "gold")
    return replace(base, folder=tmp_path / "gold")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A set on which two people disagree here and there, take back, look again, see the model's grade and decide."""
    made = make_set(tmp_path_factory.mktemp("exchange") / "gold", queries=8, pool=5)
    material, ledger = ledger_of(made.folder)
    items = queue_of(material, calibration=12, complete=2)
    with ledger:
        mine = ledger.append_all(judgments(material, items[:30], made.truth, slips=0.3))
        ledger.append_all(judgments(material, items[:10], made.truth, annotator="=bob,", slips=0.5, seed=2))
        last = mine[-1]
        seen = only(items[:30], Lane.ERRORS)[0]
        values = {"chunk_id": seen.chunk_id, "lane": Lane.ERRORS, "note": '=SUM("a")\nb', "evidence": "-Passage"}
        before = next(e for e in mine if (e.query_id, e.chunk_id) == seen.pair)
        changed = Relevance((int(before.grade or 0) + 1) % 4)
        ledger.append_all(
            [
                event(material, EventKind.UNDO, last.query_id, chunk_id=last.chunk_id, undoes=last.client_id),
                event(material, EventKind.JUDGE, seen.query_id, grade=changed, revealed=True, **values),
                event(material, EventKind.ADJUDICATE, "q001", chunk_id="c001-1", grade=Relevance(2), annotator="carl"),
                event(material, EventKind.CANNOT, "q003", chunk_id="c003-2", annotator="carl"),
                event(material, EventKind.BAD_QUERY, "q004", reason=BadQuery.UNCLEAR),
                event(material, EventKind.EDIT_QUERY, "q005", text="Otherwise?"),
            ]
        )
    return made


def again(made: Made, name: str) -> tuple[ReviewableSet, Ledger]:
    return ledger_of(made.folder, made.folder.parent / name)


def said(state: State) -> tuple[object, ...]:
    return state.reviews(), state.adjudicated(), state.disagreements()


@pytest.mark.parametrize("form", ["native", "csv", "argilla", "label-studio"])
def test_a_ledger_is_the_same_after_a_way_there_and_back(made: Made, form: Format, tmp_path: Path) -> None:
    reviewed = load_reviewed(made.folder, None)
    written = export(reviewed, form, tmp_path / FORMATS[form])
    material, ledger = again(made, "new.sqlite")
    with ledger:
        done = import_file(tmp_path / FORMATS[form], form, material=material, ledger=ledger, at=AT)
        state = fold(ledger.events())
        assert said(state) == said(reviewed.state)
        assert done.new >= done.read > 30
        twice = import_file(tmp_path / FORMATS[form], form, material=material, ledger=ledger, at="2027-01-01T00:00:00Z")
        assert (twice.read, twice.new) == (done.read, 0)
        assert fold(ledger.events()).seq == state.seq
    with ledger_of(made.folder)[1] as own:
        assert import_file(tmp_path / FORMATS[form], form, material=material, ledger=own, at=AT).new == 0
    (tmp_path / "again").mkdir()
    copies = export(reviewed, form, tmp_path / "again" / FORMATS[form])
    assert [path.read_bytes() for path in copies] == [path.read_bytes() for path in written]
    assert any(review.first_grade != review.grade and review.revealed for review in state.reviews())
    if form == "native":
        assert state.query_verdicts()["q005"].text == "Otherwise?"
        assert state.bad_queries() == reviewed.state.bad_queries()
        assert state.cannot() == reviewed.state.cannot() != set()


def test_settled_grades_are_the_same_after_a_way_there_and_back(made: Made, tmp_path: Path) -> None:
    reviewed = load_reviewed(made.folder, None)
    file = tmp_path / "out.txt"
    export(reviewed, "trec", file)
    material, ledger = again(made, "new.sqlite")
    with ledger:
        with pytest.raises(UsageError, match="give --annotator NAME"):
            import_file(file, "trec", material=material, ledger=ledger, at=AT)
        import_file(file, "trec", material=material, ledger=ledger, at=AT, annotator="all")
        assert fold(ledger.events()).gold() == reviewed.state.gold()
        assert any(grade == 0 for grades in reviewed.state.gold().values() for grade in grades.values())


@pytest.mark.parametrize("form", ["csv", "label-studio"])
def test_a_judgment_names_the_rubric_that_it_was_made_by_wherever_it_goes(
    made: Made, form: Format, tmp_path: Path
) -> None:
    before = {review.rubric_sha for review in load_reviewed(made.folder, None).state.reviews()}
    (made.folder / "rubric.md").write_text("- 3: all of it", encoding="utf-8")
    export(load_reviewed(made.folder, None), form, tmp_path / FORMATS[form])
    material, ledger = again(made, "new.sqlite")
    with ledger:
        import_file(tmp_path / FORMATS[form], form, material=material, ledger=ledger, at=AT)
        stored = {one.rubric_sha for one in ledger.events() if one.kind is EventKind.JUDGE}
    assert stored == before != {material.rubric.sha}


def test_of_a_file_with_one_bad_line_nothing_is_taken_in(made: Made, tmp_path: Path) -> None:
    (path,) = export(load_reviewed(made.folder, None), "csv", tmp_path / "out.csv")
    lines = path.read_bytes().decode().split("\r\n")
    place = next(number for number, line in enumerate(lines) if ",q001," in line and number > 3)
    lines[place] = lines[place].replace(",q001,", ",q9,", 1)
    path.write_bytes("\r\n".join(lines).encode())
    material, ledger = again(made, "new.sqlite")
    with ledger:
        with pytest.raises(InputError, match="names a query that is not in the data set") as caught:
            import_file(path, "csv", material=material, ledger=ledger, at=AT)
        assert caught.value.line == "\r\n".join(lines[: place + 1]).count("\n") + 1
        assert ledger.events() == []


def test_a_pair_judged_twice_in_a_file_by_the_same_person_is_refused(made: Made, tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("query_id,chunk_id,annotator,grade\nq001,c001-0,a,2\nq001,c001-0,a,3\n")
    material, ledger = again(made, "new.sqlite")
    with ledger:
        with pytest.raises(InputError, match=r"line 3: judges the same pair as line 2"):
            import_file(tmp_path / "f.csv", "csv", material=material, ledger=ledger, at=AT)
        assert ledger.events() == []


def test_events_of_another_set_are_refused_without_their_texts_and_kept_with_them(made: Made, tmp_path: Path) -> None:
    export(load_reviewed(made.folder, None), "native", tmp_path / "out.jsonl")
    other = make_set(tmp_path / "other", queries=8, pool=5, seed=5)
    text = (other.folder / "dataset.json").read_text().replace("matter", "subject")
    (other.folder / "dataset.json").write_text(text)
    material, ledger = ledger_of(other.folder)
    with ledger:
        whole = (tmp_path / "out.jsonl").read_text()
        lines = [line for line in whole.splitlines() if not line.startswith('{"texts"')]
        (tmp_path / "bare.jsonl").write_text("\n".join(lines))
        with pytest.raises(InputError, match="line 2: belongs to another data set"):
            import_file(tmp_path / "bare.jsonl", "native", material=material, ledger=ledger, at=AT)
        assert ledger.events() == []
        import_file(tmp_path / "out.jsonl", "native", material=material, ledger=ledger, at=AT)
        assert len(ledger.events()) == len(lines) - 1


def test_nothing_is_written_into_the_set_or_over_other_files(made: Made, tmp_path: Path) -> None:
    reviewed = load_reviewed(made.folder, None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    for form, out, reason in (
        ("csv", made.folder / "x.csv", "lies in the data set"),
        ("csv", tmp_path / "mine" / ".." / "gold" / "dataset.json", "lies in the data set"),
        ("csv", tmp_path / "mine", "is a folder"),
        ("argilla", made.folder / "beir", "lies in the data set"),
        ("argilla", tmp_path / "mine", "holds files of something else"),
        ("argilla", tmp_path / "mine" / "letter.txt", "is a file"),
    ):
        with pytest.raises(OutputError, match=reason):
            export(reviewed, form, out)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold", "mine"]


def test_the_commands_export_and_import(goldbench_inside: Goldbench, made: Made, tmp_path: Path) -> None:
    done = goldbench_inside(
        "review", "export", "gold", "--format", "label-studio", "--out", "ls", "--with-model-labels"
    )
    assert done.returncode == 0, done.stderr
    tasks = json.loads((tmp_path / "ls" / "tasks.json").read_text())
    assert len(tasks) == 40
    assert all(task["predictions"][0]["model_version"] == "m/grade.v1" for task in tasks)
    (tmp_path / "bad.csv").write_text("query_id,chunk_id,annotator,grade\nq001,c001-0,a,9\n")
    done = goldbench_inside("review", "import", "gold", "bad.csv", "--format", "csv")
    assert (done.returncode, done.stderr) == (2, "goldbench: bad.csv, line 2: the grade is none of 0, 1, 2, 3\n")


def test_a_set_nobody_has_judged_can_go_to_another_tool(tmp_path: Path) -> None:
    made = make_set(tmp_path / "gold", queries=3, pool=5)
    export(load_reviewed(made.folder, None, create=True), "argilla", tmp_path / "out", wanted=2)
    records = [json.loads(line) for line in (tmp_path / "out" / "records.jsonl").read_text().splitlines()]
    assert len(records) == 15
    assert all(record["responses"]["grade"] == [] and record["suggestions"] == {} for record in records)
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["distribution"]["min_submitted"] == 2


def test_a_conflict_in_a_file_of_events_is_told_with_its_line(made: Made, tmp_path: Path) -> None:
    (path,) = export(load_reviewed(made.folder, None), "native", tmp_path / "out.jsonl")
    lines = path.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if '"kind":"judge"' in line)
    other = json.loads(lines[place])
    other["grade"] = (other["grade"] + 1) % 4
    path.write_text("\n".join([*lines, json.dumps(other)]) + "\n")
    material, ledger = again(made, "new.sqlite")
    with ledger:
        with pytest.raises(InputError, match=f"line {len(lines) + 1}"):
            import_file(path, "native", material=material, ledger=ledger, at=AT)
        assert ledger.events() == []


@pytest.mark.parametrize("cell", ["\n=1", "＝1", "'＝1"])
def test_every_beginning_of_a_formula_is_made_harmless(cell: str) -> None:
    assert safe(cell) == f"'{cell}"
    assert unsafe(safe(cell)) == cell
