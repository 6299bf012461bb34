"""Hard caps, rates, concurrency: never passed, whoever calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from goldbench.errors import LimitReached, UsageError
from goldbench.llm.limits import Width
from goldbench.llm.prices import check_price
from goldbench.llm.server_settings import Model, ModelSettings
from tests.llm.conftest import Opener, comes_about, verdict_request
from tests.model_server.fixture import ServerHandle

PRICES = {"usd_per_million_input": 2.0, "usd_per_million_output": 10.0}


async def _ask(path, count: int, start: int = 0) -> list:
    calls = (path.complete(verdict_request(n)) for n in range(start, start + count))
    return await asyncio.gather(*calls, return_exceptions=True)


def _answered(outcomes: list) -> int:
    return sum(not isinstance(outcome, BaseException) for outcome in outcomes)


async def test_repairs_and_retries_count_against_the_cap(open_path: Opener, model_server: ServerHandle):
    model_server.script(
        {"when": {"every": 5}, "do": {"status": 429}}, {"when": {"every": 7}, "do": {"reply": "garbage"}}
    )
    async with open_path(max_requests=37) as path:
        await _ask(path, 100)
    assert model_server.stats()["requests"] == 37


def test_the_price_can_be_asked_for_before_anything_is_opened():
    settings: dict[str, Any] = {"name": "test-model", "base_url": "http://127.0.0.1:9/v1"}
    check_price(ModelSettings(**settings))
    check_price(ModelSettings(**settings, max_usd=1.0, **PRICES))
    with pytest.raises(UsageError, match="price of 'test-model'"):
        check_price(ModelSettings(**settings, max_usd=1.0))
    with pytest.raises(UsageError, match=r"price of 'e' .*: leave max_usd out"):
        check_price(ModelSettings(**settings, max_usd=1.0, **PRICES, embedding="e"))


async def test_a_deadline_stops_calls_before_they_are_sent(
    open_path: Opener, model_server: ServerHandle, pass_time: Callable[[float], None]
):
    async with open_path(deadline_minutes=60, concurrency=2) as path:
        await _ask(path, 10)
        pass_time(3600)
        outcomes = await _ask(path, 100)
    assert _answered(outcomes) == 10  # those that the store holds
    assert {o.limit for o in outcomes if isinstance(o, LimitReached)} == {"deadline"}
    assert model_server.stats()["requests"] == 10


async def test_no_more_calls_are_in_flight_than_allowed(open_path: Opener, model_server: ServerHandle):
    model_server.script(latency_ms=600)
    async with open_path(concurrency=7) as path:
        await _ask(path, 30)
    assert model_server.stats()["in_flight_max"] == 7


@pytest.mark.parametrize(
    ("seconds", "slots", "fewest", "most"),
    [(1.0, 64, 64, 64), (120.0, 64, 64, 64), (1.0, 1, 16, 63), (50.0, 1, 1, 3), (50.0, 4, 4, 12)],
)
def test_the_width_follows_the_seconds_that_answers_take(seconds: float, slots: int, fewest: int, most: int):
    sought = Width(64)
    assert sought.now == 1
    for _ in range(1000):
        sought.record(seconds=seconds * max(1.0, sought.now / slots))
    assert fewest <= sought.now <= most


def test_a_round_with_a_timeout_halves_the_width():
    sought = Width(64)
    while sought.now < 16:
        sought.record(seconds=1.0)
    for call in range(16):
        sought.record(is_overloaded=call == 3, has_timed_out=call == 3, seconds=None if call == 3 else 1.0)
    assert sought.now == 8


async def test_a_stalled_call_is_named_without_its_content(open_path: Opener, model_server: ServerHandle):
    model_server.script({"do": {"hang": True}})
    async with open_path() as path:
        task = asyncio.create_task(path.complete(verdict_request()))
        await comes_about(lambda: path.snapshot().stall(0.1) is not None)
        line = path.snapshot().stall(0.1)
        assert path.snapshot().stall(30) is None
        task.cancel()
    assert line is not None
    assert line.startswith("no answer yet: grade ")
    assert "Passage" not in line


@pytest.mark.parametrize("wrong", [{"api_key": "sk-secret\n"}, {"base_url": "https://user:sk-secret@example.org/v1"}])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(wrong: dict[str, str]):
    with pytest.raises(UsageError) as caught:
        ModelSettings.of(Model(name="m"), **wrong)
    assert "sk-secret" not in str(caught.value)


def test_impossible_settings_are_told_together():
    with pytest.raises(UsageError) as caught:
        ModelSettings.of(Model(name=" "), base_url="ftp://x", concurrency=0, max_requests=-1)
    for word in ("name", "base_url", "concurrency", "max_requests"):
        assert word in str(caught.value)
