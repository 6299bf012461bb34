"""No reply, however long a hostile or broken server makes it, fills the memory."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

MOST_BYTES, MOST_FILE_BYTES = 16 * 2**20, 2**30
"""Of a reply, and of a file of them. An answer takes some kilobytes, the results of a batch some hundred megabytes."""

MOST_COMPRESSED_BYTES = 256 * 2**10
"""Nothing compressed is asked for; one that comes all the same may grow a thousandfold when it is unpacked."""


class TooLong(httpx2.HTTPError):
    """A reply went beyond the bound; the connection is dropped."""


class BoundedStream(httpx2.AsyncByteStream):
    """A body that ends with ``TooLong`` at the first byte beyond the bound."""

    def __init__(self, inner: httpx2.AsyncByteStream, most: int) -> None:
        self._inner, self._most = inner, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        left = self._most
        async for piece in self._inner:
            left -= len(piece)
            if left < 0:
                raise TooLong("the reply is too long")
            yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


async def bound(response: httpx2.Response) -> None:
    """Put the bound on a response whose body has not been read yet: a hook of the client."""
    most = MOST_FILE_BYTES if response.request.url.path.endswith("/content") else MOST_BYTES
    if response.headers.get("content-encoding", "identity") != "identity":
        most = MOST_COMPRESSED_BYTES
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = BoundedStream(response.stream, most)
