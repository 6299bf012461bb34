"""Check that a zip-based document is safe to open, by its directory and before anything is unpacked.

No reader opens an archive within the archive, so only the size of such an archive counts.
"""

from __future__ import annotations

import zipfile
from typing import IO

from goldbench.formats.faults import Fault
from goldbench.formats.regular_files import ALWAYS_FINE, MAX_RATIO

_MAX_MEMBERS = 20_000
_MAX_UNPACKED = 300 * 2**20
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_DECLARATIONS = {
    ".epub": (b"<!ENTITY",)  # its pages may have a DOCTYPE
}
_OFFICE_DECLARATIONS = (b"<!DOCTYPE", b"<!ENTITY")


def check_archive(file: IO[bytes], kind: str) -> None:
    """Refuse a document that is encrypted or damaged, unpacks to too much, or declares XML entities.

    Args:
        file: The document, read from its start; left at its start.
        kind: The suffix of its name, in lower case.

    Raises:
        Fault: The document is refused.
    """
    if file.read(8) == _OLE:
        raise Fault("is encrypted or in the old binary format: save it unprotected, in the new format")
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_sizes(members)
            for member in members:
                if member.filename.lower().endswith((".xml", ".rels", ".opf", ".ncx")):
                    _check_declarations(archive, member, _DECLARATIONS.get(kind, _OFFICE_DECLARATIONS))
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, ValueError) as error:
        raise Fault(f"is damaged, or not a {kind} file ({type(error).__name__})") from None
    file.seek(0)


def _check_sizes(members: list[zipfile.ZipInfo]) -> None:
    if any(member.flag_bits & 1 for member in members):
        raise Fault("is encrypted: save it without a password")
    if len(members) > _MAX_MEMBERS:
        raise Fault(f"holds {len(members):,} parts, more than {_MAX_MEMBERS:,}: split it")
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    if unpacked > _MAX_UNPACKED:
        raise Fault(f"unpacks to {unpacked:,} bytes, more than {_MAX_UNPACKED:,}: split it")
    if unpacked > max(ALWAYS_FINE, MAX_RATIO * packed):
        raise Fault(f"unpacks to {unpacked:,} bytes, more than {MAX_RATIO} times its {packed:,}: not opened")


def _check_declarations(archive: zipfile.ZipFile, member: zipfile.ZipInfo, forbidden: tuple[bytes, ...]) -> None:
    rest = b""
    with archive.open(member) as part:
        while piece := part.read(2**20):
            window = (rest + piece).replace(b"\0", b"")  # UTF-16 writes the same letters with NULs between
            if any(mark in window for mark in forbidden):
                raise Fault("declares XML entities, which can fill the memory: not opened")
            rest = piece[-32:]
