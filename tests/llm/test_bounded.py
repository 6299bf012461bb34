"""A server cannot fill the memory of a run, whatever it replies."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from goldbench.errors import CallFailed, GoldbenchError, ModelUnavailable
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import verdict_request

MB = 2**20


@asynccontextmanager
async def _open_path(*pieces: bytes, status: int = 200, **settings: Any) -> AsyncIterator[tuple[ModelPath, list[int]]]:
    """Open a path to a server that sends these pieces, and a list of the bytes that it sent."""
    sent = [0]

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            sent[0] += len(piece)
            await asyncio.sleep(0)
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", reply)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    values: dict[str, Any] = {"name": "m", "base_url": url, "max_attempts": 1, **settings}
    async with open_model(ModelSettings(**values)) as path:
        yield path, sent
    await runner.cleanup()


def _completion(content: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).encode()


def _peak_memory() -> int:
    """Return the most bytes of memory that this process has held since it began."""
    resource = pytest.importorskip("resource")
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


async def test_a_reply_without_end_is_dropped_and_the_call_fails():
    async with _open_path(*[b" " * MB] * 200) as (path, sent):
        before = _peak_memory()
        with pytest.raises(CallFailed) as caught:
            await path.complete(verdict_request())
    assert caught.value.kind == "too-long"
    assert sent[0] < 60 * MB
    assert _peak_memory() - before < 200 * MB


async def test_an_error_keeps_its_meaning_however_long_its_body_is():
    async with _open_path(*[b"x" * MB] * 100, status=401) as (path, sent):
        with pytest.raises(ModelUnavailable):
            await path.complete(verdict_request())
    assert sent[0] < 60 * MB


_SIZE = 500_000
HOSTILE = {
    "nested": (b"[" * _SIZE, "not-json"),
    "one string": (_completion("x" * (_SIZE * 4)), "loop"),
    "keys in text": (_completion(json.dumps({f"k{n}": n for n in range(_SIZE // 14)})), "cut-off"),
    "wrong members": (b'{"choices": [[[]]], "usage": [1], "model": {}}', "empty"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_reply_fails_its_call_with_a_reason(name: str):
    body, kind = HOSTILE[name]
    async with _open_path(body, max_requests=4, retry_s=0.1) as (path, _):
        with pytest.raises(GoldbenchError) as caught:
            await path.complete(verdict_request(max_tokens=3000))
    assert getattr(caught.value, "kind", "") == kind
