"""Where a text of any script may be cut, from the best places to the last resort, as patterns for ``re``."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SENTENCE_MARKS = "。！？｡؟۔।॥።፧።။៕།༎"
_CLAUSE_MARKS = "，、；：､،؛၊។፣፤፥"
_CLOSERS = "」』”’）》】〕〉"
_WORD_MARKS = "\u200b\u0f0b\u1361"  # zero-width space, Tibetan tsheg, Ethiopic word space

_JOINERS = "\u200d\u0e40-\u0e44\u0ec0-\u0ec4\ud800-\udbff"  # what follows belongs to them: ZWJ, Thai and Lao vowels
_EXTENDERS = "\u200d\u0e33\u0eb3\u1160-\u11ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\udc00-\udfff"
_FLAG = "\U0001f1e6-\U0001f1ff"


def _after(marks: str) -> str:
    """Return a pattern for the empty place after a mark and the quotes it closes; the mark stays with what it ends."""
    return rf"(?:(?<=[{marks}])|(?<=[{marks}][{_CLOSERS}]))(?![{marks}{_CLOSERS}])"


_SENTENCE = (re.compile(f"[{_SENTENCE_MARKS}]"), _after(_SENTENCE_MARKS))
_CLAUSE = (re.compile(f"[{_CLAUSE_MARKS}]"), _after(_CLAUSE_MARKS))
_WORD = (re.compile(f"[{_WORD_MARKS}]"), f"(?<=[{_WORD_MARKS}])")


def separators(text: str) -> list[str]:
    r"""Return regular expressions of the places to cut this text at, best first.

    ``\n\n``, ``\n``, space, anywhere: what LangChain's splitter knows, and all there is for a text without marks of
    other scripts. Between line and space come sentence ends, then clause ends, of scripts whose marks need no space
    after them (Chinese, Japanese, Arabic, Devanagari, Khmer …); after the space comes the zero-width space of Thai and
    Khmer; and before «anywhere», places between the characters a reader sees, so that no accent, vowel sign, skin tone
    or half of a joined emoji is cut off unless a single such character is longer than a chunk.
    """
    if text.isascii():
        return ["\n\n", "\n", " ", ""]
    inner = [pattern for marks, pattern in (_SENTENCE, _CLAUSE) if marks.search(text)]
    words = [_WORD[1]] if _WORD[0].search(text) else []
    composed, between = _graphemes()
    return ["\n\n", "\n", *inner, " ", *words, *([between] if composed.search(text) else []), ""]


@lru_cache(maxsize=1)
def _graphemes() -> tuple[re.Pattern[str], str]:
    """Return what finds characters made of several code points, and a pattern for the places between characters.

    Source: Unicode Standard Annex 29, extended grapheme clusters, without counting flags in pairs (none is cut).
    """
    marks, viramas = [], []
    for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)):
        character = chr(code)
        if unicodedata.category(character)[0] == "M":
            marks.append(character)
            if unicodedata.combining(character) == 9:
                viramas.append(character)
    extenders = "".join(marks) + _EXTENDERS
    joiners = "".join(viramas) + _JOINERS
    composed = re.compile(f"[{extenders}{joiners}{_FLAG}]")
    return composed, rf"(?<![{joiners}])(?![{extenders}])(?!(?<=[{_FLAG}])[{_FLAG}])"
