"""Messages between two processes: a length of four bytes, and as many bytes of JSON."""

from __future__ import annotations

import json
import struct
from typing import IO, Any

_LENGTH = struct.Struct(">I")


def encoded(value: object) -> bytes:
    """Return a value as JSON, whatever characters its strings hold."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def decoded(message: bytes) -> Any:  # noqa: ANN401  what the other process encoded
    """Return the value of a message."""
    return json.loads(message.decode("utf-8", "surrogatepass"))


def framed(message: bytes) -> bytes:
    """Return a message with its length before it."""
    return _LENGTH.pack(len(message)) + message


def next_message(stream: IO[bytes]) -> bytes | None:
    """Wait for the next message and return it; return None if the stream ended before the message did."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    message = stream.read(length)
    return message if len(message) == length else None
