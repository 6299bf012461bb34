"""A store is looked at and pruned, whatever is in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import InputError, UsageError
from goldbench.llm import upkeep
from goldbench.llm.store import AnswerStore, StoredReply
from goldbench.ports import Usage


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


async def test_a_store_is_reported_and_pruned(tmp_path: Path):
    path = tmp_path / "a.sqlite"
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
    assert upkeep.prune(path, rejected=True) == 1
    assert upkeep.prune(path, model="e") == 1
    assert upkeep.prune(path, stage="grade") == 1
    assert not upkeep.stats(path).holdings
    with pytest.raises(UsageError):
        upkeep.prune(path)


def _damage(path: Path) -> None:
    """Write over the middle of a store, as a bad disk does; its first page stays."""
    _fill(path, 200)
    content = bytearray(path.read_bytes())
    content[5 * 4096 : -4096] = b"\xa5" * (len(content) - 6 * 4096)
    path.write_bytes(content)


JOBS: dict[str, Callable[[Path], object]] = {
    "stats": upkeep.stats,
    "prune": lambda path: upkeep.prune(path, stage="grade"),
}


@pytest.mark.parametrize("what", JOBS)
def test_a_store_damaged_in_the_middle_is_told_in_one_line(tmp_path: Path, what: str):
    path = tmp_path / "a.sqlite"
    _damage(path)
    with pytest.raises(InputError, match=r"a\.sqlite: the answer store is damaged"):
        JOBS[what](path)


def test_counts_whose_sum_is_beyond_all_bounds_are_still_reported(tmp_path: Path):
    _fill(tmp_path / "a.sqlite", usage=Usage(2**62, 2**62))
    assert upkeep.stats(tmp_path / "a.sqlite").holdings[0].input_tokens >= 2**63


@pytest.mark.parametrize("what", JOBS)
def test_an_empty_file_is_no_store_and_stays_empty(tmp_path: Path, what: str):
    path = tmp_path / "a.sqlite"
    path.touch()
    with pytest.raises(InputError, match="not an answer store"):
        JOBS[what](path)
    assert [(file.name, file.stat().st_size) for file in tmp_path.iterdir()] == [("a.sqlite", 0)]
