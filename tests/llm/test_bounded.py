"""A server can neither fill the memory of a run nor hold up its event loop, whatever it replies."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest
from aiohttp import web

from goldbench.errors import CallFailed, GoldbenchError, LimitReached, ModelUnavailable
from goldbench.llm.model_path import ModelPath, open_model
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import verdict_request

MB = 2**20


@asynccontextmanager
async def _answered_by(
    *pieces: bytes, status: int = 200, headers: dict[str, str] | None = None, pause_s: float = 0.0, **settings: Any
) -> AsyncIterator[tuple[ModelPath, list[int]]]:
    """Open a path to a server that sends these pieces, and a list of the bytes that it sent."""
    sent = [0]

    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers=headers)
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            sent[0] += len(piece)
            if pause_s:
                await asyncio.sleep(pause_s)
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


@pytest.mark.parametrize("encoding", ["", "gzip"])
async def test_a_reply_without_end_is_dropped_and_the_call_fails(encoding: str):
    piece = gzip.compress(b" " * 200 * MB, 1) if encoding else b" " * MB
    before = psutil.Process().memory_info().rss
    headers = {"Content-Encoding": encoding} if encoding else {}
    async with _answered_by(*[piece] * 200, headers=headers) as (path, sent):
        with pytest.raises(CallFailed, match="longer than any answer") as caught:
            await path.complete(verdict_request())
    assert caught.value.kind == "too-long"
    assert sent[0] < 60 * MB
    assert psutil.Process().memory_info().rss - before < 64 * MB


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_compressed_reply_is_read(encoding: str):
    content = json.dumps({"reason": "It says so.", "grade": 2})
    body = json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).encode()
    packed = (gzip.compress if encoding == "gzip" else zlib.compress)(body)
    async with _answered_by(packed[:9], packed[9:], headers={"Content-Encoding": encoding}) as (path, _):
        assert (await path.complete(verdict_request())).answer.grade == 2


def _said(content: str) -> bytes:
    return json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).encode()


_SIZE = 500_000
HOSTILE = {
    "nested": (b"[" * _SIZE, "not-json"),
    "number": (b'{"choices": ' + b"9" * _SIZE + b"}", "not-json"),
    "keys": (b"{" + b", ".join(b'"%d": 0' % n for n in range(_SIZE // 12)) + b"}", "empty"),
    "one string": (_said("x" * (_SIZE * 4)), "loop"),
    "nested text": (_said('{"a":' * (_SIZE // 5)), "loop"),
    "open objects": (_said('{"a": "' * (_SIZE // 7)), "loop"),
    "fences": (_said("```a" * (_SIZE // 4)), "loop"),
    "keys in text": (_said(json.dumps({f"k{n}": n for n in range(_SIZE // 14)})), "cut-off"),
    "number in text": (_said('{"reason": "It says so.", "grade": ' + "7" * 9000 + "}"), "misfit"),
    "wrong members": (b'{"choices": [[[]]], "usage": [1], "model": {}}', "empty"),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_hostile_reply_holds_nothing_up(kind: str):
    body, end = HOSTILE[kind]
    longest, ticks = 0.0, 0

    async def tick() -> None:
        nonlocal longest, ticks
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            longest, ticks = max(longest, time.monotonic() - began), ticks + 1

    settings = {"max_requests": 4, "retry_s": 0.1}
    async with _answered_by(body, **settings) as (path, _):
        ticking = asyncio.create_task(tick())
        outcome = (await asyncio.gather(path.complete(verdict_request(max_tokens=3000)), return_exceptions=True))[0]
        ticking.cancel()
    assert isinstance(outcome, GoldbenchError), repr(outcome)
    assert getattr(outcome, "kind", "") == end
    assert longest < 5


async def test_a_deadline_holds_while_a_reply_drips_and_while_it_is_parsed():
    settings = {"deadline_minutes": 0.5 / 60, "max_attempts": 10}
    for pieces, pause_s in (([b" "] * 1000, 0.05), ([b'{"a": ' + b"[" * 900] * 3000, 0.0)):
        began = time.monotonic()
        async with _answered_by(*pieces, pause_s=pause_s, **settings) as (path, _):
            with pytest.raises((LimitReached, ModelUnavailable)):
                await path.complete(verdict_request(max_tokens=3000))
            assert time.monotonic() - began < 40  # the first reply takes 50 s


@pytest.mark.parametrize(("status", "said"), [(404, "does not know model"), (401, "wants a key"), (302, "redirects")])
async def test_an_error_keeps_its_meaning_however_long_its_body_is(status: int, said: str):
    async with _answered_by(*[b"x" * MB] * 100, status=status) as (path, sent):
        with pytest.raises(ModelUnavailable, match=said):
            await path.complete(verdict_request())
    assert sent[0] < 60 * MB


@pytest.mark.parametrize("headers", [{"X-Long": "x" * 200_000}, {f"X-{n}": "x" * 90 for n in range(3000)}])
async def test_headers_without_end_fail_the_call(headers: dict[str, str]):
    async with _answered_by(b"{}", headers=headers) as (path, _):
        with pytest.raises(CallFailed, match="the connection broke"):
            await path.complete(verdict_request())
