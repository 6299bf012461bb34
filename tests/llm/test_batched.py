"""Questions in batches: gathered, sent once, found again by another process, asked again where nothing came."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from goldbench.errors import CallFailed, LimitReached, ModelUnavailable
from goldbench.llm import batch
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from tests.conftest import IMPORT_PATH, SETTINGS, posix
from tests.generate.test_build import artifacts, corpus
from tests.llm.conftest import verdict_request
from tests.model_server.fixture import ServerHandle


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "QUIET_S", 0.05)


@contextlib.asynccontextmanager
async def batches(
    server: ServerHandle, folder: Path, *, said: asyncio.Queue[str] | None = None, **settings: Any
) -> AsyncIterator[ModelPath]:
    chosen = ModelSettings(name="test-model", base_url=server.base_url, **settings)
    with AnswerStore(folder / "answers.sqlite") as answers:
        announce = (asyncio.Queue() if said is None else said).put_nowait
        async with open_model(chosen, answers=answers, batch=announce) as path:
            yield path


async def ask(path: ModelPath, *numbers: int) -> list[Any]:
    return await asyncio.gather(*(path.complete(verdict_request(n)) for n in numbers), return_exceptions=True)


def sent(server: ServerHandle) -> tuple[int, int]:
    """Return how many batches the server has had since its start and how many lines since the last reset."""
    with urllib.request.urlopen(f"{server.base_url}/batches", timeout=60) as response:
        count = response.read().count(b'"object": "batch"')
    return count, server.stats()["by_kind"].get("batch-line", 0)


async def test_questions_that_come_together_are_one_batch_at_half_the_price(model_server: ServerHandle, tmp_path: Path):
    before, _ = sent(model_server)
    async with batches(model_server, tmp_path, usd_per_million_input=1e6, usd_per_million_output=1e6) as path:
        found = await ask(path, *range(5))
        usage = path.usage()["grade"]
    assert [answer.replayed for answer in found] == [False] * 5
    assert sent(model_server) == (before + 1, 5)
    stats = model_server.stats()
    assert stats["requests"] == 0
    assert usage.requests == 5
    assert usage.usd == (stats["input_tokens"] + stats["output_tokens"]) / 2
    async with batches(model_server, tmp_path) as path:
        assert [answer.replayed for answer in await ask(path, *range(5))] == [True] * 5


async def test_the_missing_lines_of_an_expired_batch_are_asked_again_a_few_times(
    model_server: ServerHandle, tmp_path: Path
):
    model_server.script(batch_s=0.05, batch_end="expired")
    async with batches(model_server, tmp_path) as path:
        found = await ask(path, *range(8))
    failed = [one for one in found if isinstance(one, CallFailed)]
    assert len(failed) == 1  # 8, then 4, then 2 lines were asked, half of them answered
    assert failed[0].attempts == 3
    assert model_server.stats()["paid_twice"] == 0
    model_server.script()
    async with batches(model_server, tmp_path) as path:
        found = await ask(path, *range(8))
    assert not [one for one in found if isinstance(one, Exception)]


async def test_batches_that_fail_end_the_run_and_nothing_is_lost(model_server: ServerHandle, tmp_path: Path):
    model_server.script(batch_s=0.05, batch_end="failed")
    async with batches(model_server, tmp_path) as path:
        found = await ask(path, 1, 2)
    assert [type(one) for one in found] == [ModelUnavailable] * 2
    model_server.script(batch_s=0.05)
    async with batches(model_server, tmp_path) as path:
        assert not [one for one in await ask(path, 1, 2) if isinstance(one, Exception)]


async def test_a_line_that_fails_takes_no_other_with_it(model_server: ServerHandle, tmp_path: Path):
    model_server.script(
        {"when": {"kind": "batch-line", "contains": "number 1."}, "do": {"status": 413}},
        {"when": {"kind": "batch-line", "contains": "number 2.", "times": 1}, "do": {"status": 503}},
        batch_s=0.05,
    )
    async with batches(model_server, tmp_path) as path:
        found = await ask(path, 0, 1, 2)
    assert found[0].answer.reason
    assert isinstance(found[1], CallFailed)
    assert found[1].kind == "http-413"
    assert found[2].answer.reason


async def test_what_a_server_does_not_take_is_learnt_from_the_lines_it_refuses(
    model_server: ServerHandle, tmp_path: Path
):
    model_server.script(json_schema=False, batch_s=0.05)
    before, _ = sent(model_server)
    async with batches(model_server, tmp_path) as path:
        assert not [one for one in await ask(path, 1, 2, 3) if isinstance(one, Exception)]
        assert not [one for one in await ask(path, 4) if isinstance(one, Exception)]
    assert sent(model_server)[0] == before + 3


async def test_a_cap_counts_lines_before_they_are_sent(model_server: ServerHandle, tmp_path: Path):
    async with batches(model_server, tmp_path, max_requests=3) as path:
        found = await ask(path, *range(5))
    assert [type(one) for one in found[3:]] == [LimitReached] * 2
    assert sent(model_server)[1] == 3


async def test_a_batch_whose_id_was_never_written_down_is_found_by_its_token(
    model_server: ServerHandle, tmp_path: Path
):
    model_server.script(batch_s=1)
    said: asyncio.Queue[str] = asyncio.Queue()
    async with batches(model_server, tmp_path, said=said) as path:
        asking = asyncio.create_task(ask(path, 1, 2))
        await said.get()
        asking.cancel()
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as connection, connection:
        connection.execute("UPDATE batches SET batch_id = NULL")
    async with batches(model_server, tmp_path) as path:
        assert not [one for one in await ask(path, 1, 2) if isinstance(one, Exception)]
    assert model_server.stats()["by_kind"]["batch-line"] == 2


def started(folder: Path, *command: object) -> subprocess.Popen[str]:
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return subprocess.Popen(
        [sys.executable, "-m", "goldbench", *map(str, command)],
        cwd=folder,
        env={**kept, "PYTHONPATH": IMPORT_PATH},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_sent(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if "sent as a batch" in line:
            return
    pytest.fail("no batch was sent")


@pytest.mark.slow
@posix
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_another_process_picks_up_the_batch_of_one_that_is_gone(how: str, model_server: ServerHandle, tmp_path: Path):
    corpus(tmp_path / "docs")
    model_server.script(batch_s=2)
    command = ("build", "docs", "--queries", 8, "--base-url", model_server.base_url, "--model", "m")
    first = started(tmp_path, *command, "--out", "run", "--batch")
    until_sent(first)
    first.send_signal(signal.Signals[how])
    _, messages = first.communicate(timeout=100)
    if how == "SIGINT":
        assert first.returncode == 130
        assert "the same command fetches them" in messages
    assert not (tmp_path / "run" / "dataset.json").exists()
    time.sleep(1)
    second = started(tmp_path, *command, "--out", "run", "--batch")
    _, messages = second.communicate(timeout=100)
    assert second.returncode == 0, messages
    assert "of an earlier run" in messages
    assert model_server.stats()["by_kind"]["batch-line"] == 8
    third = started(tmp_path, *command, "--out", "single", "--answers", "other.sqlite")
    third.communicate(timeout=100)
    assert artifacts(tmp_path / "run") == artifacts(tmp_path / "single")
