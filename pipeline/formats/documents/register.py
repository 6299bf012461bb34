"""The ids given so far, as 64-bit fingerprints: 8 bytes for each row of a table that brings its own."""

from __future__ import annotations

import array
import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipeline.errors import UnreadableDocument
from pipeline.text.display import shown

Keys = npt.NDArray[np.uint64]


def fingerprint(data: bytes) -> int:
    """Return 64 bits that two different values share by a chance of about 1 in 10**19."""
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


class Register:
    """Which ids were given, and by which file."""

    def __init__(self) -> None:
        self._documents: dict[int, tuple[Path, bytes]] = {}
        self._document_keys = array.array("Q")
        self._tables: list[tuple[Path, Keys]] = []
        self._runs: list[Keys] = []

    def add_document(self, doc_id: str, said: bytes, path: Path) -> bool:
        """Take the id of a whole document; return False where the same text from the same source has it already.

        Args:
            doc_id: the id.
            said: ``identity.digest`` of source and text.
            path: the file.

        Raises:
            UnreadableDocument: something else has this id.
        """
        key = fingerprint(doc_id.encode())
        before = self._documents.get(key)
        if before is None and (holder := self._table_with(key)) is None:
            self._documents[key] = (path, said)
            self._document_keys.append(key)
            return True
        if before is not None:
            if before[1] == said:
                return False
            holder = before[0]
        raise UnreadableDocument(shown(path), f"its id {doc_id} was given before, in {shown(holder or '')}")

    def add_table(self, path: Path, keys: Keys) -> None:
        """Take the fingerprints of a table's ids."""
        run = np.sort(keys)
        self._tables.append((path, run))
        # Runs of like size are merged, so that ten thousand small tables are searched as some fourteen runs.
        while self._runs and self._runs[-1].size <= 2 * run.size:
            run = np.sort(np.concatenate([self._runs.pop(), run]))
        self._runs.append(run)

    def clash(self, keys: Keys) -> tuple[int, Path] | None:
        """Return the position of the first fingerprint that was given before, and the file that has it, or None."""
        documents = np.sort(np.array(self._document_keys, dtype=np.uint64))
        given = np.zeros(keys.size, dtype=np.bool_)
        for run in (documents, *self._runs):
            given |= _among(keys, run)
        if not given.any():
            return None
        position = int(given.argmax())
        key = int(keys[position])
        holder = self._documents[key][0] if key in self._documents else self._table_with(key)
        assert holder is not None
        return position, holder

    def _table_with(self, key: int) -> Path | None:
        wanted = np.array([key], dtype=np.uint64)
        if not any(_among(wanted, run).any() for run in self._runs):
            return None
        return next(path for path, keys in self._tables if _among(wanted, keys).any())


def _among(wanted: Keys, in_order: Keys) -> npt.NDArray[np.bool_]:
    """Return for each wanted value whether it occurs in a sorted array."""
    if not in_order.size:
        return np.zeros(wanted.size, dtype=np.bool_)
    places = np.minimum(np.searchsorted(in_order, wanted), in_order.size - 1)
    present: npt.NDArray[np.bool_] = in_order[places] == wanted
    return present
