"""A server cannot fill the memory of a run."""

from __future__ import annotations

import gzip

import psutil
import pytest
from aiohttp import web

from goldbench.pipeline.errors import CallFailed
from goldbench.pipeline.llm.model_path import open_model
from goldbench.pipeline.llm.server_settings import ModelSettings
from tests.llm.conftest import verdict_request


@pytest.mark.parametrize("compressed", [False, True])
async def test_a_reply_without_end_is_dropped_and_the_call_fails(compressed: bool):
    piece = gzip.compress(b" " * 2**28) if compressed else b" " * 2**20
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"} if compressed else {})
        await response.prepare(request)
        for _ in range(200):
            await response.write(piece)
            sent += len(piece)
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", endless)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    before = psutil.Process().memory_info().rss
    async with open_model(ModelSettings(name="m", base_url=url, max_attempts=1)) as path:
        with pytest.raises(CallFailed, match="longer than any answer") as caught:
            await path.complete(verdict_request())
    await runner.cleanup()
    assert caught.value.kind == "too-long"
    assert sent < 100 * 2**20
    assert psutil.Process().memory_info().rss - before < 2**28
