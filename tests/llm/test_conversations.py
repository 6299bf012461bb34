"""Every server of `tests.model_server.conversations` answers, or is told with the setting to change."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from goldbench.errors import ModelError
from goldbench.llm.preflight import tell_limits
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.conversations import CONVERSATIONS
from tests.model_server.fixture import ServerHandle


@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_every_server_answers_or_is_told_with_its_setting(
    open_path: Opener, model_server: ServerHandle, name: str
):
    server = CONVERSATIONS[name]
    model_server.script(*server.rules, **server.settings)
    url = model_server.base_url.removesuffix("/v1") + server.path
    key = server.settings.get("api_key")
    async with open_path(name="m", base_url=url, api_key=key, unreachable_s=5.0) as path:
        calls = (path.complete(verdict_request(number, max_tokens=1500)) for number in range(6))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if not server.ends:
        assert not failed
        answered = model_server.stats()["statuses"]
        assert sum(count for status, count in answered.items() if status != "200") <= server.most_failures
    else:
        assert len(failed) == 6
        assert all(isinstance(failure, ModelError) for failure in failed)
        assert all(part in str(failed[0]) for part in server.ends), str(failed[0])


async def test_a_server_that_reads_only_a_part_of_the_prompts_is_named_once(
    open_path: Opener, model_server: ServerHandle
):
    said: list[str] = []
    model_server.script(context_read=500)
    async with open_path(name="m") as path:
        tell_limits(path, ModelSettings(name="m", base_url=model_server.base_url), said.append)
        await path.complete(verdict_request(0))
        assert said == []
        for number in (1, 2):
            await path.complete(replace(verdict_request(number), user=f"{number} " + "word " * 800))
    (line,) = said
    assert f"m at {model_server.base_url} read 500 tokens of a prompt of 8" in line
    assert "OLLAMA_CONTEXT_LENGTH" in line
    assert "--chunk-size" in line
