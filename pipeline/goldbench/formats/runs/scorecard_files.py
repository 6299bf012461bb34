"""Scorecards and baselines: JSON records in files of their own, replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from goldbench.errors import OutputError, no_such_folder, plain_file
from goldbench.formats.faults import Fault, explain, in_file, reason
from goldbench.text.display import shown

if TYPE_CHECKING:
    from goldbench.records.record import Record

R = TypeVar("R", bound="Record")

_DRAFT = ".unfinished"
_LEFT_S = 60
"""The seconds after which nobody writes a draft any more."""


def scorecard_beside(page: Path) -> Path:
    """Return the file of the scorecard that belongs to a page.

    Raises:
        OutputError: The page has no file name.
    """
    if not page.name or page.is_dir():
        raise OutputError(f"{page}: is a folder; name the file of the page")
    return page.with_name("scorecard.json")


def read_record(path: Path, kind: type[R]) -> R:
    """Return the record in a JSON file.

    Raises:
        InputError: The file is missing or cannot be read, or is not such a record.
    """
    with in_file(path):
        return parsed(plain_file(path).read_bytes(), kind)


def parsed(block: bytes, kind: type[R]) -> R:
    """Return the record in the bytes of a JSON file.

    Raises:
        Fault: They hold no such record.
    """
    from pydantic import ValidationError

    try:
        return kind.model_validate_json(block)
    except ValidationError as error:
        raise Fault(f"is not a {kind.__name__.lower()}: {explain(error)}") from None


def write_record(path: Path, record: Record) -> None:
    """Write a record as indented JSON; a crash leaves the old file or the new one.

    Raises:
        OutputError: The file cannot be written.
    """
    write_whole(path, (record.model_dump_json(indent=2) + "\n").encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file; a crash leaves the old one or the new one. A link, a pipe or a device stays what it is.

    A draft that a killed process left beside the file is removed a minute later, when the file is next written.

    Raises:
        OutputError: The file cannot be written.
    """
    from tempfile import NamedTemporaryFile

    try:
        if _is_stream(path):
            path.write_bytes(content)
            return
        target = path.resolve()
        with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", suffix=_DRAFT, delete=False) as draft:
            name = Path(draft.name)
        try:
            with name.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            name.chmod(_mode(target))
            name.replace(target)  # after it is closed: Windows replaces no open file
        except BaseException:
            name.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
        _remove_left(target)
    except FileNotFoundError:
        raise OutputError(shown(no_such_folder(path))) from None
    except OSError as error:
        raise OutputError(f"{shown(path)}: cannot be written ({reason(error)})") from None


def _remove_left(target: Path) -> None:
    """Remove old drafts of a file; a young one may be that of another process, which still writes it."""
    for draft in target.parent.glob(f".{glob.escape(target.name)}.*{_DRAFT}"):
        with contextlib.suppress(OSError):  # another process was faster
            if time.time() - draft.stat().st_mtime > _LEFT_S:
                draft.unlink()


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in the folder survives a crash, if the system can."""
    with contextlib.suppress(OSError):  # Windows cannot open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_stream(path: Path) -> bool:
    """Return whether the path is a pipe or a device, which must not be replaced by a file."""
    with contextlib.suppress(FileNotFoundError):
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def _mode(target: Path) -> int:
    """Return the mode of the file, or that of a new file."""
    with contextlib.suppress(FileNotFoundError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
