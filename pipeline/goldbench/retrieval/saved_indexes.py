"""Indexes kept in a folder for the next command, which maps them into memory instead of making them again.

An index is found by a digest of the corpus, the settings, `REVISIONS`, and the versions of goldbench, of Unicode
and of packages that cut texts into terms. It is out of date only if terms or scores changed under the same revision.
Whatever goes wrong with the folder costs time alone: the index is then made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tokenize import TokenError
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from goldbench.retrieval.system_settings import REVISIONS

Arrays: TypeAlias = Mapping[str, npt.NDArray[Any]]
Index = TypeVar("Index")
Scalar = TypeVar("Scalar", bound=np.generic)

FOLDER = ".index"
"""The folder of the indexes of a gold set, in the folder of the set."""
_WORTH_SAVING = 5_000
"""Passages below which an index is made faster than it is worth a file."""
_CUTTERS = ("goldbench", "PyStemmer", "jieba", "regex")
"""Packages whose version may change the terms of a text."""
_DAMAGES = (OSError, ValueError, RecursionError, TokenError)
"""What loading and checking a missing or damaged index raises; the last two are numpy's and JSON's answers to junk."""
_KEPT = 4
"""Indexes that stay in a folder when another one is saved: the most recently used ones, and all of this command."""
_PLACE = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}")
"""The name of an index: a digest of its settings, and one of the passages and versions."""
_BEGUN, _LEFT_S = "begun-", 3600.0
"""Folders that are being written begin like this; those that are older in seconds were left by a process that died."""


class SavedIndexes:
    """Indexes in a folder.

    Args:
        folder: The folder, made when it is needed; None keeps nothing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._passages: Mapping[str, str] | None = None
        self._digest = ""
        self._used: set[Path] = set()

    def kept(
        self,
        settings: str,
        passages: Mapping[str, str],
        *,
        names: Sequence[str],
        make: Callable[[], Arrays],
        opened: Callable[[Arrays], Index],
    ) -> Index:
        """Return an index over the arrays that are kept, else over those that are made, and keep these if it pays.

        Args:
            settings: All that shapes the index beside the passages.
            passages: Their texts by id.
            names: The names of the arrays.
            make: Makes the arrays.
            opened: Returns the index over arrays; raises ValueError if they do not fit each other.
        """
        if self._folder is None or len(passages) < _WORTH_SAVING:
            return opened(make())
        setting = hashlib.blake2b(settings.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        place = self._folder / f"{setting}-{self._digest_of(passages)}"
        self._used.add(place)
        with contextlib.suppress(*_DAMAGES):
            index = opened({name: np.lib.format.open_memmap(place / f"{name}.npy", mode="r") for name in names})
            with contextlib.suppress(OSError):
                os.utime(place)  # the time of its last use
            return index
        arrays = make()
        self._save(arrays, place, setting)
        return opened(arrays)

    def _digest_of(self, passages: Mapping[str, str]) -> str:
        if passages is not self._passages:
            digest = hashlib.blake2b(_versions().encode(), digest_size=16)
            for doc_id, text in passages.items():
                part = json.dumps(doc_id).encode() + b"\n" + text.encode("utf-8", "surrogatepass")
                digest.update(len(part).to_bytes(8, "big") + part)
            self._passages, self._digest = passages, digest.hexdigest()
        return self._digest

    def _save(self, arrays: Arrays, place: Path, setting: str) -> None:
        """Write arrays into a new folder that gets its name when it is complete, and remove what it replaces."""
        assert self._folder is not None
        begun: Path | None = None
        try:
            self._folder.mkdir(exist_ok=True)
            for other in self._outdated(setting):
                shutil.rmtree(other, ignore_errors=True)
            begun = Path(tempfile.mkdtemp(prefix=_BEGUN, dir=self._folder))
            for name, array in arrays.items():
                np.save(begun / f"{name}.npy", array, allow_pickle=False)
            begun.replace(place)
        except OSError:  # no room, no right to write, or another process was faster
            if begun is not None:
                shutil.rmtree(begun, ignore_errors=True)

    def _outdated(self, setting: str) -> Iterator[Path]:
        """Yield the folders to remove before an index is saved.

        These are the indexes of its setting, those that were not used for longest, and what killed processes left.
        """
        assert self._folder is not None
        by_use = {folder: folder.stat().st_mtime for folder in self._folder.iterdir()}
        others = []
        for folder in sorted(by_use, key=lambda one: by_use[one], reverse=True):
            if folder.name.startswith(_BEGUN):
                if time.time() - by_use[folder] > _LEFT_S:
                    yield folder
            elif folder.name.startswith(f"{setting}-"):
                yield folder
            elif _PLACE.fullmatch(folder.name) and folder not in self._used:
                others.append(folder)
        yield from others[max(0, _KEPT - len(self._used)) :]


def _versions() -> str:
    """Return everything but the settings and the texts that decides on terms and scores."""
    return " ".join([json.dumps(REVISIONS), unicodedata.unidata_version, *map(_version, _CUTTERS)])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def packed(words: Iterable[str]) -> npt.NDArray[np.uint8]:
    """Return words as an array of bytes."""
    return np.frombuffer(json.dumps(list(words)).encode("ascii"), np.uint8)


def numbered(array: npt.NDArray[np.uint8]) -> dict[str, int]:
    """Return the number of each word of `packed`, in order from 0.

    Raises:
        ValueError: The array does not hold different words.
    """
    words = json.loads(array.tobytes())
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("not a list of words")
    numbers = {word: number for number, word in enumerate(words)}
    if len(numbers) < len(words):
        raise ValueError("a word has two numbers")
    return numbers


def checked(array: npt.NDArray[Any], kind: type[Scalar], *shape: int) -> npt.NDArray[Scalar]:
    """Return an array, if it has this type and shape.

    Args:
        array: The array.
        kind: The type of its numbers.
        shape: Its length in each dimension.

    Raises:
        ValueError: It has another type or shape.
    """
    if array.dtype != np.dtype(kind) or array.shape != shape:
        raise ValueError(f"{array.dtype} {array.shape} instead of {np.dtype(kind)} {shape}")
    return array
