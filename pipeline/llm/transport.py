"""The connections of a client: one for each call in flight, and the one that was freed last is used first.

httpx's pool inspects every open connection before and after each call. One pool per connection avoids that. There are
as many connections as calls in flight, which the caller limits.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

import httpx2

_IDLE_S = 5.0
"""Close a connection that no call has needed for this many seconds: some servers keep a thread for each."""


class Connections(httpx2.AsyncBaseTransport):
    """Sends each request over a connection of its own."""

    def __init__(self, make: Callable[[], httpx2.AsyncBaseTransport]) -> None:
        """Make the first connection, which opens with its first request.

        Args:
            make: Makes a transport that holds one connection.

        Raises:
            ValueError: As `make` does.
        """
        first = make()
        self._make, self._every, self._free = make, {first}, deque([(time.monotonic(), first)])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the response; its connection is free once the body is closed."""
        connection = self._taken()
        try:
            await self._close_idle()
            response = await connection.handle_async_request(request)
        except BaseException:
            self._give_back(connection)
            raise
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Body(response.stream, lambda: self._give_back(connection))
        return response

    async def aclose(self) -> None:
        """Close every connection."""
        for connection in self._every:
            await _close(connection)

    def _taken(self) -> httpx2.AsyncBaseTransport:
        if self._free:
            return self._free.pop()[1]
        connection = self._make()
        self._every.add(connection)
        return connection

    def _give_back(self, connection: httpx2.AsyncBaseTransport) -> None:
        self._free.append((time.monotonic(), connection))

    async def _close_idle(self) -> None:
        while self._free and self._free[0][0] < time.monotonic() - _IDLE_S:
            _, connection = self._free.popleft()
            self._every.discard(connection)
            await _close(connection)


async def _close(connection: httpx2.AsyncBaseTransport) -> None:
    """Close a connection that may have broken before, which must not fail the call under way."""
    with contextlib.suppress(OSError, httpx2.TransportError):
        await connection.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of a response, which gives its connection back when it is closed."""

    def __init__(self, inner: httpx2.AsyncByteStream, give_back: Callable[[], None]) -> None:
        self._inner, self._give_back = inner, give_back
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        async for piece in self._inner:
            yield piece

    async def aclose(self) -> None:
        """Close the body, once."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._inner.aclose()
        finally:
            self._give_back()
