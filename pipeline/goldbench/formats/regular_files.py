"""Open a user's document safely: only regular files, and at most a given number of bytes."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from goldbench.formats.faults import Fault, reason

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO put in the file's place must not block
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

MAX_RATIO = 200
ALWAYS_FINE = 20 * 2**20
"""How many times its size a file may unpack to, unless to fewer bytes than the second: others fill the memory."""


def open_regular(path: Path) -> BinaryIO:
    """Return the file opened for reading.

    Raises:
        Fault: The file is gone, may not be read, or is not a regular file (a folder, a pipe, a device).
    """
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise Fault("is gone: it was there when the files were listed") from None
    except (OSError, ValueError) as error:
        raise Fault(f"cannot be opened: {reason(error)}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Fault("is not a regular file")
    return os.fdopen(handle, "rb")


def read_whole(path: Path, *, megabytes: int) -> bytes:
    """Return all bytes of a file.

    Args:
        path: The file.
        megabytes: The largest size, in units of 2**20 bytes; a larger file is refused before it is read.

    Raises:
        Fault: The file cannot be opened or read, or is larger.
    """
    limit = megabytes * 2**20
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        try:
            data = file.read(size + 1) if size <= limit else b""
            if len(data) > size:  # it grew meanwhile
                data += file.read(limit - size)
        except OSError as error:
            raise Fault(f"cannot be read: {reason(error)}") from None
    if max(size, len(data)) > limit:
        raise Fault(
            f"is {max(size, len(data)) / 2**20:,.0f} MB, more than {megabytes} MB for one document: "
            "split it, or raise documents.max_megabytes"
        )
    return data
