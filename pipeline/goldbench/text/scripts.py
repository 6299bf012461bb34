"""The script of a text, and whether it puts spaces between words."""

from __future__ import annotations

import re
from collections import Counter

import regex

SPACELESS = frozenset({"Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"})
"""Scripts that put no space between words."""

_SCRIPTS = (
    "Latin", "Han", "Hiragana", "Katakana", "Hangul", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Bengali",
    "Gurmukhi", "Gujarati", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar",
    "Georgian", "Armenian", "Ethiopic", "Tibetan", "Mongolian",
)  # fmt: skip
_RUN = regex.compile("|".join(rf"(?P<{name}>\p{{Script={name}}}+)" for name in _SCRIPTS))
_SPACELESS_CHAR = regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in sorted(SPACELESS)) + "]")
_MAY_BE_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u19e0-\u19ff\u2e80-\U0010ffff]")
_LETTER = regex.compile(r"[\p{L}\p{M}]+")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]+")
_NO_LETTERS = bytes(byte for byte in range(256) if not (byte < 128 and chr(byte).isalpha()))


def script_of(text: str) -> str | None:
    """Return the Unicode script of most letters of the text (``Latin``, ``Han`` …), None without letters."""
    if text.isascii():
        return "Latin" if _ascii_letters(text) else None
    counts: Counter[str] = Counter()
    if latin := _ascii_letters(text):
        counts["Latin"] = latin
    for run in _RUN.finditer(_beyond_ascii(text)):
        counts[str(run.lastgroup)] += run.end() - run.start()
    return max(counts, key=lambda name: (counts[name], name)) if counts else None


def is_spaceless(text: str) -> bool:
    """Return whether at least half of the letters belong to a script without spaces between words."""
    if not may_be_spaceless(text):
        return False
    letters = letter_count(text)
    return letters > 0 and 2 * len(_SPACELESS_CHAR.findall(text)) >= letters


def letter_count(text: str) -> int:
    """Return the number of letters, with the marks that belong to them."""
    return _ascii_letters(text) + sum(len(run) for run in _LETTER.findall(_beyond_ascii(text)))


def may_be_spaceless(text: str) -> bool:
    """Return whether a text may hold characters of a script without spaces; False is certain."""
    return not text.isascii() and _MAY_BE_SPACELESS.search(text) is not None


def _ascii_letters(text: str) -> int:
    return len(text.encode("utf-8", "replace").translate(None, _NO_LETTERS))


def _beyond_ascii(text: str) -> str:
    return "" if text.isascii() else "".join(_BEYOND_ASCII.findall(text))
