"""One connection for each call in flight; the connection that was freed last is used first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest

from goldbench.pipeline.llm import transport
from goldbench.pipeline.llm.transport import Connections


class Body(httpx2.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"reply"


class Connection(httpx2.AsyncBaseTransport):
    """A connection that notes what it does."""

    def __init__(self) -> None:
        self.requests = 0
        self.closed = False
        self.fails = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        await asyncio.sleep(0.01)
        if self.fails:
            raise httpx2.ReadError("broken")
        return httpx2.Response(200, stream=Body())

    async def aclose(self) -> None:
        self.closed = True


@pytest.fixture
def made() -> list[Connection]:
    return []


@pytest.fixture
def client(made: list[Connection]) -> httpx2.AsyncClient:
    def make() -> Connection:
        made.append(Connection())
        return made[-1]

    return httpx2.AsyncClient(transport=Connections(make), base_url="http://model.test")


async def test_calls_in_flight_have_connections_of_their_own(
    client: httpx2.AsyncClient, made: list[Connection]
) -> None:
    async with client:
        replies = await asyncio.gather(*(client.post("/", json=number) for number in range(5)))
        assert [reply.content for reply in replies] == [b"reply"] * 5
        assert [one.requests for one in made] == [1] * 5
        await client.post("/")
        await client.post("/")
        assert sorted(one.requests for one in made) == [1, 1, 1, 1, 3]
    assert all(one.closed for one in made)


async def test_a_connection_is_free_again_after_a_failure_and_after_a_cancelled_call(
    client: httpx2.AsyncClient, made: list[Connection]
) -> None:
    async with client:
        made[0].fails = True
        with pytest.raises(httpx2.ReadError):
            await client.post("/")
        made[0].fails = False
        call = asyncio.ensure_future(client.post("/"))
        await asyncio.sleep(0.001)
        call.cancel()
        await asyncio.wait([call])
        await client.post("/")
        assert [one.requests for one in made] == [3]


async def test_an_open_body_keeps_its_connection(client: httpx2.AsyncClient, made: list[Connection]) -> None:
    async with client:
        async with client.stream("POST", "/"):
            await client.post("/")
            assert [one.requests for one in made] == [1, 1]
        await client.post("/")
        assert [one.requests for one in made] == [2, 1]


async def test_connections_that_no_call_needs_are_closed(
    client: httpx2.AsyncClient, made: list[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_IDLE_S", 0.02)
    async with client:
        await asyncio.gather(*(client.post("/") for _ in range(4)))
        await asyncio.sleep(0.03)
        await client.post("/")
        assert [one.closed for one in made].count(False) == 1
