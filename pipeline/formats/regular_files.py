"""Opening a user's file without being held up by it: only regular files, only so many bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from pipeline.errors import UnreadableDocument
from pipeline.text.display import shown

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO put in the file's place must not block
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


def open_regular(path: Path) -> BinaryIO:
    """Return the file opened for reading.

    Raises:
        UnreadableDocument: it is gone, may not be read, or is no regular file (a folder, a pipe, a device).
    """
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise UnreadableDocument(shown(path), "is gone: it was there when the files were listed") from None
    except (OSError, ValueError) as error:
        raise UnreadableDocument(shown(path), f"cannot be opened: {_reason(error)}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UnreadableDocument(shown(path), "is not a regular file")
    return os.fdopen(handle, "rb")


def read_whole(path: Path, *, megabytes: int) -> bytes:
    """Return all bytes of a file.

    Args:
        path: the file.
        megabytes: the most it may hold, in units of 2**20 bytes; a larger file is refused before it is read.

    Raises:
        UnreadableDocument: it cannot be opened or read, or is larger.
    """
    limit = megabytes * 2**20
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            data = file.read(limit + 1) if size <= limit else b""
        except OSError as error:
            raise UnreadableDocument(shown(path), f"cannot be read: {_reason(error)}") from None
    if max(size, len(data)) > limit:
        found = f"{max(size, len(data)) / 2**20:,.0f} MB"
        raise UnreadableDocument(shown(path), f"is {found}, more than {megabytes} MB for one document: split it")
    return data


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or "the path is not valid").lower()
