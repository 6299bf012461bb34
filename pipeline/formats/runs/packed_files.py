"""The bytes of judgments and runs: plain, gzip or zstd, from a file or from standard input, always to be read again."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from pipeline.errors import InputError
from pipeline.text.display import shown

STDIN = "-"

_GZIP = b"\x1f\x8b"
_ZSTD = (b"\x28\xb5\x2f\xfd", *(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60)))
"""A frame, or one of those that pzstd puts before it and readers skip."""

_BROKEN = "is cut short or damaged"


class Source:
    """A file of judgments or results. Standard input and pipes are kept in a temporary file, to be read again."""

    def __init__(self, path: Path | str) -> None:
        self.name = "standard input" if str(path) == STDIN else shown(path)
        self.path = Path(path)
        self._copy: IO[bytes] | None = None
        if str(path) == STDIN:
            self._copy = _kept(sys.stdin.buffer)
        elif _is_pipe(self.path):
            with self._raw() as pipe:
                self._copy = _kept(pipe)
        if self._copy is not None:
            weakref.finalize(self, self._copy.close)

    @property
    def suffix(self) -> str:
        """The last suffix that tells the format, in lower case: ``.csv`` of ``run.csv.gz``."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        return next((suffix for suffix in reversed(suffixes) if suffix not in {".gz", ".zst", ".zstd"}), "")

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the bytes, unpacked.

        Raises:
            InputError: the file is missing, cannot be read, is no file, or is cut short.
        """
        try:
            with self._raw() as raw, _unpacked(raw) as unpacked:
                yield unpacked
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise InputError(self.name, f"{_BROKEN}: the gzip stream does not end as it should") from None
        except OSError as error:
            if error.errno is None:
                raise InputError(self.name, f"{_BROKEN}: the zstd stream does not end as it should") from None
            raise InputError(self.name, f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None

    def size(self) -> int:
        """Return how many bytes there are, packed as they are."""
        with self._raw() as raw:
            raw.seek(0, os.SEEK_END)
            return raw.tell()

    def is_packed(self) -> bool:
        """Return whether the bytes are compressed."""
        with self._raw() as raw:
            return raw.read(4).startswith((_GZIP, *_ZSTD))

    def read(self) -> bytes:
        """Return all bytes, unpacked.

        Raises:
            InputError: as ``open``.
        """
        with self.open() as file:
            return file.read()

    @contextmanager
    def _raw(self) -> Iterator[BinaryIO]:
        if self._copy is not None:
            with os.fdopen(os.dup(self._copy.fileno()), "rb", buffering=0) as copy:  # what reads it may close it
                copy.seek(0)
                yield cast("BinaryIO", copy)
            return
        try:
            file = self.path.open("rb", buffering=0)
        except FileNotFoundError:
            raise InputError(self.name, "there is no such file") from None
        except OSError as error:
            raise InputError(self.name, f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
        except ValueError:
            raise InputError(self.name, "is not a valid path") from None
        with file:
            yield cast("BinaryIO", file)


def _is_pipe(path: Path) -> bool:
    """Return whether this is a pipe, as a shell's ``<(command)`` is."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except (OSError, ValueError):
        return False  # opening it says what is wrong


def _kept(stream: BinaryIO) -> IO[bytes]:
    import shutil
    import tempfile

    copy = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the source
    shutil.copyfileobj(stream, copy)
    copy.flush()
    return copy


@contextmanager
def _unpacked(raw: BinaryIO) -> Iterator[BinaryIO]:
    start = raw.read(4)
    raw.seek(0)
    if start.startswith(_GZIP):
        with gzip.open(raw) as file:
            yield cast("BinaryIO", file)
    elif start.startswith(_ZSTD):
        with _zstd(raw) as file:
            yield file
    else:
        yield raw


def _zstd(raw: BinaryIO) -> BinaryIO:
    import pyarrow

    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(raw, mode="r"), "zstd")
    return cast("BinaryIO", io.BufferedReader(stream))
