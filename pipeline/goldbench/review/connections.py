"""Connections of the page's server: clients that keep it waiting lose theirs, so that it always has one for others."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

WAITING_S = 15.0
"""Seconds for which the server waits for the rest of a request, or until a client reads more of an answer."""

MOST, RESERVE = 1000, 40
"""Connections at once, at most, and the open files that the process keeps for the ledger and its own files."""

ACCEPTED_AT_ONCE, QUEUED = 4, 128
"""Connections that are accepted before the next look at the others, and those that may wait in the system's queue."""


def most_connections() -> int:
    """Return how many connections the limit on open files leaves room for."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST if files == resource.RLIM_INFINITY else max(ACCEPTED_AT_ONCE, min(MOST, files - RESERVE))


class PageServer(uvicorn.Server):
    """A server that ends connections whose clients send or read too slowly, and the oldest of them if all are taken.

    Args:
        app: The application.
        options: Further settings of uvicorn.
    """

    def __init__(self, app: Any, **options: Any) -> None:  # noqa: ANN401  uvicorn's own
        super().__init__(uvicorn.Config(app, http=PageConnection, backlog=ACCEPTED_AT_ONCE, **options))

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen. The length of the system's queue is set apart from how many are accepted at once."""
        await super().startup(sockets)
        for sock in sockets or ():
            sock.listen(QUEUED)

    async def on_tick(self, counter: int) -> bool:
        """End, once a second, the connections that have kept the server waiting for too long."""
        if counter % 10 == 0:
            for one in _ours(self.server_state.connections):
                one.end_if_stuck()
        return await super().on_tick(counter)


def page_server(app: ASGIApp) -> PageServer:
    """Return the server of a page, which writes no log of its own."""
    return PageServer(
        app,
        access_log=False,
        log_config=None,
        log_level="critical",  # requests that are no HTTP; the door reports internal errors, without content
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
    )


class PageConnection(H11Protocol):
    """A connection that knows since when the server waits for its client."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection; if there are too many, one that waits for its client ends."""
        super().connection_made(transport)
        self._most = most_connections()
        self._since, self._unread, self._quiet, self._known = self.loop.time(), 0, False, False
        self._ended = False
        left = [one for one in _ours(self.connections) if not one.is_ended]  # an ended one leaves the set only later
        if len(left) > self._most:
            waiting = [one for one in left if one.waits]
            min(waiting, key=lambda one: (one.is_known, one.waiting_since), default=self).end()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        if self._quiet:  # the first of a further request
            self._quiet, self._since = False, self.loop.time()
        try:
            super().data_received(data)
        except RuntimeError:
            if not self.transport.is_closing():  # an answer to what came before it in these bytes closed it
                raise

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._quiet, self._since = not self.cycle.more_body, self.loop.time()
        super().on_response_complete()

    def end(self) -> None:
        """End the connection at once, whatever is not sent yet."""
        self._ended = True
        self.transport.abort()

    @property
    def is_ended(self) -> bool:
        """Whether the connection was ended here."""
        return self._ended

    @property
    def waiting_since(self) -> float:
        """The time of the loop since when the client is to send or to read."""
        return self._since

    @property
    def is_known(self) -> bool:
        """Whether a request with a valid cookie came over this connection."""
        self._known = self._known or bool(self.scope and self.scope.get("annotator"))
        return self._known

    @property
    def waits(self) -> bool:
        """Whether the server waits for the client: for a request, the rest of one, or until an answer is read."""
        cycle = self.cycle
        answering = cycle is not None and not cycle.response_complete and not cycle.more_body
        return not answering or self.transport.get_write_buffer_size() > 0

    def end_if_stuck(self) -> None:
        """End the connection if its client has neither sent nor read what it was to for too long."""
        unread = self.transport.get_write_buffer_size()
        if unread < self._unread or not self.waits:
            self._since = self.loop.time()
        self._unread = unread
        idle = self._quiet and not unread  # the keep-alive limit ends it
        if not idle and self.loop.time() - self._since > WAITING_S:
            self.end()


def _ours(connections: Collection[object]) -> list[PageConnection]:
    return [one for one in connections if isinstance(one, PageConnection)]
