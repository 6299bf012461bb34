"""Files packed with gzip or zstd; a file or standard input that was opened can be read any number of times."""

from __future__ import annotations

import gzip
import io
import os
import select
import stat
import sys
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import BinaryIO, cast

from goldbench.errors import is_substitution
from goldbench.formats.faults import Fault, in_file, unreadable
from goldbench.text.display import shown

STDIN = "-"
PACKINGS = frozenset({".gz", ".zst", ".zstd"})
"""Suffixes of packed files; the suffix before them names the format."""
NOT_UTF8 = "is not UTF-8 here; convert the whole file to UTF-8"

PATIENCE_S = 30.0
"""How long to wait for the first byte of a named pipe."""

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))
"""The first bytes of a frame, or of one that pzstd writes before it and that readers skip."""


class Source:
    """A file to read. Standard input and pipes are copied to a temporary file, so that they can be read again."""

    def __init__(self, path: Path | str) -> None:
        self.name = "standard input" if str(path) == STDIN else shown(path)
        self.path = Path(path)
        self._stored = self.path
        """The file that is read: a copy of standard input or of a pipe, removed with this object."""
        if str(path) == STDIN:
            with in_file(self.name):
                self._store(sys.stdin.buffer)
        elif _is_pipe(self.path):
            with in_file(self.name), _opened_pipe(self.path) as pipe:
                self._store(pipe)

    def _store(self, stream: BinaryIO) -> None:
        import shutil
        import tempfile

        with tempfile.NamedTemporaryFile(prefix="goldbench-", delete=False) as copy:
            self._stored = Path(copy.name)
            weakref.finalize(self, self._stored.unlink, missing_ok=True)
            shutil.copyfileobj(stream, copy)

    @property
    def suffix(self) -> str:
        """The suffix that names the format, in lower case: ``.csv`` of ``run.csv.gz``."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        return next((suffix for suffix in reversed(suffixes) if suffix not in PACKINGS), "")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the bytes, unpacked. A fault that is raised inside the ``with`` block gets the name of the file.

        Raises:
            InputError: The file is missing, cannot be read, is not a file, or is cut short.
        """
        with in_file(self.name), self._raw() as raw, _unpacked(raw) as unpacked:
            yield unpacked

    def size(self) -> int:
        """Return the number of bytes as stored, without unpacking."""
        with in_file(self.name), self._raw() as raw:
            raw.seek(0, os.SEEK_END)
            return raw.tell()

    def is_packed(self) -> bool:
        """Return whether the bytes are compressed."""
        with in_file(self.name), self._raw() as raw:
            return raw.read(4).startswith((_GZIP, *_ZSTD))

    def read(self) -> bytes:
        """Return all bytes, unpacked and without the byte order mark of UTF-8.

        Raises:
            InputError: As ``open``; or the file is UTF-16.
        """
        with self.open() as file:
            return without_mark(file.read())

    @contextmanager
    def _raw(self) -> Iterator[BinaryIO]:
        try:
            if self._stored.is_char_device():
                raise Fault("is a device; give a file")
            file = self._stored.open("rb", buffering=0)
        except (OSError, ValueError) as error:
            raise unreadable(error) from None
        with file:
            yield cast("BinaryIO", file)


def without_mark(block: bytes) -> bytes:
    """Return the first bytes of a file without a byte order mark.

    Raises:
        Fault: The mark is that of UTF-16.
    """
    if block.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Fault("is UTF-16; convert the file to UTF-8")
    return block.removeprefix(b"\xef\xbb\xbf")


def decoded(block: bytes) -> str:
    """Return UTF-8 as text.

    Raises:
        Fault: A byte is not UTF-8; the fault has its line.
    """
    try:
        return block.decode()
    except UnicodeDecodeError as error:
        raise Fault(NOT_UTF8, line=block[: error.start].count(b"\n") + 1) from None


def _is_pipe(path: Path) -> bool:
    """Return whether this is a pipe, as a shell's ``<(command)`` is."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False  # opening the file will tell what is wrong


def _opened_pipe(path: Path) -> BinaryIO:
    """Open a pipe; of a named one, wait some time for what is written into it.

    Raises:
        Fault: Nothing is written into it.
    """
    if is_substitution(path):
        return path.open("rb", buffering=0)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not select.select([handle], [], [], PATIENCE_S)[0]:
        os.close(handle)
        raise Fault(f"is a pipe into which nothing was written for {PATIENCE_S:.0f} s; give a file")
    os.set_blocking(handle, True)
    return os.fdopen(handle, "rb", buffering=0)


@contextmanager
def _unpacked(raw: BinaryIO) -> Iterator[BinaryIO]:
    start = raw.read(4)
    raw.seek(0)
    if start.startswith(_GZIP):
        with _ending("gzip", (EOFError, gzip.BadGzipFile, zlib.error)), gzip.GzipFile(fileobj=raw) as file:
            yield cast("BinaryIO", file)
    elif start.startswith(_ZSTD):
        with _from_zstd(raw) as file:
            yield file
    else:
        with io.BufferedReader(cast("io.RawIOBase", raw)) as file:  # the plain file is unbuffered
            yield file


@contextmanager
def packed(raw: BinaryIO, suffix: str) -> Iterator[BinaryIO]:
    """Yield a file that writes into another one, packed as the suffix of its name says."""
    if suffix == ".gz":
        # Without a name and a time in its header the file has the same bytes each time.
        with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as file:
            yield cast("BinaryIO", file)
    elif suffix in PACKINGS:
        with _zstd().ZstdFile(raw, "wb") as file:
            yield cast("BinaryIO", file)
    else:
        yield raw


def _zstd() -> ModuleType:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


@contextmanager
def _from_zstd(raw: BinaryIO) -> Iterator[BinaryIO]:
    zstd = _zstd()
    with _ending("zstd", (EOFError, zstd.ZstdError)), zstd.ZstdFile(raw) as file:
        yield cast("BinaryIO", file)


@contextmanager
def _ending(packing: str, errors: tuple[type[Exception], ...]) -> Iterator[None]:
    try:
        yield
    except errors:
        raise Fault(f"is cut short or damaged: the {packing} stream does not end as it should") from None
