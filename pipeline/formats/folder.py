"""The run folder: written beside itself, put in place at the end, never mixed with another run."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pipeline.errors import InputError, OutputError
from schemas.manifest import Manifest

MANIFEST = "manifest.json"
_STAGING = ".unfinished"
_LOCK = ".lock"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder.

    Raises:
        InputError: There is none, or it is damaged.
    """
    path = folder / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(path, "is missing: this is not the folder of a finished run") from None
    except NotADirectoryError:
        raise InputError(folder, "is a file, not the folder of a run") from None
    except ValidationError:
        raise InputError(path, "is damaged: run the build again") from None


def check_usable(folder: Path, *, config_sha256: str) -> None:
    """Refuse an output folder that holds something else.

    Raises:
        OutputError: The folder is a file, holds files of another kind, or a run with another configuration.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give a folder that does not exist yet")
    if not (folder / MANIFEST).exists():
        names = {entry.name for entry in folder.iterdir()}
        if _STAGING not in names and names - {_LOCK}:
            raise OutputError(f"{folder}: holds files that are not a goldset run; give another --out")
        return
    if read_manifest(folder).config_sha256 != config_sha256:
        raise OutputError(f"{folder}: holds a run with other settings; give another --out, or --replace to replace it")


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Give a place to write to, inside the folder; whatever is left there at the end is removed.

    Raises:
        OutputError: The folder cannot be made or written, another build writes to it, or the disk is full.
    """
    place = folder / _STAGING
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / _LOCK, timeout=0)
        try:
            with lock:
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                try:
                    yield place
                finally:
                    shutil.rmtree(place, ignore_errors=True)
                    (folder / _LOCK).unlink(missing_ok=True)
        except Timeout:
            raise OutputError(f"{folder}: another build is writing here; wait for it or give another --out") from None
        finally:
            with contextlib.suppress(OSError):
                folder.rmdir()  # only where nothing was written


def publish(place: Path, folder: Path, manifest: Manifest, *, stale: Iterator[str] | None = None) -> Manifest:
    """Move what was written into the folder, the manifest last, and return it with the files' digests.

    Files of an earlier run that this one did not write again (named in ``stale``) are removed.
    """
    written = sorted(path for path in place.rglob("*") if path.is_file())
    digests = {path.relative_to(place).as_posix(): _sha256(path) for path in written}
    (folder / MANIFEST).unlink(missing_ok=True)
    for path in written:
        target = folder / path.relative_to(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)
    for name in stale or ():
        if name not in digests:
            (folder / name).unlink(missing_ok=True)
    finished = manifest.model_copy(update={"files": digests})
    draft = place / MANIFEST
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        file.write(finished.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / MANIFEST)
    return finished


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the operating system says of a write into one line.

    Raises:
        OutputError: The disk is full, the folder is read-only or not allowed.
    """
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise OutputError(f"{folder}: the disk is full; free space and run the same command again") from None
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
            raise OutputError(f"{folder}: cannot be written ({os.strerror(error.errno)})") from None
        raise


def changed_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield one line for every file of the run that is missing or not as it was written."""
    for name, digest in manifest.files.items():
        path = folder / name
        if not path.is_file():
            yield f"{name}: is missing"
        elif _sha256(path) != digest:
            yield f"{name}: has changed since it was written"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
