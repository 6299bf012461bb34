"""The pipeline's own JSON Lines files: written record by record, and read again without holding all records."""

from __future__ import annotations

import array
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from pydantic import ValidationError

from goldbench.errors import InputError, OutputError, plain_file
from goldbench.formats.faults import Fault, explain
from goldbench.formats.packed_files import packed
from goldbench.records.record import Record

R = TypeVar("R", bound=Record)

_LINE_BREAKS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"), ("\x85", "\\u0085"))
"""Characters that end a line for ``str.splitlines`` but not for JSON, and their escapes."""


_BUFFER = 256 * 2**10


def as_line(json_text: str) -> str:
    """Return a JSON text as one line, without characters that a reader may take for the end of a line."""
    if not json_text.isascii():
        for character, escape in _LINE_BREAKS:
            json_text = json_text.replace(character, escape)
    return json_text + "\n"


class RecordFile(Generic[R]):
    """Records in a JSON Lines file; see ``goldbench.ports.Stored``."""

    def __init__(self, path: Path, kind: type[R], offsets: array.array[int]) -> None:
        self.path = path
        self._kind = kind
        self._offsets = offsets

    @classmethod
    def write(cls, path: Path, kind: type[R], records: Iterable[R | bytes]) -> RecordFile[R]:
        """Write the records one by one and return them as stored.

        Args:
            path: The file, which is replaced.
            kind: The class of the records.
            records: The records, in the order of the file; or their lines as they stand in another such file.

        Raises:
            OSError: The disk is full or the folder cannot be written.
        """
        offsets = array.array("Q")
        position = 0
        with path.open("wb", buffering=_BUFFER) as file:
            for record in records:
                offsets.append(position)
                position += file.write(record if isinstance(record, bytes) else line_of(record))
        return cls(path, kind, offsets)

    @classmethod
    def open(cls, path: Path, kind: type[R]) -> RecordFile[R]:
        """Return the records of an existing file.

        Raises:
            InputError: The file is missing.
        """
        offsets = array.array("Q")
        position = 0
        try:
            with plain_file(path).open("rb") as file:
                for line in file:
                    offsets.append(position)
                    position += len(line)
        except FileNotFoundError:
            raise InputError(path, "is missing; run the build again") from None
        except OSError as error:
            raise InputError(path, f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
        return cls(path, kind, offsets)

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[R]:
        for number, line in enumerate(self.lines(), start=1):
            yield self.parse(line, number)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the file, each with its end."""
        with self.path.open("rb") as file:
            yield from file

    def at(self, position: int) -> R:
        """Return the record at this position, counted from 0."""
        with self.path.open("rb") as file:
            file.seek(self._offsets[position])
            return self.parse(file.readline(), position + 1)

    def parse(self, line: bytes, number: int) -> R:
        """Return the record of a line of this file, counted from 1.

        Raises:
            InputError: It is damaged.
        """
        try:
            return self._kind.model_validate_json(line)
        except ValidationError as error:
            raise Fault(explain(error), line=number).of(self.path) from None


def line_of(record: Record) -> bytes:
    """Return a record as the line of a file of such records."""
    return as_line(record.model_dump_json(exclude_defaults=True)).encode()


def write_lines(path: Path | None, records: Iterable[Record]) -> int:
    """Write records to a file, or to standard output if it is None, and return their number; see ``write_texts``.

    Raises:
        OSError: The file cannot be written.
    """
    return write_texts(path, (as_line(record.model_dump_json(exclude_defaults=True))[:-1] for record in records))


def write_texts(path: Path | None, lines: Iterable[str]) -> int:
    """Write lines to a file that appears only when it is complete, and return their number; None is standard output.

    The file is packed if the suffix of its name says so.

    Raises:
        OSError: The file cannot be written.
    """
    if path is None:
        return _write_lines(sys.stdout.buffer, lines)
    if path.exists() and not path.is_file():
        raise OutputError(f"{path}: is not a plain file and would be replaced; name another")
    path = path.resolve()
    draft = path.with_name(f".{path.name}.unfinished")
    try:
        with draft.open("wb") as raw, packed(raw, path.suffix.lower()) as file:
            count = _write_lines(file, lines)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return count


def _write_lines(file: BinaryIO, lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        file.write(f"{line}\n".encode())
        count += 1
    file.flush()
    return count
