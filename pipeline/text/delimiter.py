"""Marker lines around text in a prompt that the text itself cannot hold."""

from __future__ import annotations

import hashlib


def delimiter(*texts: str) -> str:
    """Return a marker of 16 hexadecimal digits that depends on every character, so that no text can close it."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")  # texts of others may hold half characters
    return hashlib.blake2b(joined, digest_size=8, person=b"delimiter").hexdigest()
