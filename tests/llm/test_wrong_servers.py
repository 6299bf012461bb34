"""What answers is no model server, or sends the calls elsewhere: it is told what came back, soon and at no cost."""

from __future__ import annotations

import asyncio
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from goldbench.errors import ModelUnavailable, UsageError
from goldbench.llm.model_path import open_model
from goldbench.llm.probe import probe
from goldbench.llm.server_settings import ModelSettings
from tests.llm.conftest import Opener, verdict_request
from tests.model_server.fixture import ServerHandle

PAGE = {"status": 200, "body": "<html><body>Log in</body></html>"}
FALSE_ENCODING = {"headers": {"content-encoding": "gzip"}}


async def _ask(path: Any, count: int) -> list[Any]:
    calls = (path.complete(verdict_request(number)) for number in range(count))
    return await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize(
    ("what", "calls", "says"),
    [
        (PAGE, 20, "not JSON (is the base URL right, with its /v1?)"),
        (FALSE_ENCODING, 3, "compresses its answers, which nobody asked for"),
    ],
    ids=["page", "encoding"],
)
async def test_a_server_that_never_sends_json_is_given_up_soon(
    open_path: Opener, model_server: ServerHandle, what: dict[str, Any], calls: int, says: str
):
    model_server.script({"do": what})
    start = time.monotonic()
    async with open_path(never_reached_s=1.0) as path:
        outcomes = await _ask(path, calls)
        usage = path.usage()["grade"]
    assert time.monotonic() - start < 14
    assert {type(outcome) for outcome in outcomes} == {ModelUnavailable}
    assert says in str(outcomes[0])
    assert usage.estimated_requests == usage.requests
    assert model_server.stats()["requests"] < 30


@pytest.mark.parametrize("status", [500, 503])
async def test_a_server_that_keeps_failing_is_told_with_its_status(
    open_path: Opener, model_server: ServerHandle, status: int
):
    model_server.script({"do": {"status": status}})
    comes_up = {"unreachable_s": 1.0, "never_reached_s": 0.1} if status == 503 else {"never_reached_s": 1.0}
    async with open_path(**comes_up) as path:
        outcomes = await _ask(path, 4)
        usage = path.usage()["grade"]
    assert {type(outcome) for outcome in outcomes} == {ModelUnavailable}
    assert f"answers HTTP {status} and has for " in str(outcomes[0])
    assert usage.estimated_requests == usage.requests


async def test_a_redirect_is_not_followed(open_path: Opener, model_server: ServerHandle):
    there = f"{model_server.base_url}/chat/completions?token=CANARY"
    model_server.script({"when": {"nth": [1]}, "do": {"status": 301, "headers": {"location": there}}})
    async with open_path() as path:
        with pytest.raises(ModelUnavailable, match="set base_url to where the API is") as caught:
            await path.complete(verdict_request())
    assert "CANARY" not in str(caught.value)
    assert model_server.stats()["statuses"] == {"301": 1}


@pytest.mark.parametrize("body", ["[" * 200_000, "nothing"])
async def test_a_list_of_models_that_is_none_is_told(model_server: ServerHandle, body: str):
    model_server.script({"when": {"kind": "models"}, "do": {"status": 200, "body": body}})
    found = await probe(model_server.base_url, None)
    assert found.problem == "does not list models as an OpenAI-compatible server does"


@pytest.mark.parametrize(
    ("query", "named", "sent"),
    [
        ("", None, ("authorization", "Bearer CANARY")),
        ("", "X-Key", ("x-key", "CANARY")),
        ("?api-version=2024-10-21", "api-key", ("api-key", "CANARY")),
    ],
)
async def test_models_are_asked_with_the_key_in_its_header_and_with_the_query(
    query: str, named: str | None, sent: tuple[str, str]
):
    seen: list[tuple[str, dict[str, str]]] = []

    class Listing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            body = b'{"data": [{"id": "one", "max_model_len": 512}]}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Listing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        found = await probe(f"http://127.0.0.1:{server.server_port}/v1{query}", "CANARY", key_header=named)
        server.shutdown()
    assert (found.models, found.contexts) == (("one",), {"one": 512})
    ((path, headers),) = seen
    assert path == f"/v1/models{query}"
    assert headers[sent[0]] == sent[1]
    assert ("authorization" in headers) == (sent[0] == "authorization")


@pytest.fixture
def proxies(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The environment without a proxy, to put some in."""
    for name in ("http", "https", "all", "no"):
        for spelt in (f"{name}_proxy", f"{name}_PROXY".upper()):
            monkeypatch.delenv(spelt, raising=False)
    return monkeypatch


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:9", "::nonsense::"])
async def test_this_machine_itself_is_asked_past_every_proxy(
    open_path: Opener, model_server: ServerHandle, proxies: pytest.MonkeyPatch, proxy: str
):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        proxies.setenv(name, proxy)
    for host in ("127.0.0.1", "localhost"):
        async with open_path(store=False, base_url=model_server.base_url.replace("127.0.0.1", host)) as path:
            await path.complete(verdict_request())
    assert (await probe(model_server.base_url, None)).problem is None


@pytest.mark.parametrize(
    ("name", "value"), [("HTTP_PROXY", "::CANARY::"), ("ALL_PROXY", "socks5://me:CANARY@127.0.0.1:9")]
)
async def test_a_proxy_that_is_none_is_named_by_its_variable(proxies: pytest.MonkeyPatch, name: str, value: str):
    proxies.setenv(name, value)
    with pytest.raises(UsageError, match=f"^{name}: not a valid address of an HTTP proxy") as caught:
        async with open_model(ModelSettings(name="m", base_url="http://model.example/v1")):
            pass
    assert "CANARY" not in str(caught.value)


async def test_another_machine_is_reached_through_the_proxy(model_server: ServerHandle, proxies: pytest.MonkeyPatch):
    proxies.setenv("HTTP_PROXY", model_server.base_url.removesuffix("/v1"))
    settings = ModelSettings(name="m", base_url="http://model.example/v1", max_attempts=1)
    async with open_model(settings) as path:
        await path.complete(verdict_request())
    assert model_server.stats()["requests"] == 1
