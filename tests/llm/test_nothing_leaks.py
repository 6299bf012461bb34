"""No key, prompt, document text or reply body in any log, message, traceback or book, at any level."""

from __future__ import annotations

import asyncio
import logging
import traceback
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from goldbench.errors import GoldbenchError, UsageError
from goldbench.llm.probe import probe
from goldbench.llm.server_settings import Model as ModelTable
from goldbench.llm.server_settings import ModelSettings, holds_key, shown_address
from tests.conftest import Goldbench
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle

KEY, PROMPT, PASSAGE, REPLY = "sk-CANARYKEY", "CANARYPROMPT", "CANARYPASSAGE", "CANARYREPLY"
BODY = {"error": {"message": f"wrong: {PROMPT} {KEY} {REPLY}", "code": REPLY, "param": REPLY}}

FAULTS: list[dict[str, Any]] = [
    {"do": {}},
    {"do": {"content": f'{{"{REPLY}": "{REPLY}"}}'}},
    {"do": {"content": f'{{"reason": "{REPLY}", "grade": "{REPLY}"}}'}},
    {"do": {"content": REPLY, "finish_reason": "length"}},
    {"do": {"reply": "refusal"}},
    *({"do": {"status": status, "body": BODY}} for status in (400, 401, 404, 429, 500)),
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
    with pytest.raises(UsageError, match=r"^model settings: embedding: holds the API key$"):
        ModelSettings.of(ModelTable(name="m", embedding=LONG_KEY.lower()))


@pytest.mark.parametrize("table", [{"name": f"x/{LONG_KEY.lower()}"}, {"name": "m", "embedding": LONG_KEY}])
def test_the_doctor_does_not_print_a_key_given_as_a_model(
    goldbench_inside: Goldbench, tmp_path: Path, table: dict[str, str]
):
    lines = "".join(f'{name} = "{value}"\n' for name, value in table.items())
    (tmp_path / "goldbench.toml").write_text(f"[model]\n{lines}", encoding="utf-8")
    done = goldbench_inside("doctor", "--config", "goldbench.toml", OPENAI_API_KEY=LONG_KEY)
    assert done.returncode == 2
    assert f"model.{list(table)[-1]}: holds the API key: name a model here" in done.stderr
    assert LONG_KEY.lower() not in (done.stdout + done.stderr).lower()


def test_a_percent_encoded_key_in_the_path_is_not_shown():
    key = "AbC+dEf/gHi=jKl0123456789"
    for form in (key, key.lower(), quote(key), quote(key, safe=""), quote(key, safe="").lower()):
        assert shown_address(f"http://host/{form}/v1", key) == "http://host/********/v1"


def test_a_short_word_that_stands_for_a_key_is_no_key():
    assert not holds_key("ollama/llama", "ollama")
    assert not holds_key("any model", None)


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
