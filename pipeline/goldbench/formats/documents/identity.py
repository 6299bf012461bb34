"""Ids of documents, and which are taken.

A whole file's id depends only on its place below the folder given, so it stays when its text is edited. A row's id
depends on its table's place and on its text, unless it brings an id of its own.
"""

from __future__ import annotations

import array
import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import regex

from goldbench.formats.documents.titles import stem
from goldbench.formats.faults import Fault
from goldbench.text.display import shown

Keys = npt.NDArray[np.uint64]
_OTHER = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def document_id(source: str, *apart: str) -> str:
    """Return the id of a whole document: its file's name, and 10 hexadecimal digits of its source.

    Args:
        source: The document's source.
        apart: What tells it from other documents of the same source; nothing if it is the only one.
    """
    return f"{slug(source)}-{digest(source, *apart).hex()[:10]}"


def row_id(source: str, row_digest: bytes, occurrence: int) -> str:
    """Return the id of a row: its file's name, and 16 hexadecimal digits (millions of rows share the name).

    Args:
        source: The table's source.
        row_digest: ``digest`` of source, title and text.
        occurrence: The number of earlier rows with the same digest; the order of other rows does not matter.
    """
    return f"{slug(source)}-{hashlib.sha256(row_digest + b'%d' % occurrence).hexdigest()[:16]}"


def digest(*parts: str) -> bytes:
    """Return the sha256 of the parts, NUL between them; lone surrogates are refused where texts are kept."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def slug(source: str) -> str:
    """Return the file name without suffix, letters and digits of any script kept, at most 60 characters."""
    name: str = _OTHER.sub("-", stem(source)).strip("-")
    return name[:60].rstrip("-") or "document"


def fingerprint(data: bytes) -> int:
    """Return 64 bits; two different values share them with a probability of about 1 in 10**19."""
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "little")


class Register:
    """The ids given so far and the file of each, as fingerprints: 8 bytes per row of a table with its own ids."""

    def __init__(self) -> None:
        self._documents: dict[int, Path] = {}
        self._texts: set[int] = set()
        self._document_keys = array.array("Q")
        self._tables: list[tuple[Path, Keys]] = []
        self._runs: list[Keys] = []
        self.unseen = 0
        """How many characters that nobody sees were left out so far."""
        self.page_lines = 0
        """How many running headers and footers of PDFs were left out so far."""

    def add_document(self, doc_id: str, text_digest: bytes, path: Path) -> bool:
        """Take the id of a whole document; return False if the same text from the same source was taken already.

        Args:
            doc_id: The id.
            text_digest: ``digest`` of source and text.
            path: The file.

        Raises:
            Fault: Another document has this id.
        """
        text = fingerprint(text_digest)
        if text in self._texts:
            return False
        key = fingerprint(doc_id.encode())
        holder = self._documents.get(key) or self._table_with(key)
        if holder is not None:
            raise Fault(f"its id {doc_id} was given before, in {shown(holder)}")
        self._texts.add(text)
        self._documents[key] = path
        self._document_keys.append(key)
        return True

    def add_table(self, path: Path, keys: Keys) -> None:
        """Take the fingerprints of a table's ids."""
        run = np.sort(keys)
        self._tables.append((path, run))
        # Runs of similar size are merged, so that 10,000 small tables are searched as about 14 runs.
        while self._runs and self._runs[-1].size <= 2 * run.size:
            run = np.sort(np.concatenate([self._runs.pop(), run]))
        self._runs.append(run)

    def clash(self, keys: Keys) -> tuple[int, Path] | None:
        """Return the position of the first fingerprint that is taken and the file that has it, or None."""
        documents = np.sort(np.array(self._document_keys, dtype=np.uint64))
        is_known = np.zeros(keys.size, dtype=np.bool_)
        for run in (documents, *self._runs):
            is_known |= _among(keys, run)
        if not is_known.any():
            return None
        position = int(is_known.argmax())
        key = int(keys[position])
        holder = self._documents[key] if key in self._documents else self._table_with(key)
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
