"""The run folder: written beside itself, put in place at the end, never mixed with another run."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import shutil
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import ValidationError

from pipeline.errors import InputError, OutputError
from schemas.corpus import Document
from schemas.manifest import Manifest

MANIFEST, CONFIG, DOCUMENTS = "manifest.json", "0-config.toml", "0-documents.jsonl"
UNREVIEWED = "unreviewed"
"""Where a review that was applied keeps what was there before."""
_STAGING = ".unfinished"
_LOCK = ".lock"
_PUBLISHING = ".publishing"
_DOCUMENTS_COMPARED = 10_000


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
    except OSError as error:
        raise InputError(path, f"cannot be read ({(error.strerror or 'unknown reason').lower()})") from None
    except ValidationError:
        raise InputError(path, "is damaged: run the build again") from None


def check_usable(
    folder: Path,
    *,
    settings: Mapping[str, Any],
    config_sha256: str,
    replace: bool,
    grades: bool = False,
    reviewed: bool = False,
) -> tuple[str, ...]:
    """Return the files of an earlier run in the folder; refuse a folder that holds something else.

    Args:
        folder: The output folder; it need not exist.
        settings: What shapes the new run, to name what differs.
        config_sha256: The fingerprint of the new run.
        replace: Whether a run with other settings, or a damaged one, may be replaced.
        grades: Whether the new run is graded as well: without its grades it may not take the place of a graded one.
        reviewed: Whether the new run holds people's decisions itself.

    Raises:
        OutputError: The folder is a file, holds files of another kind, another run, a reviewed one, or a graded one.
    """
    if not folder.exists():
        return ()
    if not folder.is_dir():
        raise OutputError(f"{folder}: is a file; give a folder that does not exist yet")
    names = {entry.name for entry in folder.iterdir()}
    if MANIFEST not in names:
        if _STAGING not in names and names - {_LOCK}:
            raise OutputError(f"{folder}: holds files that are not a goldset run; give another --out")
        return ()
    try:
        manifest = read_manifest(folder)
    except InputError:
        if not replace:
            raise OutputError(
                f"{folder / MANIFEST}: is damaged; give another --out, or --replace to replace it"
            ) from None
        return ()
    if manifest.config_sha256 != config_sha256 and not replace:
        differs = ", ".join(_differing(folder / CONFIG, settings)) or "its prompts"
        raise OutputError(
            f"{folder}: holds a run with other settings ({differs}); give another --out, or --replace to replace it"
        )
    if any((folder / UNREVIEWED).glob("*")) and not reviewed and not replace:
        raise OutputError(
            f"{folder}: holds what people decided in a review, which a new set would replace; give another --out, or "
            "--replace to lose it"
        )
    if manifest.grading is not None and not grades and not replace:
        raise OutputError(
            f"{folder}: holds a graded set, which an ungraded one would replace; give --grade to grade it again "
            "(no answer is paid twice), another --out, or --replace to lose the grades"
        )
    return tuple(manifest.files)


def check_same_corpus(folder: Path, documents: Iterable[Document]) -> None:
    """Refuse to put a run over one of which no document is left.

    Raises:
        OutputError: The run in the folder is of other documents.
    """
    path = folder / DOCUMENTS
    if not (folder / MANIFEST).exists() or not path.is_file():
        return
    with path.open("rb") as file:
        earlier = {_doc_id(line) for line in itertools.islice(file, _DOCUMENTS_COMPARED)}
    if earlier and earlier.isdisjoint(document.doc_id for document in documents):
        raise OutputError(f"{folder}: holds a run of other documents; give another --out, or --replace to replace it")


def _doc_id(line: bytes) -> str:
    try:
        return str(json.loads(line)["doc_id"])
    except (ValueError, KeyError, TypeError):
        return ""


def _differing(path: Path, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the configuration in the folder that are not as in the settings."""
    try:
        earlier = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    for table in sorted(earlier.keys() | settings.keys()):
        old, new = earlier.get(table, {}), settings.get(table, {})
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                yield f"{table}.{key}"


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Give a place to write to, inside the folder; whatever is left there at the end is removed.

    Only when a run ends while its files are being put in place is it left. The next one then first puts the rest in
    place, or, where that cannot be done, replaces it as a whole: the mark stays until then.

    Raises:
        OutputError: The folder cannot be made or written, or another build writes to it.
    """
    place = folder / _STAGING
    lock = FileLock(folder / _LOCK, timeout=0)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            raise OutputError(f"{folder}: another build is writing here; wait for it or give another --out") from None
    try:
        with explained(folder):
            finish_publishing(folder)
            place.mkdir(exist_ok=True)
            for entry in place.iterdir():
                _remove(entry)
        yield place
    finally:
        if not (place / _PUBLISHING).exists():
            shutil.rmtree(place, ignore_errors=True)
        lock.release()
        if {entry.name for entry in folder.iterdir()} <= {_LOCK}:
            (folder / _LOCK).unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                folder.rmdir()


def _remove(entry: Path) -> None:
    """Remove what an earlier build left in the staging place, but not the mark that the folder is half put in place."""
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    elif entry.name != _PUBLISHING:
        entry.unlink()


def publish(
    place: Path,
    folder: Path,
    manifest: Manifest,
    *,
    stale: Iterable[str] = (),
    kept: Mapping[str, str] | None = None,
) -> Manifest:
    """Move what was written into the folder, the manifest last, and return it with the files' digests.

    Files of an earlier run that this one did not write again (named in ``stale``) are removed. ``kept`` are the digests
    of files that stay in the folder as they are.
    """
    mark = place / _PUBLISHING
    written = sorted(path for path in place.rglob("*") if path.is_file() and path != mark)
    digests = {path.relative_to(place).as_posix(): _sha256(path) for path in written}
    finished = manifest.model_copy(update={"files": dict(sorted({**(kept or {}), **digests}.items()))})
    draft = place / MANIFEST
    with draft.open("w", encoding="utf-8", newline="\n") as file:
        file.write(finished.model_dump_json(indent=1) + "\n")
        file.flush()
        os.fsync(file.fileno())
    mark.touch()
    (folder / MANIFEST).unlink(missing_ok=True)
    _move(place, folder, written)
    for name in stale:
        if name not in finished.files and _is_ours(folder, name):
            (folder / name).unlink(missing_ok=True)
    draft.replace(folder / MANIFEST)
    mark.unlink()
    return finished


def _move(place: Path, folder: Path, written: Iterable[Path]) -> None:
    for path in written:
        target = folder / path.relative_to(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def is_half_published(folder: Path) -> bool:
    """Whether a run ended while its files were being put in place here."""
    return (folder / _STAGING / _PUBLISHING).exists() and not (folder / MANIFEST).exists()


def finish_publishing(folder: Path) -> None:
    """Put the rest of a run in place that ended while its files were being put there; do nothing without one.

    Nobody else may be writing to the folder.
    """
    place = folder / _STAGING
    draft, mark = place / MANIFEST, place / _PUBLISHING
    if not is_half_published(folder) or not draft.is_file():
        return
    try:
        manifest = Manifest.model_validate_json(draft.read_bytes())
    except ValidationError:
        return
    left = [place / name for name in manifest.files if _is_ours(place, name) and (place / name).is_file()]
    _move(place, folder, left)
    if next(changed_files(folder, manifest), None) is None:
        draft.replace(folder / MANIFEST)
        mark.unlink()


def _is_ours(folder: Path, name: str) -> bool:
    """Whether a name from a manifest is that of a file below the folder: manifests can be written by anybody."""
    return (folder / name).resolve().is_relative_to(folder.resolve())


@contextlib.contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turn what the operating system says of a write into one line.

    Raises:
        OutputError: The disk is full, the folder is read-only or not allowed.
    """
    try:
        yield
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise OutputError(f"{folder}: the disk is full; free space and run the same command again") from None
        if error.errno is not None:
            raise OutputError(f"{folder}: cannot be written ({os.strerror(error.errno).lower()})") from None
        raise


def changed_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Yield one line for every file of the run that is missing or not as it was written."""
    for name, digest in manifest.files.items():
        path = folder / name
        if not _is_ours(folder, name):
            yield f"{name!r}: is no file of this folder"
        elif not path.is_file():
            yield f"{name}: is missing"
        elif _sha256(path) != digest:
            yield f"{name}: has changed since it was written"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
