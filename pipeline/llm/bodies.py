"""Bodies of replies, read under a bound: a server can neither fill the memory nor hold up the calls beside it."""

from __future__ import annotations

import asyncio
import functools
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx2

from goldbench.pipeline.llm.reply_body import assembled, is_streamed

T = TypeVar("T")

MOST_BYTES, MOST_FILE_BYTES = 16 * 2**20, 2**30
"""The most bytes of a reply, and of a file of replies; the connection is dropped beyond them. The vectors of a request
take some megabytes, the results of a batch some hundred."""

MOST_ERROR_BYTES = 64 * 2**10
"""How much of the body of an error is read; the rest is not."""

_FRAME_BYTES, _TOKEN_BYTES = 64 * 2**10, 512
"""The most bytes of a chat completion, and more for each token: its text and how likely it was."""

_FRAME_CHARACTERS, _TOKEN_CHARACTERS = 4096, 32
"""The most characters of a reply's text, and more for each token. A token has rarely more than ten."""

_AT_ONCE_BYTES = 16 * 2**10
"""A body up to this size is parsed on the event loop, in about a millisecond at most."""
_STEP_BYTES = 64 * 2**10

_most: ContextVar[int] = ContextVar("most bytes of the reply", default=MOST_BYTES)


class TooLong(httpx2.HTTPError):
    """A reply is longer than allowed; the connection is dropped."""


def most_bytes(body: Mapping[str, Any], thinking: int) -> int:
    """Return the most bytes that the reply to a request may have.

    Args:
        body: The request; ``max_tokens`` or ``max_completion_tokens`` limit a chat completion.
        thinking: The tokens that a model may think, whatever the request says.
    """
    tokens = body.get("max_tokens") or body.get("max_completion_tokens")
    if not isinstance(tokens, int):
        return MOST_BYTES
    each = _TOKEN_BYTES * (2 if body.get("stream") else 1)
    return _FRAME_BYTES + each * (tokens + thinking)


def most_characters(tokens: int, thinking: int) -> int:
    """Return the most characters that the text of a reply may have.

    Args:
        tokens: The most tokens that were asked for.
        thinking: As in `most_bytes`.
    """
    return _FRAME_CHARACTERS + _TOKEN_CHARACTERS * (tokens + thinking)


def expect(most: int) -> None:
    """Set the most bytes of the replies that this task reads from now on."""
    _most.set(most)


async def bound_body(response: httpx2.Response) -> None:
    """Bound the body of a response before it is read: a hook of the client. Compressed bodies are bounded unpacked."""
    most = MOST_FILE_BYTES if response.request.url.path.endswith("/content") else _most.get()
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        del response.headers["content-encoding"]
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    error = response.status_code >= 300
    response.stream = BoundedStream(
        response.stream, min(most, MOST_ERROR_BYTES) if error else most, encoding, cut=error
    )


class BoundedStream(httpx2.AsyncByteStream):
    """A body, unpacked piece by piece. Beyond the bound it raises ``TooLong``, or ends if it may be cut."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, most: int, encoding: str = "identity", *, cut: bool = False
    ) -> None:
        """Take the body.

        Args:
            inner: The body as it comes.
            most: The most bytes, compressed and unpacked.
            encoding: How it is compressed.
            cut: Whether the body ends at the bound, which no reply with an answer may.
        """
        self._inner, self._most, self._cut = inner, most, cut
        self._unpacked = _unpacker(encoding)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body."""
        packed = left = self._most
        async for piece in self._inner:
            packed -= len(piece)
            for part in self._unpacked(piece):
                yield part[: max(0, left)]
                left -= len(part)
                if left < 0:
                    break
            if left < 0 or packed < 0:
                if self._cut:
                    return
                raise TooLong("the reply is too long")

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


def _unpacker(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    """Return what unpacks the pieces of a body in small steps; a packed piece may grow a thousandfold."""
    if encoding in {"", "identity"}:
        return lambda piece: iter([piece])
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        return _unknown
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def unpacked(piece: bytes) -> Iterator[bytes]:
        while piece and not inflater.eof:
            try:
                yield inflater.decompress(piece, _STEP_BYTES)
            except zlib.error:
                raise httpx2.DecodingError("the body is not compressed as its header says") from None
            piece = inflater.unconsumed_tail

    return unpacked


def _unknown(_: bytes) -> Iterator[bytes]:
    raise httpx2.DecodingError("the body is compressed in a way that was not asked for")


def parsed(content: bytes) -> dict[str, Any] | None:
    """Return the object in a body, or what its events make up; None if it holds none."""
    if is_streamed(content):
        return assembled(content)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def beside(work: Callable[..., T], *given: Any, size: int) -> T:  # noqa: ANN401  whatever the work takes
    """Return what work on a reply returns, and raise as it does.

    Large replies are worked on in one thread of their own; deadlines hold and other calls go on meanwhile.

    Args:
        work: A function without side effects.
        given: Its arguments.
        size: The bytes or characters that it works on.
    """
    if size <= _AT_ONCE_BYTES:
        return work(*given)
    return await asyncio.get_running_loop().run_in_executor(_THREAD, functools.partial(work, *given))


_THREAD = ThreadPoolExecutor(1, "goldbench replies")
"""One thread, so that the event loop waits for one piece of work at most; it starts with the first large reply."""
