"""Servers that fail for a while, for good, and in mid-sentence."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from goldbench.errors import CallFailed, LimitReached, ModelUnavailable
from tests.llm.conftest import Opener, comes_about, verdict_request
from tests.model_server.fixture import ServerHandle


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 429},
        {"status": 503},
        {"connection": "refuse"},
        {"connection": "half"},
        {"connection": "garbage"},
        {"status": 200, "body": "<html>not JSON</html>"},
    ],
    ids=str,
)
async def test_a_passing_fault_is_tried_again(open_path: Opener, model_server: ServerHandle, fault: dict[str, Any]):
    model_server.script({"when": {"nth": [1]}, "do": fault})
    async with open_path() as path:
        await path.complete(verdict_request())
    assert model_server.stats()["requests"] == 2


@pytest.mark.parametrize("status", [400, 413])
async def test_other_refusals_are_not_tried_again(open_path: Opener, model_server: ServerHandle, status: int):
    async with open_path() as path:
        await path.complete(verdict_request(0))
        model_server.script({"do": {"status": status}})
        with pytest.raises(CallFailed) as caught:
            await path.complete(verdict_request(1))
    assert caught.value.kind == f"http-{status}"
    assert model_server.stats()["requests"] == 2


async def test_the_server_says_when_to_come_back(open_path: Opener, model_server: ServerHandle):
    model_server.script({"when": {"nth": [1]}, "do": {"status": 429, "headers": {"retry-after-ms": "700"}}})
    start = time.monotonic()
    async with open_path() as path:
        await path.complete(verdict_request())
    assert 0.7 <= time.monotonic() - start < 10


@pytest.mark.parametrize(("fault", "kind"), [({"status": 500}, "http-500"), ({"connection": "refuse"}, "connection")])
async def test_spent_retries_fail_one_call_and_not_the_others(
    open_path: Opener, model_server: ServerHandle, fault: dict[str, Any], kind: str
):
    model_server.script({"when": {"contains": "number 1."}, "do": fault})
    async with open_path(max_attempts=3) as path:
        await path.complete(verdict_request(0))
        with pytest.raises(CallFailed) as caught:
            await path.complete(verdict_request(1))
        await path.complete(verdict_request(2))
    assert (caught.value.kind, caught.value.attempts) == (kind, 3)
    assert model_server.stats()["requests"] == 5


async def test_a_server_that_asks_to_wait_for_long_gets_no_other_call(open_path: Opener, model_server: ServerHandle):
    model_server.script({"do": {"status": 429, "headers": {"retry-after": "99999"}}})
    async with open_path() as path:
        with pytest.raises(CallFailed):
            await path.complete(verdict_request(0))
        with pytest.raises(ModelUnavailable, match=r"asks to wait 99,999 s"):
            await path.complete(verdict_request(1))
    assert model_server.stats()["requests"] == 1


async def test_a_call_takes_no_longer_than_its_timeout(open_path: Opener, model_server: ServerHandle):
    model_server.script({"do": {"slow_body_ms": 20000}})
    start = time.monotonic()
    async with open_path(timeout_seconds=0.3, max_attempts=2) as path:
        with pytest.raises(CallFailed) as caught:
            await path.complete(verdict_request())
    assert caught.value.kind == "timeout"
    assert time.monotonic() - start < 15


@pytest.mark.slow
async def test_a_server_that_works_slowly_is_waited_for_ever_longer_and_never_called_down(
    open_path: Opener, model_server: ServerHandle
):
    model_server.script(tokens_per_s=25, slots=1)
    async with open_path(first_timeout_s=0.4, never_reached_s=0.1) as path:
        answers = await asyncio.gather(*(path.complete(verdict_request(n)) for n in range(4)))
        assert not path.snapshot().server_gone
        assert path.gate.timeout_s > 1
    assert len(answers) == 4


async def test_a_server_that_accepts_calls_and_answers_none_is_said_to_be_slow_not_down(
    open_path: Opener, model_server: ServerHandle
):
    model_server.script({"do": {"hang": True}})
    async with open_path(first_timeout_s=0.05, never_reached_s=0.1) as path:
        with pytest.raises(CallFailed, match=r"no answer came within 0.4 s \(4 attempts\)"):
            await path.complete(verdict_request(0))
        with pytest.raises(ModelUnavailable, match="accepts calls, but answered none within") as caught:
            await path.complete(verdict_request(1))
    assert "start it" not in str(caught.value)


@pytest.mark.slow
async def test_a_server_that_is_down_for_a_while_delays_and_changes_nothing(
    open_path: Opener, model_server: ServerHandle
):
    model_server.script(latency_ms=200)
    async with open_path(concurrency=8) as path:
        await path.complete(verdict_request(0))
        calls = asyncio.gather(*(path.complete(verdict_request(n)) for n in range(1, 60)))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(model_server.down)
        await asyncio.sleep(2)
        await comes_about(lambda: path.snapshot().server_gone)
        assert "server is gone" in path.snapshot().line()
        await asyncio.to_thread(model_server.up)
        answers = await calls
    assert len(answers) == 59
    assert model_server.stats()["paid_twice"] == 0


async def test_a_server_that_is_gone_for_good_ends_the_run_in_time(open_path: Opener, model_server: ServerHandle):
    model_server.script(latency_ms=20)
    async with open_path(concurrency=8, unreachable_s=1.5) as path:
        await path.complete(verdict_request(0))
        await asyncio.to_thread(model_server.down)
        start = time.monotonic()
        outcomes = await asyncio.gather(
            *(path.complete(verdict_request(n)) for n in range(1, 60)), return_exceptions=True
        )
    assert {type(outcome) for outcome in outcomes} == {ModelUnavailable}
    assert 1.4 < time.monotonic() - start < 60


async def test_the_deadline_ends_the_wait_for_a_server_that_is_gone(
    open_path: Opener, model_server: ServerHandle, pass_time: Callable[[float], None]
):
    async with open_path(deadline_minutes=60, unreachable_s=3600) as path:
        await path.complete(verdict_request(0))
        await asyncio.to_thread(model_server.down)
        pass_time(3599)
        with pytest.raises((LimitReached, ModelUnavailable)):
            await path.complete(verdict_request(1))
