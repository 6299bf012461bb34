"""Is a zip-based document safe to open? Asked of its directory, before anything is unpacked.

Archives within the archive are never opened by any reader, so they count with their size only.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import IO

from pipeline.errors import UnreadableDocument

_MAX_MEMBERS = 20_000
_MAX_UNPACKED = 300 * 2**20
_MAX_RATIO = 200
_ALWAYS_FINE = 20 * 2**20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DECLARATIONS = {
    ".epub": (b"<!ENTITY",),  # its pages have a DOCTYPE by right
}
_OFFICE_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")


def check_archive(file: IO[bytes], path: Path) -> None:
    """Refuse what is encrypted, damaged, unpacks to too much, or declares XML entities.

    Args:
        file: the document, read from its start; left at its start.
        path: its name, for the suffix and the message.

    Raises:
        UnreadableDocument: any of these.
    """
    kind = path.suffix.lower()
    if file.read(8) == _OLE:
        raise UnreadableDocument(path, "is encrypted or of the old binary format: save it unprotected, in the new one")
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_sizes(members, path)
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels", ".opf", ".ncx")):
                    _check_declarations(archive, member, path, _DECLARATIONS.get(kind, _OFFICE_DECLARATIONS))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError) as error:
        problem = f"is damaged, or no {kind} file ({type(error).__name__})"
        raise UnreadableDocument(path, problem) from None
    file.seek(0)


def _check_sizes(members: list[zipfile.ZipInfo], path: Path) -> None:
    if any(member.flag_bits & 1 for member in members):
        raise UnreadableDocument(path, "is encrypted: save it without a password")
    if len(members) > _MAX_MEMBERS:
        raise UnreadableDocument(path, f"holds {len(members):,} parts, more than {_MAX_MEMBERS:,}")
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if unpacked > _MAX_UNPACKED or (unpacked > _ALWAYS_FINE and unpacked > _MAX_RATIO * max(1, packed)):
        raise UnreadableDocument(path, f"unpacks from {packed:,} to {unpacked:,} bytes: not opened (a zip bomb?)")


def _check_declarations(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path, forbidden: tuple[bytes, ...]
) -> None:
    rest = b""
    with archive.open(member) as part:
        while piece := part.read(2**20):
            window = (rest + piece).replace(b"\0", b"")  # UTF-16 writes the same letters with NULs between
            if any(mark in window for mark in forbidden):
                raise UnreadableDocument(path, "declares XML entities, which can fill the memory: not opened")
            rest = piece[-32:]
