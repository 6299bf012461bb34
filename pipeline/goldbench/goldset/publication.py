"""Putting a run folder in place: written beside itself, moved at the end, never mixed with another run."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import ValidationError

from goldbench.errors import InputError, Message, OutputError, explained, plain_file
from goldbench.formats.faults import unreadable
from goldbench.goldset.file_names import MANIFEST
from goldbench.records.manifest import Manifest

STAGING = ".unfinished"
LOCK = ".lock"
_PUBLISHING = ".publishing"
"""The mark of a staging place whose files are being moved into the folder; it lists the files to remove from there."""


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a run folder; a run that ended while it was put in place is put in place first.

    Raises:
        InputError: There is none, or it is damaged.
    """
    path = folder / MANIFEST
    _finish_alone(folder)
    try:
        return Manifest.model_validate_json(plain_file(path).read_bytes())
    except FileNotFoundError:
        if not folder.exists():
            raise InputError(folder, "not found; give the folder of a gold set") from None
        wanted = "give the folder of a set that goldbench built or imported"
        raise InputError(folder, f"holds no {MANIFEST}; {wanted}") from None
    except NotADirectoryError:
        raise InputError(folder, "is a file; give the folder of a gold set") from None
    except OSError as error:
        raise unreadable(error).of(path) from None
    except ValidationError:
        raise InputError(path, "is damaged: run the build again") from None


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Lock the folder and yield a place to write a set to; what is left in that place at the end is removed.

    The place lies inside a folder that exists, and beside one that does not: `publish` renames it to the folder.
    Only a run that ends while its files are being moved leaves the place behind. The next run first moves the other
    files; if it cannot, it replaces the run as a whole. The mark stays until then.

    Raises:
        OutputError: The folder cannot be made or written, or another command writes to it.
    """
    with _staging_inside(folder) if folder.exists() else _staging_beside(folder) as staged:
        yield staged


@contextlib.contextmanager
def _staging_inside(folder: Path) -> Iterator[Path]:
    staged = folder / STAGING
    with _locked(folder / LOCK, folder):
        with explained(folder):
            finish_publishing(folder)
            staged.mkdir(exist_ok=True)
            for entry in staged.iterdir():
                _remove(entry)
        try:
            yield staged
        finally:
            if not is_half_published(folder):
                shutil.rmtree(staged, ignore_errors=True)


@contextlib.contextmanager
def _staging_beside(folder: Path) -> Iterator[Path]:
    folder = folder.absolute()
    staged = folder.with_name(f".{folder.name}{STAGING}")
    _check_free(folder)
    with _locked(folder.with_name(f".{folder.name}{LOCK}"), folder):
        _check_free(folder)  # another process may have made it meanwhile
        with explained(folder):
            shutil.rmtree(staged, ignore_errors=True)
            staged.mkdir()
        try:
            yield staged
        finally:
            shutil.rmtree(staged, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path, folder: Path) -> Iterator[None]:
    """Hold the lock file of a folder that is written to.

    The file is never removed: a process that opened it before would lock the removed file, and the next one a new file.

    Raises:
        OutputError: The file cannot be made, or another process holds the lock.
    """
    lock = FileLock(path, timeout=0)
    with explained(folder):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            raise OutputError(
                Message("{}: another command is writing here; wait for it or give another {out=}", folder)
            ) from None
    try:
        yield
    finally:
        lock.release()


def _remove(entry: Path) -> None:
    """Remove what an earlier build left in the staging place, except the mark of a folder that is half moved."""
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    elif entry.name != _PUBLISHING:
        entry.unlink()


def publish(
    staged: Path, folder: Path, manifest: Manifest, *, stale: Iterable[str] = (), kept: Mapping[str, str] | None = None
) -> Manifest:
    """Move the written files into the folder, the manifest last, and return the manifest with their digests.

    Args:
        staged: The staging place with the files; one beside the folder becomes the folder with one rename.
        folder: The run folder.
        manifest: The record of the run, without its files.
        stale: The files of an earlier run, removed unless they are part of this one.
        kept: The digests of files that stay in the folder as they are.
    """
    mark = staged / _PUBLISHING
    written = sorted(path for path in staged.rglob("*") if path.is_file() and path != mark)
    digests = {path.relative_to(staged).as_posix(): sha256_of(path) for path in written}
    finished = manifest.model_copy(update={"files": dict(sorted({**(kept or {}), **digests}.items()))})
    draft = staged / MANIFEST
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        file.write(finished.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    if staged.parent != folder:
        staged.rename(folder)
        return finished
    mark.write_text(json.dumps([name for name in stale if name not in finished.files]), encoding="utf-8")
    (folder / MANIFEST).unlink(missing_ok=True)
    _move(staged, folder, written)
    _remove_stale(mark, folder)
    draft.replace(folder / MANIFEST)
    mark.unlink()
    return finished


def _move(staged: Path, folder: Path, written: Iterable[Path]) -> None:
    for path in written:
        target = folder / path.relative_to(staged)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def _remove_stale(mark: Path, folder: Path) -> None:
    """Remove the files of an earlier run that the mark names."""
    for name in json.loads(mark.read_bytes() or b"[]"):
        if is_inside(folder, str(name)):
            (folder / str(name)).unlink(missing_ok=True)


def is_half_published(folder: Path) -> bool:
    """Whether a run ended while its files were being moved into this folder."""
    return (folder / STAGING / _PUBLISHING).exists() and not (folder / MANIFEST).exists()


def finish_publishing(folder: Path) -> None:
    """Move the remaining files of a run that ended while its files were being moved; do nothing without such a run.

    The caller holds the lock of the folder.
    """
    staged = folder / STAGING
    draft = staged / MANIFEST
    mark = staged / _PUBLISHING
    if not is_half_published(folder) or not draft.is_file():
        return
    try:
        manifest = Manifest.model_validate_json(draft.read_bytes())
    except ValidationError:
        return
    left = [staged / name for name in manifest.files if is_inside(staged, name) and (staged / name).is_file()]
    _move(staged, folder, left)
    if next(changed_files(folder, manifest), None) is None:
        _remove_stale(mark, folder)
        draft.replace(folder / MANIFEST)
        mark.unlink()


def _finish_alone(folder: Path) -> None:
    """Finish a publishing that was interrupted, unless another process writes to the folder or nobody may."""
    if not (folder / STAGING / _PUBLISHING).exists():
        return
    with contextlib.suppress(Timeout, OSError), FileLock(folder / LOCK, timeout=0):
        finish_publishing(folder)
        if not is_half_published(folder):
            shutil.rmtree(folder / STAGING, ignore_errors=True)


def changed_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield one line for every file of the run that is missing or was changed since it was written."""
    for name, digest in manifest.files.items():
        path = folder / name
        if not is_inside(folder, name):
            yield f"{name!r}: not a file of this folder"
        elif not path.is_file():
            yield f"{name}: is missing"
        elif sha256_of(path) != digest:
            yield f"{name}: has changed since it was written"


def is_inside(folder: Path, name: str) -> bool:
    """Whether a name from a manifest is that of a file below the folder: anybody can write a manifest."""
    return (folder / name).resolve().is_relative_to(folder.resolve())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a place beside a folder that is to be made; it becomes the folder at the end, or is removed after an error.

    A place that an earlier process left behind, because it was killed, is replaced.

    Raises:
        OutputError: The folder exists, cannot be made, or is being made by another process.
    """
    with _staging_beside(folder) as staged:
        yield staged
        with explained(folder):
            staged.rename(folder)


def _check_free(folder: Path) -> None:
    with explained(folder):
        if folder.exists() or folder.is_symlink():
            raise taken(folder)


def taken(folder: Path) -> OutputError:
    """Return the error that says that a folder to be made exists."""
    return OutputError(Message("{}: exists already; give another {out=}, or remove it first", folder))
