"""Names for documents that depend on nothing but where they are below the folder given and what they say."""

from __future__ import annotations

import hashlib

import regex

_OTHER = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def document_id(source: str, text: str) -> str:
    """Return the id of a whole document: its file's name, and 10 hexadecimal digits of its source and text."""
    return f"{slug(source)}-{digest(source, text).hex()[:10]}"


def row_id(source: str, row_digest: bytes, occurrence: int) -> str:
    """Return the id of a row: its file's name, and 16 hexadecimal digits (millions of rows share the name).

    Args:
        source: the table's source.
        row_digest: ``digest`` of source, title and text.
        occurrence: how many rows with the same digest came before; else row order plays no part.
    """
    return f"{slug(source)}-{hashlib.sha256(row_digest + b'%d' % occurrence).hexdigest()[:16]}"


def digest(*parts: str) -> bytes:
    """Return the sha256 of the parts, NUL between them."""
    return hashlib.sha256("\0".join(parts).encode()).digest()


def slug(source: str) -> str:
    """Return the file name without suffix, letters and digits of any script kept, at most 60 characters."""
    name: str = _OTHER.sub("-", stem(source)).strip("-")
    return name[:60].rstrip("-") or "document"


def stem(source: str) -> str:
    """Return the file name without folder and suffix."""
    name = source.rsplit("/", 1)[-1]
    return name.rsplit(".", 1)[0] or name


def one_line(title: str) -> str:
    """Return a title as one line of at most 200 characters."""
    return " ".join(title[:1000].split())[:200].rstrip()
