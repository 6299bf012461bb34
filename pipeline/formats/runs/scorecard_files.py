"""Scorecards and baselines: JSON records in files of their own, replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

from pydantic import ValidationError

from pipeline.errors import InputError, OutputError
from pipeline.text.display import shown
from schemas.record import Record

R = TypeVar("R", bound=Record)


def read_record(path: Path, kind: type[R]) -> R:
    """Return the record in a JSON file.

    Raises:
        InputError: The file is missing or cannot be read, or holds something else.
    """
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(shown(path), "is missing") from None
    except OSError as error:
        raise InputError(shown(path), f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
    except ValidationError as error:
        raise InputError(shown(path), f"is no {kind.__name__.lower()}: {explain(error)}") from None


def write_record(path: Path, record: Record) -> None:
    """Write a record as indented JSON; the file is the old one or the new one, even if the machine goes down.

    Raises:
        OutputError: The file cannot be written.
    """
    write_whole(path, (record.model_dump_json(indent=2) + "\n").encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is the old one or the new one at any time; a link stays a link, a pipe or a device itself.

    Raises:
        OutputError: It cannot be written.
    """
    try:
        if _is_stream(path):
            path.write_bytes(content)
            return
        target = path.resolve()
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as draft:
            try:
                draft.write(content)
                draft.flush()
                os.fsync(draft.fileno())
                Path(draft.name).chmod(_mode(target))
                Path(draft.name).replace(target)
            except BaseException:
                Path(draft.name).unlink(missing_ok=True)
                raise
        sync_folder(target.parent)
    except OSError as error:
        raise OutputError(
            f"{shown(path)}: cannot be written ({(error.strerror or 'unknown reason').lower()})"
        ) from None


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder last, where the system can."""
    with contextlib.suppress(OSError):  # Windows opens no folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def explain(error: ValidationError) -> str:
    """Return the first of what is wrong, without the value."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"][:3])
    return f"{where}: {first['msg']}" if where else first["msg"]


def _is_stream(path: Path) -> bool:
    """Return whether there is a pipe or a device, which a file must not take the place of."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def _mode(target: Path) -> int:
    """Return the mode the file has, or the one a new file gets."""
    with contextlib.suppress(FileNotFoundError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
