"""Servers that take other parameters: found out by one call, for all, and remembered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from goldbench.errors import ModelUnavailable
from goldbench.llm.dialect import Dialect, learn
from tests.llm.conftest import Opener, Verdict, verdict_request
from tests.model_server.fixture import ServerHandle


def _formats(server: ServerHandle) -> list[str | None]:
    return [(row["body"].get("response_format") or {}).get("type") for row in server.requests()]


@pytest.mark.parametrize(
    ("settings", "used"),
    [
        ({}, ["json_schema"]),
        ({"strict": True}, ["json_schema", "json_schema"]),
        ({"json_schema": False, "json_object": False}, ["json_schema", "json_object", None]),
    ],
)
async def test_the_strictest_format_the_server_takes_is_found(
    open_path: Opener, model_server: ServerHandle, settings: dict[str, Any], used: list[str | None]
):
    model_server.script(**settings)
    async with open_path() as path:
        completion = await path.complete(verdict_request())
        await path.complete(verdict_request(1))
    assert isinstance(completion.answer, Verdict)
    assert _formats(model_server) == [*used, used[-1]]


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        ({"when": {"contains": "response_format"}, "do": {"status": 400, "body": {"error": "Bad Request"}}}, 3),
        ({"do": {"status": 401}}, 1),
        ({"do": {"status": 404}}, 4),
    ],
)
async def test_one_slow_call_finds_out_for_all(
    open_path: Opener, model_server: ServerHandle, rule: dict[str, Any], refused: int
):
    model_server.script({**rule, "do": {**rule["do"], "latency_ms": 120}})
    async with open_path() as path:
        calls = (path.complete(verdict_request(n)) for n in range(64))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    assert {type(failure) for failure in failures} <= {ModelUnavailable}
    statuses = model_server.stats()["statuses"]
    assert sum(count for status, count in statuses.items() if status != "200") == refused


async def test_a_reasoning_model_gets_room_to_think_and_no_temperature_from_then_on(
    open_path: Opener, model_server: ServerHandle
):
    model_server.script(json_schema=False, reasoning=True)
    async with open_path(reasoning_tokens=1000) as path:
        await path.complete(verdict_request(0, temperature=0.5))
    body = model_server.requests()[-1]["body"]
    assert body["max_completion_tokens"] == 1100
    assert not {"max_tokens", "temperature"} & body.keys()
    model_server.reset()
    async with open_path() as path:
        await path.complete(verdict_request(1, temperature=0.5))
    assert model_server.stats()["statuses"] == {"200": 1}


async def test_a_model_without_a_system_role_is_told_everything_by_the_user(
    open_path: Opener, model_server: ServerHandle
):
    model_server.script(no_system=True)
    async with open_path() as path:
        await path.complete(verdict_request())
    messages = model_server.requests()[-1]["body"]["messages"]
    assert [message["role"] for message in messages] == ["user"]
    assert messages[0]["content"].startswith("You grade passages.")


@pytest.mark.parametrize(
    "message",
    [
        "In context=('properties', 'rows', 'items'), 'maxLength' is not permitted.",
        "response_schema.properties[grade].enum: only allowed for STRING type",
        "The provided JSON schema contains features not supported by xgrammar.",
    ],
)
def test_limits_are_given_up_before_the_format(message: str):
    assert learn(Dialect(), {"message": message}, settled=True) == Dialect(limits=False)
