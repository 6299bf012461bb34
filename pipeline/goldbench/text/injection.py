"""Prompt injection: marker lines that a text in a prompt cannot forge, and sentences that tell a judge how to grade."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import regex

from goldbench.text import table

_HIDDEN = regex.compile(r"\p{Cf}")
"""Invisible characters, which could split a word unseen."""
_ALTERNATIVES = regex.compile(r"\(\?:([^()\[\]{}\\?*+.^$]+)\)(?![?*+{])")
"""A group of plain words of which a match holds one."""
_SAME_LETTER = str.maketrans("İı", "ii")
"""Letters that match ``i`` whatever their case, which case folding keeps apart."""


class _Sentence(NamedTuple):
    """A pattern, and groups of words: a text that it matches holds a word of each group, case folded."""

    words: tuple[tuple[str, ...], ...]
    pattern: regex.Pattern[str]


def tells_how_to_judge(text: str) -> bool:
    """Return whether a text holds a sentence for a judge: which grade to give, or which rules to forget.

    The patterns, in ``injection.toml``, err both ways; a match flags a pair, but never changes its grade.
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", _HIDDEN.sub("", text))
    return any(_tells(form) for form in dict.fromkeys((text, plain)))


def _tells(text: str) -> bool:
    folded = text.translate(_SAME_LETTER).casefold()
    return any(
        sentence.pattern.search(text) is not None
        for sentence in _sentences()
        if all(any(word in folded for word in group) for group in sentence.words)
    )


@lru_cache(maxsize=1)
def _sentences() -> tuple[_Sentence, ...]:
    patterns_by_kind = table("injection")
    patterns = [*patterns_by_kind["disregard"], *patterns_by_kind["verdict"], *patterns_by_kind["markers"]]
    return tuple(_Sentence(_words_of(pattern), regex.compile(pattern, regex.IGNORECASE)) for pattern in patterns)


def _words_of(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of the groups that stand outside every other group of a pattern, none if it has alternatives."""
    if any(pattern.count("(", 0, at) == pattern.count(")", 0, at) for at, sign in enumerate(pattern) if sign == "|"):
        return ()
    outer = (
        match
        for match in _ALTERNATIVES.finditer(pattern)
        if pattern.count("(", 0, match.start()) == pattern.count(")", 0, match.start())
    )
    return tuple(tuple(row[1].casefold().split("|")) for row in outer)


def delimiter(*texts: str) -> str:
    """Return a marker of 16 hexadecimal digits that depends on every character, so that no text can close it."""
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")  # texts of others may hold half characters
    return hashlib.blake2b(joined, digest_size=8, person=b"delimiter").hexdigest()
