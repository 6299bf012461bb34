"""Prompt injection: marker lines that a text in a prompt cannot forge, and sentences that tell a judge how to grade."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache

import regex

from goldbench.pipeline.text import table

_HIDDEN = regex.compile(r"\p{Cf}")
"""Invisible characters, which could split a word unseen."""


def tells_how_to_judge(text: str) -> bool:
    """Return whether a text holds a sentence for a judge: which grade to give, or which rules to forget.

    The patterns, in ``injection.toml``, err both ways; a match flags a pair, but never changes its grade.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return any(_telling().search(form) is not None for form in dict.fromkeys((text, plain)))


@lru_cache(maxsize=1)
def _telling() -> regex.Pattern[str]:
    found = table("injection")
    return regex.compile("|".join([*found["disregard"], *found["verdict"], *found["markers"]]), regex.IGNORECASE)


def delimiter(*texts: str) -> str:
    """Return a marker of 16 hexadecimal digits that depends on every character, so that no text can close it."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")  # texts of others may hold half characters
    return hashlib.blake2b(joined, digest_size=8, person=b"delimiter").hexdigest()
