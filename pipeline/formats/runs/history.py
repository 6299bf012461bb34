"""``history.jsonl``: one line per system and time, only ever added to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pipeline.errors import InputError, OutputError
from pipeline.formats.jsonl import as_line
from pipeline.formats.runs.scorecard_files import explain, sync_folder
from pipeline.text.display import shown
from schemas.scorecard import HistoryEntry

_PATIENCE = 30.0
_BEGINNING = b'{"format":'


def read_history(path: Path) -> list[HistoryEntry]:
    """Return the lines of a history, oldest first; none where there is no file yet.

    What a killed process left of a line at the end is passed over.

    Raises:
        InputError: The file cannot be read or a line is no entry.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(shown(path), f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
    lines = content[: _end(path, content)].splitlines()
    return [_entry(path, line, number) for number, line in enumerate(lines, start=1) if line.strip()]


def append_history(path: Path, entries: Sequence[HistoryEntry]) -> None:
    """Add the entries, all or none, and return when they are on the disk.

    One writer at a time, by a lock beside the file. What a killed process left of a line is cut off first.

    Raises:
        InputError: The file is something else; it is left as it is.
        OutputError: The file cannot be written, or another process holds it for too long.
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
    except OSError as error:
        raise OutputError(
            f"{shown(path)}: cannot be written ({(error.strerror or 'unknown reason').lower()})"
        ) from None


def _append(path: Path, added: bytes) -> None:
    with path.open("ab+") as file:
        file.seek(0)
        content = file.read()
        end = _end(path, content)
        file.truncate(end)
        try:
            file.write((b"\n" if end and not content[:end].endswith(b"\n") else b"") + added)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            os.truncate(path, end)  # the disk is full: half a line is worse than none
            raise


def _end(path: Path, content: bytes) -> int:
    """Return where the last whole line ends; what follows is the beginning of a line of ours, and nothing else."""
    last = content.rfind(b"\n") + 1
    tail = content[last:]
    with contextlib.suppress(ValidationError):
        HistoryEntry.model_validate_json(tail)
        return len(content)
    if tail.strip() and tail[: len(_BEGINNING)] != _BEGINNING[: len(tail)]:
        raise InputError(shown(path), "is no line of a history", line=content.count(b"\n") + 1)
    return last


def _entry(path: Path, line: bytes, number: int) -> HistoryEntry:
    try:
        return HistoryEntry.model_validate_json(line)
    except ValidationError as error:
        raise InputError(shown(path), f"is no line of a history: {explain(error)}", line=number) from None
