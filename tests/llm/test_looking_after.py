"""A store is looked at and pruned, whatever is in it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from goldbench.errors import InputError, UsageError
from goldbench.llm import upkeep
from goldbench.llm.store import AnswerStore, StoredReply
from goldbench.ports import Usage


def _stored(text: str, outcome: str = "answer") -> StoredReply:
    return StoredReply("grade", "grade.v1", "m", outcome, text, "", Usage(3, 4, 0, None))


async def test_a_store_is_reported_and_pruned(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    with AnswerStore(path) as store:
        await store.put(b"a" * 32, _stored("one\ud83d"))
        await store.put(b"b" * 32, _stored("", "refusal"))
        await store.put_vectors("e", {b"v" * 32: b"\0" * 8})
    report = upkeep.stats(path)
    assert [(row.outcome, row.answers, row.input_tokens) for row in report.holdings] == [
        ("answer", 1, 3),
        ("refusal", 1, 3),
    ]
    assert report.vectors == {"e": 1}
    assert upkeep.prune(path, rejected=True) == 1
    assert upkeep.prune(path, model="e") == 1
    assert upkeep.prune(path, stage="grade") == 1
    assert not upkeep.stats(path).holdings
    with pytest.raises(UsageError):
        upkeep.prune(path)


def _damage(path: Path) -> None:
    """Write over the middle of a store, as a bad disk does; its first page stays."""

    async def fill() -> None:
        with AnswerStore(path) as store:
            for number in range(200):
                await store.put(bytes([number]) * 32, _stored(f"reply {number} {'x' * 200}"))

    asyncio.run(fill())
    content = bytearray(path.read_bytes())
    content[5 * 4096 : -4096] = b"\xa5" * (len(content) - 6 * 4096)
    path.write_bytes(content)


def test_a_store_damaged_in_the_middle_is_told_in_one_line(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    _damage(path)
    for job in (upkeep.stats, lambda path: upkeep.prune(path, stage="grade")):
        with pytest.raises(InputError, match=r"a\.sqlite: the answer store is damaged"):
            job(path)


def test_an_empty_file_is_no_store_and_stays_empty(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    path.touch()
    with pytest.raises(InputError, match="not an answer store"):
        upkeep.prune(path, stage="grade")
    assert [(file.name, file.stat().st_size) for file in tmp_path.iterdir()] == [("a.sqlite", 0)]
