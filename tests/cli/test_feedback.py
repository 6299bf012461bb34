"""``goldbench feedback``: clicks and thumbs counted by pair, in a file of their own, what matches nothing named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.pipeline.cli import app
from goldbench.pipeline.errors import GoldbenchError, InputError
from goldbench.pipeline.formats.feedback_files import Vote, gather, read_votes
from tests.conftest import Goldbench

QUERIES = {"q1": "Who is she?", "q2": "why"}
CHUNKS = {"c1": "one", "c2": "two"}
VOTES = "query,chunk_id,vote\nwho is SHE,c1,+1\nq1,c1,-1\nWho is she?,c2,1\nq2,c9,1\n???,c1,1\n"
ROWS = st.tuples(st.sampled_from(["q1", "why", "no"]), st.sampled_from(["c1", "c9"]), st.sampled_from([1, -1]))


@pytest.fixture
def goldbench(goldbench_inside: Goldbench) -> Goldbench:
    return goldbench_inside


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    data = {"queries": QUERIES, "corpus": CHUNKS, "relevant_docs": {"q1": ["c1"], "q2": ["c2"]}, "mode": "text"}
    (tmp_path / "dataset.json").write_text(json.dumps(data))
    return tmp_path


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_votes_are_counted_by_pair_and_the_judgments_stay_as_they_are(goldbench: Goldbench, gold: Path) -> None:
    before = (gold / "dataset.json").read_bytes()
    (gold / "f.csv").write_text(
        "query,chunk_id,vote\nwho is SHE,c1,+1\nq1,c1,-1\nWho is she?,c2,1\nq2,c9,1\n???,c1,1\n"
    )
    done = goldbench("feedback", "dataset.json", "f.csv", "--out", "fb/feedback.jsonl")
    assert done.returncode == 0, done.stderr
    assert rows(gold / "fb" / "feedback.jsonl") == [
        {"query_id": "q1", "chunk_id": "c1", "positive": 1, "negative": 1},
        {"query_id": "q1", "chunk_id": "c2", "positive": 1, "negative": 0},
    ]
    assert "3 of 5 rows kept" in done.stdout
    assert "line 5: c9" in done.stderr
    assert "line 6: ???" in done.stderr
    assert (gold / "dataset.json").read_bytes() == before


def test_a_malformed_line_is_named_and_what_was_there_stays(gold: Path) -> None:
    (gold / "feedback.jsonl").write_text('{"query_id":"q1","chunk_id":"c1","positive":1,"negative":0}\n')
    (gold / "f.csv").write_text("query,chunk_id,vote\nq1,c1,+1\nq1,c1,maybe\n")
    files = [str(gold / name) for name in ("dataset.json", "f.csv")]
    with pytest.raises(InputError, match=r"f\.csv, line 3: the vote is 'maybe'"):
        app.command_line()(["feedback", *files, "--out", str(gold / "feedback.jsonl")], standalone_mode=False)
    assert rows(gold / "feedback.jsonl")[0]["positive"] == 1


def test_a_file_that_is_about_nothing_in_the_set_is_refused_and_leaves_what_was_there(gold: Path) -> None:
    (gold / "feedback.jsonl").write_text('{"query_id":"q1","chunk_id":"c1","positive":1,"negative":0}\n')
    (gold / "f.csv").write_text("query,chunk_id,vote\nnobody asked,c1,+1\nq1,c77,-1\n")
    files = [str(gold / name) for name in ("dataset.json", "f.csv")]
    with pytest.raises(InputError, match=r"f\.csv: no row is about a query and a passage of .*nothing was written"):
        app.command_line()(["feedback", *files, "--out", str(gold / "feedback.jsonl")], standalone_mode=False)
    assert rows(gold / "feedback.jsonl")[0]["positive"] == 1


def test_a_file_with_something_else_is_not_written_over(gold: Path) -> None:
    (gold / "f.csv").write_text("q1,c1,1\n")
    before = (gold / "dataset.json").read_bytes()
    arguments = [str(gold / name) for name in ("dataset.json", "f.csv")]
    for out in ("dataset.json", "f.csv"):
        with pytest.raises(GoldbenchError, match="give another --out"):
            app.command_line()(["feedback", *arguments, "--out", str(gold / out)], standalone_mode=False)
    assert (gold / "dataset.json").read_bytes() == before


FORMS = {
    "f.csv": "query,chunk_id,vote\nwhy,c1,+1\nwhy,c2,-1\n",
    "bare.csv": "why,c1,+1\nwhy,c2,-1\n",
    "other.csv": "vote,doc_id,time,question\n+1,c1,9,why\n-1,c2,9,why\n",
    "f.tsv": "query\tchunk_id\tvote\nwhy\tc1\tup\nwhy\tc2\tdown\n",
    "f.jsonl": '{"query": "why", "chunk_id": "c1", "value": 1}\n\n{"query": "why", "chunk_id": "c2", "value": -1.0}\n',
}


@pytest.mark.parametrize("name", FORMS)
def test_the_same_votes_are_read_from_every_form_packed_or_not(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMS[name])
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(FORMS[name].encode()))
    for path in (tmp_path / name, tmp_path / f"{name}.gz"):
        assert [vote[:3] for vote in read_votes(path)] == [("why", "c1", 1), ("why", "c2", -1)]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("f.csv", b"query,chunk_id,vote\nwhy,c1\n", "line 2: has 2 fields"),
        ("f.csv", b"query,chunk_id,vote\n,c1,1\n", "line 2: names no query"),
        ("f.csv", b"query,chunk_id,vote\nwhy,,1\n", "line 2: names no passage"),
        ("f.csv", b"query,chunk_id,vote\nwhy,c1,0\n", "line 2: the vote is '0'"),
        ("f.csv", b'query,chunk_id,vote\n"why,c1,1\n', "line 2: is malformed"),
        ("f.csv", b"why,c1,1\nwhy,\xff,1\n", "line 2: is not UTF-8"),
        ("f.csv", b"one,two\n", "line 1: is neither"),
        ("f.jsonl", b'{"query": "why", "chunk_id": "c1", "vote": true}\n', "line 1: the vote is 'True'"),
        ("f.jsonl", b'{"query": "why", "chunk_id": "c1", "vote": 1}\n{]\n', "line 2: is not valid JSON"),
        ("f.jsonl", b"[1]\n", "line 1: is not a JSON object"),
        ("f.jsonl", b'{"query": 3, "chunk_id": "c1", "vote": 1}\n', "line 1: names no query"),
    ],
)
def test_whatever_is_malformed_is_named_by_its_line(tmp_path: Path, name: str, text: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError) as refused:
        list(read_votes(tmp_path / name))
    assert says in str(refused.value)


@given(
    st.lists(st.tuples(st.sampled_from(["q1", "why", "no"]), st.sampled_from(["c1", "c9"]), st.sampled_from([1, -1])))
)
def test_no_vote_is_lost_and_order_plays_no_part(given_votes: list[tuple[str, str, int]]) -> None:
    votes = [Vote(*vote, line) for line, vote in enumerate(given_votes, 1)]
    found = gather(iter(votes), QUERIES, CHUNKS)
    assert found.rows == len(votes)
    counted = sum(one.positive + one.negative for one in found.feedback)
    assert counted + len(found.unmatched) + len(found.unknown) == len(votes)
    assert gather(reversed(votes), QUERIES, CHUNKS).feedback == found.feedback
