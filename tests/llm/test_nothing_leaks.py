"""No key, prompt, document text or reply body in any log, message, traceback or book, at any level."""

from __future__ import annotations

import asyncio
import logging
import traceback
from typing import Any

import pytest

from goldbench.pipeline.errors import GoldbenchError, UsageError
from goldbench.pipeline.llm.probe import probe
from goldbench.pipeline.llm.server_settings import Model as ModelTable
from goldbench.pipeline.llm.server_settings import ModelSettings
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle

KEY, PROMPT, PASSAGE, REPLY = "sk-CANARYKEY", "CANARYPROMPT", "CANARYPASSAGE", "CANARYREPLY"
BODY = {"error": {"message": f"wrong: {PROMPT} {KEY} {REPLY}", "code": REPLY, "param": REPLY}}

FAULTS: list[dict[str, Any]] = [
    {"do": {}},
    {"do": {"content": f'{{"{REPLY}": "{REPLY}"}}'}},
    {"do": {"content": REPLY}},
    {"do": {"content": f'{{"reason": "{REPLY}", "grade": "{REPLY}"}}'}},
    {"do": {"content": REPLY, "finish_reason": "length"}},
    {"do": {"reply": "refusal"}},
    *({"do": {"status": status, "body": BODY}} for status in (400, 401, 403, 404, 413, 422, 429, 500)),
    {"do": {"status": 200, "body": REPLY}},
    {"do": {"connection": "refuse"}},
    {"do": {"connection": "half", "content": REPLY}},
    {"do": {"connection": "garbage"}},
    {"do": {"hang": True}},
]


LONG_KEY = "sk-CANARY-0123456789"


async def test_a_key_in_the_address_is_not_shown(model_server: ServerHandle):
    url = f"{model_server.base_url.removesuffix('/v1')}/{LONG_KEY}/v1"
    settings = ModelSettings(name="m", base_url=url, api_key=LONG_KEY)
    assert LONG_KEY not in settings.shown_url()
    assert "/********/v1" in settings.shown_url()
    assert LONG_KEY not in (await probe(url, LONG_KEY)).base_url


def test_a_model_called_like_the_key_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", LONG_KEY)
    with pytest.raises(UsageError) as caught:
        ModelSettings.of(ModelTable(name=f"x/{LONG_KEY}"))
    assert str(caught.value) == "model settings: name: holds the API key"


@pytest.mark.parametrize("rule", FAULTS, ids=lambda rule: str(rule["do"])[:40])
async def test_no_canary_is_seen(
    open_path: Opener, model_server: ServerHandle, caplog: pytest.LogCaptureFixture, rule: dict[str, Any]
):
    caplog.set_level(logging.DEBUG)
    for name in ("openai", "httpx", "httpx2", "httpcore", "aiohttp", "aiohttp.client", "asyncio", "goldbench"):
        caplog.set_level(logging.DEBUG, logger=name)
    model_server.script(rule)
    seen = []
    async with open_path(api_key=KEY, max_attempts=2, timeout_seconds=0.5, unreachable_s=1.0) as path:
        request = verdict_request(0, system=PROMPT, user=PASSAGE)
        outcomes = await asyncio.gather(path.complete(request), return_exceptions=True)
        seen += [repr(path), repr(path.snapshot()), path.snapshot().line(), str(path.usage()), repr(path.gate)]
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            assert isinstance(outcome, GoldbenchError), repr(outcome)
            seen += [repr(outcome), "".join(traceback.format_exception(outcome))]
            assert "\n" not in str(outcome)
    seen += [record.getMessage() + str(record.exc_info) for record in caplog.records]
    for canary in (KEY, PROMPT, PASSAGE, REPLY):
        assert not [text for text in seen if canary.lower() in text.lower()]
