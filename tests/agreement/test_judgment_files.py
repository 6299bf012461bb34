"""Labels of assessors in every form they come in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldbench.agreement.judgment_files import read_labels
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


def test_judgments_count_as_their_rounded_mean_and_canaries_are_left_out(tmp_path: Path) -> None:
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
    assert labels.grades == {"q1": {"a": 2, "b": 0}}
    assert labels.remarks == ["4-judgments: 1 judge check left out"]
    assert [one.canary for one in labels.planted] == [Canary.UNRELATED]
    assert read_labels(str(tmp_path)).grades == labels.grades


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
    assert labels.grades == {"q": {"a": 2}}
    assert labels.weights == {"q": {"a": 4.0}}
    assert labels.remarks == ["reviews: 1 review of likely judge errors left out: not a random sample"]


def test_qrels_beir_and_parquet_are_read_as_by_the_scorer(tmp_path: Path) -> None:
    import polars as pl

    trec = write(tmp_path / "nist.qrels.txt", "q 0 a 3\nq 0 b -1\n")
    beir = write(tmp_path / "test.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n")
    pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [2]}).write_parquet(tmp_path / "g.parquet")
    assert read_labels(trec).grades == {"q": {"a": 3, "b": -1}}
    assert read_labels(beir).grades == {"q": {"a": 1}}
    assert read_labels(str(tmp_path / "g.parquet")).grades == {"q": {"a": 2}}


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
    ],
)
def test_what_cannot_be_read_is_named_in_one_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read_labels(write(tmp_path / name, text))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_json_of_the_scorer_is_read_as_labels_too(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", json.dumps({"q": {"a": 2, "b": 0}}))
    assert read_labels(path).grades == {"q": {"a": 2, "b": 0}}
