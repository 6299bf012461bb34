"""Users' logs of other programs: columns, counts, exports of User Behavior Insights, and lines that are no query."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import InputError, UsageError
from goldbench.formats.query_logs import Log, read_log, read_names


def search(query_id: str, text: str, **more: Any) -> dict[str, Any]:
    """Return a record of ubi_queries as OpenSearch stores it."""
    return {
        "query_id": query_id,
        "user_query": text,
        "client_id": "browser-1",
        "timestamp": "2026-01-05T08:00:00Z",
        "query_response_id": f"{query_id}-r",
        "query_response_hit_ids": ["1", "2"],
        "query": '{"query":{"match":{"text":"as the engine was asked"}}}',
        "query_attributes": {},
        **more,
    }


def event(query_id: str, action: str, object_id: object) -> dict[str, Any]:
    """Return a record of ubi_events as OpenSearch stores it."""
    return {
        "query_id": query_id,
        "action_name": action,
        "client_id": "browser-1",
        "timestamp": "2026-01-05T08:00:05Z",
        "event_attributes": {"object": {"object_id": object_id}, "position": {"ordinal": 1}},
    }


def counts(log: Log) -> dict[str, int]:
    return {query.text: query.count for query in log.queries.values()}


def written(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


SEARCHES = [search("a", "pump starts"), search("b", "Pump  starts?"), search("c", "seal"), search("a", "pump starts")]


@pytest.mark.parametrize("shape", ["records", "hits", "bulk", "response", "array", "table"])
def test_searches_of_user_behavior_insights_are_read_from_every_export(tmp_path: Path, shape: str) -> None:
    hits = [{"_index": "ubi_queries", "_id": str(position), "_source": row} for position, row in enumerate(SEARCHES)]
    action = {"index": {"_index": "ubi_queries", "_id": "1"}}
    if shape == "response":
        path = tmp_path / "response.json"
        path.write_text(json.dumps({"took": 3, "hits": {"total": {"value": 4}, "hits": hits}}, indent=2), "utf-8")
    elif shape == "array":
        path = tmp_path / "array.json"
        path.write_text(json.dumps(SEARCHES, indent=2), "utf-8")
    elif shape == "table":
        path = tmp_path / "ubi_queries.csv"
        rows = "\n".join(f"{row['query_id']},shop,{row['user_query']}" for row in SEARCHES)
        path.write_text(f"query_id,query,user_query\n{rows}\n", "utf-8")
    else:
        rows = {"records": SEARCHES, "hits": hits, "bulk": [one for row in SEARCHES for one in (action, row)]}[shape]
        path = written(tmp_path / "ubi.ndjson", *rows)
    log = read_log(path)
    assert counts(log) == {"pump starts": 2, "seal": 1}  # the second page of search "a" is not another search
    assert dict(log.passed_over) == {"same-search": 1}


def test_events_among_the_searches_are_no_queries(tmp_path: Path) -> None:
    path = written(tmp_path / "both.ndjson", event("a", "click", "p1"), SEARCHES[0], event("a", "on_search", 7))
    log = read_log(path)
    assert (counts(log), log.passed_over["event"]) == ({"pump starts": 1}, 2)
    with pytest.raises(InputError, match="holds events and no search; give the export of ubi_queries"):
        read_log(written(tmp_path / "events.ndjson", event("a", "click", "p1")))


def test_a_column_of_counts_says_how_often_a_query_was_asked(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query,Count\npump,12\nPUMP,3\nseal,1\nlamp,0\ncrank,many\nvalve,-4\nfilter,\nlong," + "9" * 5000)
    log = read_log(path)
    assert counts(log) == {"pump": 15, "seal": 1}
    assert log.passed_over["no-count"] == 5
    assert log.lines == 16
    rows = written(
        tmp_path / "log.jsonl", {"q": "pump", "frequency": 4}, {"q": "seal"}, {"q": "lamp", "frequency": True}
    )
    assert counts(read_log(rows)) == {"pump": 4, "seal": 1}


def test_a_named_column_of_counts_must_be_there(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("query,asked\npump,12\n")
    assert counts(read_log(path)) == {"pump": 1}
    assert counts(read_log(path, counts="asked")) == {"pump": 12}
    with pytest.raises(UsageError, match=r"--count-column hits: \S*log\.csv has no such column"):
        read_log(path, counts="hits")
    with pytest.raises(UsageError, match=r"--count-column n: no object of .* has a count there"):
        read_log(written(tmp_path / "log.jsonl", {"q": "pump"}), counts="n")
    (tmp_path / "log.txt").write_text("pump\n")
    with pytest.raises(UsageError, match=r"--count-column n: .* is text with one query per line"):
        read_log(tmp_path / "log.txt", counts="n")


def test_hostile_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    lines = [
        json.dumps(search("a", "pump")).encode(),
        b"[" * 100_000,
        b'{"user_query": "half a',
        b"\xff\xfe\x00",
        json.dumps(search("b", "x" * 50_000)).encode(),
        json.dumps(search("c", "\u0000\u200b \u202e")).encode(),
        b'{"user_query": {"nested": 1}, "query_id": "d"}',
        b'{"hits": {"hits": [1, null, {"_source": "text"}]}}',
        b"17",
        json.dumps({"hits": {"hits": [{"_source": search("e", "seal")}]}}).encode(),
    ]
    path = tmp_path / "log.ndjson.gz"
    path.write_bytes(gzip.compress(b"\n".join(lines)))
    log = read_log(path)
    assert counts(log) == {"pump": 1, "seal": 1}
    assert log.passed_over == {"malformed": 3, "not-utf-8": 1, "too-long": 1, "no-words": 1, "no-query": 2}


def test_a_file_of_one_value_that_is_not_json_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"q": "pump"}\n{"q": "seal"}\n')
    with pytest.raises(InputError, match=r"is not valid JSON; name a file with one object per line \.jsonl"):
        read_log(path)


def test_names_are_read_one_per_line(tmp_path: Path) -> None:
    path = tmp_path / "names.txt"
    path.write_text("\ufeffAnna Berg\n\n  Özil \n", "utf-8")
    assert read_names(path) == ["Anna Berg", "Özil"]
    path.write_text(" \n")
    with pytest.raises(InputError, match="holds no name; give a file with one name per line"):
        read_names(path)
