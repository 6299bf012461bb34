"""A store is looked at, pruned, exported and imported, whatever is in it and wherever it is told to go."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import InputError, UsageError
from goldbench.llm import upkeep
from goldbench.llm.store import AnswerStore, StoredReply
from goldbench.ports import Usage

ANSWER = {
    "kind": "answer", "key": "ab" * 32, "stage": "grade", "prompt": "grade.v1", "model": "m", "outcome": "answer",
    "reply": "{}", "message": "", "input_tokens": 3, "output_tokens": 4, "cached_tokens": 0, "usd": None,
    "created": 1.0,
}  # fmt: skip
VECTOR = {"kind": "vector", "key": "cd" * 32, "model": "m", "vector": "AACAPw==", "created": 1.0}


def _stored(text: str = "{}", **changes: Any) -> StoredReply:
    values: dict[str, Any] = {
        "stage": "grade",
        "prompt": "grade.v1",
        "model": "m",
        "outcome": "answer",
        "reply": text,
        "message": "",
        "usage": Usage(3, 4, 0, None),
    }
    return StoredReply(**{**values, **changes})


def _fill(path: Path, count: int = 3, **changes: Any) -> bytes:
    async def put() -> None:
        with AnswerStore(path) as store:
            for number in range(count):
                await store.put(bytes([number]) * 32, _stored(f"reply {number} {'x' * 200}", **changes))

    asyncio.run(put())
    return path.read_bytes()


async def test_a_store_is_reported_pruned_exported_and_imported(tmp_path: Path):
    path, other = tmp_path / "a.sqlite", tmp_path / "b.sqlite"
    with AnswerStore(path) as store:
        await store.put(b"a" * 32, _stored("one\ud83d"))
        await store.put(b"b" * 32, StoredReply("grade", "grade.v1", "m", "refusal", "", "no", Usage(1, 1)))
        await store.put_vectors("e", {b"v" * 32: b"\0" * 8})
    report = upkeep.stats(path)
    assert [(row.outcome, row.answers, row.input_tokens) for row in report.holdings] == [
        ("answer", 1, 3),
        ("refusal", 1, 1),
    ]
    assert report.vectors == {"e": 1}
    lines = list(upkeep.export_answers(path))
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    assert upkeep.import_answers(other, tmp_path / "x.jsonl") == 3
    assert upkeep.import_answers(other, tmp_path / "x.jsonl") == 0
    assert list(upkeep.export_answers(other)) == lines
    assert upkeep.prune(path, rejected=True) == 1
    assert len(list(upkeep.export_answers(path))) == 2
    assert upkeep.prune(path, model="e") == 1
    assert upkeep.prune(path, stage="grade") == 1
    assert list(upkeep.export_answers(path)) == []
    with pytest.raises(UsageError):
        upkeep.prune(path)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_an_export_onto_the_store_is_refused_and_the_store_stays(tmp_path: Path, suffix: str):
    store = tmp_path / "a.sqlite"
    before = _fill(store)
    with pytest.raises(UsageError, match="belongs to the store"):
        upkeep.write_export(store, tmp_path / f"a.sqlite{suffix}")
    assert store.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.sqlite"]


@pytest.mark.parametrize("make", [os.link, os.symlink])
def test_another_name_of_the_store_is_the_store(tmp_path: Path, make: Any):
    before = _fill(tmp_path / "a.sqlite")
    make(tmp_path / "a.sqlite", tmp_path / "x.jsonl")
    with pytest.raises(UsageError, match="belongs to the store"):
        upkeep.write_export(tmp_path / "a.sqlite", tmp_path / "x.jsonl")
    assert (tmp_path / "x.jsonl").read_bytes() == before


@pytest.mark.parametrize("out", ["folder", "/dev/null"])
def test_an_export_goes_to_a_file(tmp_path: Path, out: str):
    _fill(tmp_path / "a.sqlite")
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="not a file"):
        upkeep.write_export(tmp_path / "a.sqlite", tmp_path / out)


def test_an_export_that_fails_leaves_the_file_as_it_was(tmp_path: Path):
    path, out = tmp_path / "a.sqlite", tmp_path / "x.jsonl"
    _fill(path)
    out.write_text("an older export")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET reply = 5 WHERE key = ?", (b"\x02" * 32,))
    connection.close()
    with pytest.raises(InputError, match="store is damaged"):
        upkeep.write_export(path, out)
    assert out.read_text() == "an older export"
    assert sorted(one.name for one in tmp_path.iterdir() if "sqlite" not in one.name) == ["x.jsonl"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"input_tokens": 2**70},
        {"input_tokens": 2**53},
        {"input_tokens": "many"},
        {"input_tokens": True},
        {"output_tokens": -1},
        {"cached_tokens": 1.5},
        {"key": "ab"},
        {"key": "AB" * 32},
        {"outcome": "guessed"},
        {"outcome": None},
        {"reply": 5},
        {"stage": []},
        {"usd": -0.5},
        {"usd": float("inf")},
        {"created": "now"},
        {"another": 1},
    ],
    ids=str,
)
def test_a_wrong_value_of_an_import_is_named_and_nothing_is_added(tmp_path: Path, wrong: dict[str, Any]):
    store, source = tmp_path / "a.sqlite", tmp_path / "x.jsonl"
    source.write_text(json.dumps(ANSWER) + "\n" + json.dumps({**ANSWER, "key": "ef" * 32, **wrong}) + "\n")
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: not a line of an export"):
        upkeep.import_answers(store, source)
    assert not store.exists()
    upkeep.import_answers(store, _of(tmp_path, VECTOR))
    with pytest.raises(InputError, match="line 2"):
        upkeep.import_answers(store, source)
    assert len(list(upkeep.export_answers(store))) == 1


def _of(folder: Path, record: dict[str, Any]) -> Path:
    path = folder / "one.jsonl"
    path.write_text(json.dumps(record) + "\n")
    return path


@pytest.mark.parametrize("vector", [b"", b"abc", b"\0\0\xc0\x7f"], ids=["empty", "no float32", "nan"])
def test_a_vector_that_is_none_is_not_imported(tmp_path: Path, vector: bytes):
    line = json.dumps({**VECTOR, "vector": base64.b64encode(vector).decode()})
    (tmp_path / "x.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match="line 1"):
        upkeep.import_answers(tmp_path / "a.sqlite", tmp_path / "x.jsonl")


@pytest.mark.parametrize(
    "line",
    ["no json", "[]", '{"kind": "answer"}', '{"kind": ["x"]}', "[" * 200_000, "9" * 5000],
    ids=lambda line: line[:20],
)
def test_a_wrong_line_of_an_import_is_named_and_nothing_is_added(tmp_path: Path, line: str):
    (tmp_path / "x.jsonl").write_text(json.dumps(VECTOR) + "\n" + line + "\n")
    with pytest.raises(InputError, match="line 2"):
        upkeep.import_answers(tmp_path / "a.sqlite", tmp_path / "x.jsonl")
    assert not (tmp_path / "a.sqlite").exists()


def _damage(path: Path) -> None:
    """Write over the middle of a store, as a bad disk does; its first page stays."""
    _fill(path, 200)
    content = bytearray(path.read_bytes())
    content[5 * 4096 : -4096] = b"\xa5" * (len(content) - 6 * 4096)
    path.write_bytes(content)


@pytest.mark.parametrize("what", ["stats", "export", "import", "prune"])
def test_a_store_damaged_in_the_middle_is_told_in_one_line(tmp_path: Path, what: str):
    path, source = tmp_path / "a.sqlite", tmp_path / "x.jsonl"
    _damage(path)
    lines = [{**ANSWER, "key": f"{number:02x}" * 32} for number in range(256)]
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    jobs = {
        "stats": lambda: upkeep.stats(path),
        "export": lambda: upkeep.write_export(path, tmp_path / "y.jsonl"),
        "import": lambda: upkeep.import_answers(path, source),
        "prune": lambda: upkeep.prune(path, stage="grade"),
    }
    with pytest.raises(InputError, match=r"a\.sqlite: the answer store is damaged"):
        jobs[what]()
    assert not (tmp_path / "y.jsonl").exists()


def test_counts_whose_sum_is_beyond_all_bounds_are_still_reported(tmp_path: Path):
    _fill(tmp_path / "a.sqlite", usage=Usage(2**62, 2**62))
    assert upkeep.stats(tmp_path / "a.sqlite").holdings[0].input_tokens >= 2**63


@pytest.mark.parametrize("what", ["stats", "export", "prune"])
def test_an_empty_file_is_no_store_and_stays_empty(tmp_path: Path, what: str):
    path = tmp_path / "a.sqlite"
    path.touch()
    jobs = {
        "stats": lambda: upkeep.stats(path),
        "export": lambda: upkeep.write_export(path, tmp_path / "y.jsonl"),
        "prune": lambda: upkeep.prune(path, rejected=True),
    }
    with pytest.raises(InputError, match="not an answer store"):
        jobs[what]()
    assert [(one.name, one.stat().st_size) for one in tmp_path.iterdir()] == [("a.sqlite", 0)]
