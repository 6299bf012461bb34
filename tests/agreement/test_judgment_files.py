"""Labels of assessors in every form they come in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.agreement.judgment_files import read_labels, tell_apart
from goldbench.errors import InputError
from goldbench.records.judgment import Canary, Judgment
from goldbench.records.relevance import Relevance
from goldbench.records.review_event import Lane, Review


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def lines(path: Path, records: list) -> str:
    return write(path, "".join(record.model_dump_json(exclude_defaults=True) + "\n" for record in records))


def judgment(query: str, chunk: str, grade: int, assessor: str = "m/grade.v1", **more) -> Judgment:
    return Judgment(query_id=query, chunk_id=chunk, relevance=Relevance(grade), assessor=assessor, **more)


def test_judgments_are_read_by_assessor_and_canaries_left_out(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "4-judgments.jsonl",
        [
            judgment("q1", "a", 3),
            judgment("q1", "a", 1, "n/grade.v1"),
            judgment("q1", "b", 0),
            judgment("q1", "c", 3, canary=Canary.UNRELATED),
        ],
    )
    labels = read_labels(path)
    assert labels.raters == {"m/grade.v1": {"q1": {"a": 3, "b": 0}}, "n/grade.v1": {"q1": {"a": 1}}}
    assert labels.remarks == ["4-judgments: 1 judge check left out"]
    assert [one.canary for one in labels.planted] == [Canary.UNRELATED]
    assert read_labels(str(tmp_path)).raters == labels.raters
    assert read_labels(f"{path}@n/grade.v1").raters == {"n/grade.v1": {"q1": {"a": 1}}}


def test_judgments_by_several_rubrics_are_counted_by_rubric(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "4-judgments.jsonl",
        [judgment("q1", "a", 3, rubric="a" * 12), judgment("q1", "b", 0, rubric="b" * 12), judgment("q2", "b", 0)],
    )
    (remark,) = read_labels(path).remarks
    assert "a" * 12 in remark
    assert "b" * 12 in remark


def test_reviews_are_taken_by_their_first_grade_without_lane_b_and_with_weights(tmp_path: Path) -> None:
    common = {"query_id": "q", "annotator": "ann"}
    path = lines(
        tmp_path / "reviews.jsonl",
        [
            Review(**common, chunk_id="a", grade=3, first_grade=2, lane=Lane.CALIBRATION, inclusion=0.25),
            Review(**common, chunk_id="b", grade=1, first_grade=1, lane=Lane.ERRORS),
        ],
    )
    labels = read_labels(path)
    assert labels.raters == {"ann": {"q": {"a": 2}}}
    assert labels.weights == {"q": {"a": 4.0}}
    assert labels.remarks == ["reviews: 1 review of likely judge errors left out: not a random sample"]


def test_a_column_per_assessor_may_have_gaps(tmp_path: Path) -> None:
    path = write(tmp_path / "raters.csv", "query-id,corpus-id,ann,bob\nq,a,2,\nq,b,0,1\n")
    assert read_labels(path).raters == {"ann": {"q": {"a": 2, "b": 0}}, "bob": {"q": {"b": 1}}}
    assert read_labels(path + "@bob").name == "bob"


def test_a_column_of_assessors_parts_the_grades(tmp_path: Path) -> None:
    path = write(tmp_path / "long.tsv", "query_id\tdoc_id\trater\tgrade\nq\ta\tann\t3\nq\ta\tbob\t1\n")
    assert read_labels(path).raters == {"ann": {"q": {"a": 3}}, "bob": {"q": {"a": 1}}}


def test_qrels_beir_and_parquet_hold_one_assessor(tmp_path: Path) -> None:
    import polars as pl

    trec = write(tmp_path / "nist.qrels.txt", "q 0 a 3\nq 0 b -1\n")
    beir = write(tmp_path / "test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n")
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [2]}).write_parquet(tmp_path / "g.parquet")
    assert read_labels(trec).raters == {"nist": {"q": {"a": 3, "b": -1}}}
    assert read_labels(beir).raters == {"test": {"q": {"a": 1}}}
    assert read_labels(str(tmp_path / "g.parquet")).raters == {"g": {"q": {"a": 2}}}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", '{"query_id": "q", "chunk_id": "c", "relevance": 2.5}\n', "line 1: has no relevance"),
        ("a.jsonl", '{"query_id": "q", "chunk_id": "c"}\n', "line 1: has no relevance"),
        ("a.jsonl", '{"query_id": "q", "relevance": 2}\n', "line 1: has no chunk_id"),
        ("a.jsonl", "[1]\n", "line 1: is not a JSON object"),
        ("a.jsonl", "[" * 100_000 + "\n", "line 1: is not valid JSON"),
        (
            "a.jsonl",
            '{"query_id":"q","chunk_id":"c","relevance":1}\n' * 2,
            "line 2: a graded 'c' for query 'q' already",
        ),
        ("a.jsonl", '{"client_id": "x", "kind": "judge"}\n', "line 1: is a ledger of acts"),
        ("a.jsonl", "", "holds no judgment"),
        ("a.csv", "query-id,corpus-id,ann\nq,a,good\n", "line 2: row 1: column 'ann' does not hold a whole number"),
        ("a.csv", "query-id,corpus-id,ann\nq,a,nan\n", "line 2: row 1: column 'ann' does not hold a whole number"),
        ("a.csv", "query-id,corpus-id,ann\nq,a,1\nq,a,1\n", "line 3: row 2: ann graded 'a' for query 'q' already"),
        ("a.csv", "query-id,corpus-id,ann\n,a,1\n", "line 2: row 1: an id is empty"),
        ("a.csv", "query-id,corpus-id,ann,ann\nq,a,1,2\n", "line 1: two columns have the same name"),
        ("a.csv", "query-id,corpus-id,ann\nq,a\n", "holds no judgment"),
        ("a.csv", "query-id,corpus-id,ann\nq,a,1,2\n", "is not a table in CSV"),
        ("a.csv", "corpus-id,ann\na,1\n", "has no column query_id"),
        ("a.csv", 'query-id,corpus-id,ann\n"q,a,1\n', "is not a table in CSV"),
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_labels(write(tmp_path / name, text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_assessor_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = write(tmp_path / "raters.csv", "query-id,corpus-id,ann,bob\nq,a,2,1\n")
    with pytest.raises(InputError, match="has no assessor 'eve'; it has ann, bob"):
        read_labels(path + "@eve")


def test_a_name_with_an_at_sign_is_still_a_file(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path / "a@b.txt", "q 0 d 1\n")).raters == {"a@b": {"q": {"d": 1}}}


def test_json_of_the_scorer_is_read_as_labels_too(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", json.dumps({"q": {"a": 2, "b": 0}}))
    assert read_labels(path).raters == {"d": {"q": {"a": 2, "b": 0}}}


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (("a/docs.tsv", "b/docs.tsv"), ("a/docs.tsv", "b/docs.tsv")),
        (("a/docs.tsv", "a/docs.csv"), ("docs.tsv", "docs.csv")),
        (("a/docs.tsv", "a/docs.tsv"), ("docs (first)", "docs (second)")),
        (("a/1.jsonl@m", "b/2.jsonl@m"), ("m (1.jsonl)", "m (2.jsonl)")),
        (("a/docs.tsv", "b/2.jsonl@m"), ("docs", "m")),
    ],
)
def test_labels_of_one_name_are_told_apart_by_their_places(
    tmp_path: Path, given: tuple[str, str], names: tuple[str, str]
) -> None:
    for folder, number in (("a", 1), ("b", 2)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "docs.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n")
        write(tmp_path / folder / "docs.csv", "query_id,doc_id,grade\nq,d,1\n")
        lines(tmp_path / folder / f"{number}.jsonl", [judgment("q", "d", 1, "m")])
    one, other = (read_labels(str(tmp_path / path)) for path in given)
    tell_apart(one, other)
    assert (one.name, other.name) == names
