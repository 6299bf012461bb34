"""Scorecards and baselines: JSON records in files of their own, replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TypeVar

from pydantic import ValidationError

from pipeline.errors import InputError, OutputError
from pipeline.text.display import shown
from schemas.record import Record

R = TypeVar("R", bound=Record)


def check_apart(outputs: Mapping[str, Path | None], inputs: Iterable[Path | str]) -> None:
    """Refuse to write over what is read, and to write two things to one place.

    Args:
        outputs: where is written to, by the option that says so; None where nothing is.
        inputs: files and folders that are read.

    Raises:
        OutputError: An output is an input, or a file of a build that is; or two outputs are the same file.
    """
    read = [Path(one) for one in inputs if os.path.exists(one)]  # noqa: PTH110  Path's own raises on a name too long
    places: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        other = places.setdefault(os.path.realpath(path), option)
        if other != option:
            raise OutputError(
                f"{shown(path)}: {option} and {other} cannot both be written to it; give another {option}"
            )
        if not os.path.exists(path):  # noqa: PTH110
            continue
        if any(path.samefile(one) or (one.is_dir() and _belongs(path, one)) for one in read):
            raise OutputError(f"{shown(path)}: is one of the inputs; give another {option}")


def _belongs(path: Path, folder: Path) -> bool:
    """Return whether a file is part of a gold set in a folder, not something that was put beside it."""
    inside = path.resolve()
    if not inside.is_relative_to(folder.resolve()):
        return False
    name = inside.relative_to(folder.resolve()).as_posix()
    try:
        files = json.loads((folder / "manifest.json").read_bytes())["files"]
    except (OSError, ValueError, KeyError, TypeError):
        files = ()
    return name in files or name in {"manifest.json", "dataset.json"} or name.startswith(("beir/", "trec/", "qrels"))


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
