"""``history.jsonl``: one line per system and time; lines are only appended."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from goldbench.errors import OutputError, plain_file
from goldbench.formats.faults import Fault, explain, in_file, read_rows, reason
from goldbench.formats.jsonl import as_line
from goldbench.formats.runs.scorecard_files import sync_folder
from goldbench.records.scorecard import HistoryEntry
from goldbench.text.display import shown

_PATIENCE = 30.0
"""Wait this many seconds for another process to finish writing; then give up."""
_BEGINNING = b'{"format":'


def read_history(path: Path) -> list[HistoryEntry]:
    """Return the lines of a history, oldest first; empty if the file does not exist yet.

    The beginning of a line that a killed process left at the end is ignored.

    Raises:
        InputError: The file cannot be read, or a line is not an entry.
    """
    with in_file(path):
        try:
            content = plain_file(path).read_bytes()
        except FileNotFoundError:
            return []
        lines = content[: _end(content)].splitlines()
        return list(read_rows(((number, line) for number, line in enumerate(lines, 1) if line.strip()), _entry))


def append_history(path: Path, entries: Sequence[HistoryEntry]) -> None:
    """Append the entries, all or none, and return when they are on the disk.

    A lock beside the file keeps other writers out. The beginning of a line that a killed process left is removed first.

    Raises:
        InputError: The file is not a history; it is left as it is.
        OutputError: The file cannot be written, or another process keeps the lock too long.
    """
    added = "".join(as_line(entry.model_dump_json()) for entry in entries).encode()
    target = path.resolve()
    try:
        with FileLock(target.with_name(f".{target.name}.lock"), timeout=_PATIENCE):
            new = not target.exists()
            _append(target, added)
            if new:
                sync_folder(target.parent)
    except Timeout:
        raise OutputError(f"{shown(path)}: another process has held it for {_PATIENCE:.0f} s; try again") from None
    except Fault as fault:
        raise fault.of(path) from None
    except OSError as error:
        raise OutputError(f"{shown(path)}: cannot be written ({reason(error)})") from None


def _append(path: Path, added: bytes) -> None:
    with path.open("ab+") as file:
        file.seek(0)
        content = file.read()
        end = _end(content)
        file.truncate(end)
        try:
            file.write((b"\n" if end and not content[:end].endswith(b"\n") else b"") + added)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.truncate(path, end)  # the disk is full; remove the half line
            raise


def _end(content: bytes) -> int:
    """Return where the last complete line ends; only the beginning of an entry may follow it."""
    last = content.rfind(b"\n") + 1
    tail = content[last:]
    with contextlib.suppress(ValidationError):
        HistoryEntry.model_validate_json(tail)
        return len(content)
    if tail.strip() and tail[: len(_BEGINNING)] != _BEGINNING[: len(tail)]:
        raise Fault("is not a line of a history", line=content.count(b"\n") + 1)
    return last


def _entry(_: int, line: bytes) -> HistoryEntry:
    try:
        return HistoryEntry.model_validate_json(line)
    except ValidationError as error:
        raise Fault(f"is not a line of a history: {explain(error)}") from None
