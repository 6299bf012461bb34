"""``goldbench feedback``: clicks and thumbs counted by pair, in a file of their own, what matches nothing named."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldbench.cli import app
from goldbench.errors import GoldbenchError, InputError
from goldbench.formats.feedback_files import Vote, gather, read_votes
from goldbench.formats.packed_files import Source
from tests.conftest import Goldbench
from tests.formats.test_query_logs import event, search

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
        assert [vote[:3] for vote in read_votes(Source(path))] == [("why", "c1", 1), ("why", "c2", -1)]


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
        list(read_votes(Source(tmp_path / name)))
    assert says in str(refused.value)


EVENTS = [
    event("s1", "click", "c1"),
    event("s1", "click", "c1"),
    event("s2", "purchase", "c1"),
    event("s2", "thumbs_down", "c2"),
    event("s1", "impression", "c2"),
    event("s3", "click", "c1"),
    event("s9", "click", "c1"),
    {"action_name": "login", "timestamp": "2026-01-05T08:00:05Z"},
    event("s2", "click", 77),
]
SEARCHES = [search("s1", "who is SHE"), search("s2", "why"), search("s3", "call anna on 0170 123456")]
TOLD = {
    "events for or against no result (views, impressions and other actions): 1",
    "events that name no search or no result: 1",
    "events of a search that is not in the export: 1",
    "repeated events of one search on one result: 1",
    "clicks and votes on queries that are not in the gold set: 1",
    "1 row whose passage is not in the gold set:",
    "  line 9: 77",
}


def lines(path: Path, found: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in found), "utf-8")


@pytest.mark.parametrize("form", ["apart", "hits", "together", "table"])
def test_clicks_of_user_behavior_insights_are_joined_with_their_searches(
    goldbench: Goldbench, gold: Path, form: str
) -> None:
    more: tuple[str, ...] = ("--searches", "searches.ndjson")
    name = "events.ndjson"
    lines(gold / "searches.ndjson", SEARCHES)
    lines(gold / name, EVENTS)
    if form == "hits":
        lines(gold / name, [{"_index": "ubi_events", "_source": row} for row in EVENTS])
    elif form == "together":
        lines(gold / name, [*EVENTS, *({"hits": {"hits": [{"_source": row}]}} for row in SEARCHES)])
        more = ()
    elif form == "table":
        name = "events.csv"
        cells = [(row.get("query_id", ""), row["action_name"], _object(row)) for row in EVENTS]
        text = "\n".join(",".join(row) for row in cells)
        (gold / name).write_text(f"query_id,action_name,event_attributes.object.object_id\n{text}\n")
    done = goldbench("feedback", "dataset.json", name, *more, "--out", "feedback.jsonl")
    assert done.returncode == 0, done.stderr
    assert rows(gold / "feedback.jsonl") == [
        {"query_id": "q1", "chunk_id": "c1", "positive": 1, "negative": 0},
        {"query_id": "q2", "chunk_id": "c1", "positive": 1, "negative": 0},
        {"query_id": "q2", "chunk_id": "c2", "positive": 0, "negative": 1},
    ]
    told = set(done.stderr.splitlines())
    assert told == {line.replace("line 9", "line 10") if form == "table" else line for line in TOLD}
    assert "anna" not in done.stderr + done.stdout


def _object(row: dict[str, Any]) -> str:
    return str(row.get("event_attributes", {}).get("object", {}).get("object_id", ""))


def test_events_without_their_searches_say_what_is_missing(goldbench: Goldbench, gold: Path) -> None:
    lines(gold / "events.ndjson", EVENTS)
    (gold / "f.csv").write_text(VOTES)
    done = goldbench("feedback", "dataset.json", "events.ndjson", "--out", "feedback.jsonl")
    assert done.returncode != 0
    assert "holds no search with its text; name the export of ubi_queries with --searches" in done.stderr
    done = goldbench("feedback", "dataset.json", "f.csv", "--searches", "events.ndjson", "--out", "feedback.jsonl")
    assert "--searches events.ndjson: f.csv holds no events of User Behavior Insights" in done.stderr
    assert not (gold / "feedback.jsonl").exists()


def test_feedback_from_a_pipe_is_read_whole(goldbench: Goldbench, gold: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"who is SHE,c1,+1\nwhy,c2,-1\n")
    os.close(writing)
    done = goldbench("feedback", "dataset.json", f"/dev/fd/{reading}", "--out", "feedback.jsonl")
    os.close(reading)
    assert "2 of 2 rows kept" in done.stdout, done.stderr


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
