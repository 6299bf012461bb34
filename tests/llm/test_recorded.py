"""Answers are kept before they are used, are never paid twice, and survive everything."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from goldbench.errors import AnswerRejected, InputError, ModelUnavailable, OutputError
from goldbench.llm.calls import request_key
from goldbench.llm.store import AnswerStore, StoredReply
from goldbench.ports import Usage
from tests.conftest import IMPORT_PATH, posix
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle

ROOT = Path(__file__).resolve().parents[2]


def _stored(text: str = "{}") -> StoredReply:
    return StoredReply("grade", "grade.v1", "m", "answer", text, "", Usage(3, 4, 0, None))


async def test_an_answer_is_paid_once(open_path: Opener, model_server: ServerHandle):
    async with open_path() as path:
        first = await path.complete(verdict_request())
    async with open_path() as path:
        again = await path.complete(verdict_request())
        books = path.usage()["grade"]
    assert again.answer == first.answer
    assert again.replayed
    assert (books.requests, books.replayed, books.input_tokens) == (0, 1, 0)
    assert model_server.stats()["requests"] == 1


async def test_the_same_question_asked_at_once_is_sent_once(open_path: Opener, model_server: ServerHandle):
    model_server.script(latency_ms=30)
    async with open_path() as path:
        answers = await asyncio.gather(*(path.complete(verdict_request()) for _ in range(20)))
    assert model_server.stats()["requests"] == 1
    assert len({answer.answer for answer in answers}) == 1
    assert sum(answer.replayed for answer in answers) == 19


@pytest.mark.parametrize("reply", ["wrong-json", "refusal"])
async def test_a_rejected_reply_that_was_paid_for_is_kept(open_path: Opener, model_server: ServerHandle, reply: str):
    model_server.script({"do": {"reply": reply}})
    outcomes = []
    for _ in range(2):
        async with open_path() as path:
            with pytest.raises(AnswerRejected) as caught:
                await path.complete(verdict_request())
            outcomes.append((caught.value.kind, str(caught.value)))
    assert outcomes[0] == outcomes[1]
    assert model_server.stats()["requests"] <= 2


async def test_a_failed_call_is_asked_again_by_the_next_run(open_path: Opener, model_server: ServerHandle):
    model_server.script({"when": {"first": 1}, "do": {"reply": "empty-choices"}})
    async with open_path() as path:
        with pytest.raises(AnswerRejected):
            await path.complete(verdict_request())
        await path.complete(verdict_request())


async def test_a_replay_asks_nobody(open_path: Opener, model_server: ServerHandle):
    async with open_path() as path:
        answer = await path.complete(verdict_request())
    model_server.down()
    async with open_path(replay=True) as path:
        assert (await path.complete(verdict_request())).answer == answer.answer
        with pytest.raises(ModelUnavailable, match=r"grade: the store has no answer [0-9a-f]{12}"):
            await path.complete(verdict_request(1))


def test_everything_that_shapes_an_answer_is_in_its_key():
    changes = [
        {}, {"system": "x"}, {"user": "x"}, {"temperature": 0.5}, {"max_tokens": 7}, {"variant": 1},
        {"prompt": "grade.v2"}, {"examples": (("a question", "its reply"),)},
    ]  # fmt: skip
    keys = {request_key(verdict_request(0, **change), model="m") for change in changes}
    keys.add(request_key(verdict_request(0), model="other"))
    assert len(keys) == len(changes) + 1
    assert request_key(verdict_request(0, stage="elsewhere"), model="m") == request_key(verdict_request(0), model="m")


async def test_text_with_lone_surrogates_is_kept_and_comes_back(tmp_path: Path):
    with AnswerStore(tmp_path / "a.sqlite") as store:
        await store.put(b"k" * 32, _stored("a\ud83d\x00b"))
        found = await store.find(b"k" * 32)
    assert found is not None
    assert found.reply == "a\ud83d\x00b"


_KILLED = """
import asyncio, sys
from pathlib import Path
from goldbench.llm.model_path import open_model
from goldbench.llm.server_settings import ModelSettings
from goldbench.llm.store import AnswerStore
from tests.llm.conftest import verdict_request

async def main():
    settings = ModelSettings(name="test-model", base_url=sys.argv[1], concurrency=4)
    with AnswerStore(Path(sys.argv[2])) as store:
        async with open_model(settings, answers=store) as path:
            async def one(number):
                await path.complete(verdict_request(number))
                print(number, flush=True)
            await asyncio.gather(*(one(number) for number in range(int(sys.argv[3]))))
            print(sum(row.replayed for row in path.usage().values()), "replayed")

asyncio.run(main())
"""


def _build(server: ServerHandle, store: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _KILLED, server.base_url, str(store), str(count)]
    environment = {**os.environ, "PYTHONPATH": IMPORT_PATH}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@posix
def test_an_answer_that_was_used_survives_kill_9(model_server: ServerHandle, tmp_path: Path):
    model_server.script(latency_ms=10)
    process = _build(model_server, tmp_path / "a.sqlite", 60)
    assert process.stdout
    used = [int(process.stdout.readline()) for _ in range(5)]
    process.send_signal(signal.SIGKILL)
    used += [int(line) for line in process.stdout.read().split()]
    process.wait()
    model_server.reset()
    again = _build(model_server, tmp_path / "a.sqlite", 60)
    out, _ = again.communicate(timeout=250)
    assert int(out.split()[-2]) >= len(used)
    assert model_server.stats()["requests"] <= 60 - len(used)
    process.stdout.close()


def test_a_file_that_is_no_store_is_told_in_one_line(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(InputError, match="not an answer store") as caught, AnswerStore(path):
        pass
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == b"this is no database" * 100


def test_a_store_of_a_newer_goldbench_is_left_alone(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    with AnswerStore(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError, match="version 99"), AnswerStore(path):
        pass


async def test_a_full_disk_is_an_error_for_who_waits_and_nobody_hangs(tmp_path: Path):
    with AnswerStore(tmp_path / "a.sqlite") as store:
        await store.transact(lambda connection: connection.execute("PRAGMA max_page_count = 30"))
        with pytest.raises(OutputError, match="full"):
            await asyncio.wait_for(store.put(b"k" * 32, _stored("x" * 10**6)), 10)
        await asyncio.wait_for(store.put(b"l" * 32, _stored("small")), 10)


async def test_a_store_that_is_removed_while_in_use_is_noticed(
    open_path: Opener, model_server: ServerHandle, tmp_path: Path
):
    store = tmp_path / "answers.sqlite"
    async with open_path() as path:
        await path.complete(verdict_request(0))
        store.unlink()
        with pytest.raises(OutputError, match="was removed or replaced while in use"):
            await path.complete(verdict_request(1))
    assert model_server.stats()["requests"] <= 2
