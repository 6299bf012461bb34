"""Sentences of a text in any script, and the places where it may be cut into chunks."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import regex

_SENTENCE_MARKS = "。！？｡؟۔।॥።፧።။៕།༎"
_CLAUSE_MARKS = "，、；：､،؛၊។፣፤፥"
_CLOSERS = "」』”’）》】〕〉"
_WORD_MARKS = "\u200b\u0f0b\u1361"  # zero-width space, Tibetan tsheg, Ethiopic word space

_JOINERS = "\u200d\u0e40-\u0e44\u0ec0-\u0ec4\ud800-\udbff"  # join what follows: ZWJ, Thai and Lao vowels
_EXTENDERS = "\u200d\u0e33\u0eb3\u1160-\u11ff\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f\udc00-\udfff"
_BMP = "[\\x00-,.-\uffff]"
_BEYOND = "[\U00010000-\U0010ffff]"
_VIRAMA = 9  # canonical combining class of signs that join consonants
_FLAG = "\U0001f1e6-\U0001f1ff"


def _after(marks: str) -> str:
    """Return a pattern for the place after a mark and its closing quotes; the mark stays with the text before it."""
    return rf"(?:(?<=[{marks}])|(?<=[{marks}][{_CLOSERS}]))(?![{marks}{_CLOSERS}])"


_SENTENCE = (re.compile(f"[{_SENTENCE_MARKS}]"), _after(_SENTENCE_MARKS))
_CLAUSE = (re.compile(f"[{_CLAUSE_MARKS}]"), _after(_CLAUSE_MARKS))
_WORD = (re.compile(f"[{_WORD_MARKS}]"), f"(?<=[{_WORD_MARKS}])")


def separators(text: str) -> list[str]:
    r"""Return regular expressions of the places to cut this text at, best first.

    For a text without marks of other scripts they are those of LangChain's splitter: ``\n\n``, ``\n``, space, anywhere.
    Between line and space come sentence ends, then clause ends, of scripts whose marks need no space after them
    (Chinese, Japanese, Arabic, Devanagari, Khmer …); after the space comes the zero-width space of Thai and Khmer; and
    before «anywhere», the places between visible characters, so that no accent, vowel sign, skin tone or half of a
    joined emoji is cut off unless one visible character is longer than a chunk.
    """
    if text.isascii():
        return ["\n\n", "\n", " ", ""]
    inner = [pattern for marks, pattern in (_SENTENCE, _CLAUSE) if marks.search(text)]
    words = [_WORD[1]] if _WORD[0].search(text) else []
    composed, between = _graphemes()
    return ["\n\n", "\n", *inner, " ", *words, *([between] if composed.search(text) else []), ""]


@lru_cache(maxsize=1)
def _graphemes() -> tuple[re.Pattern[str], str]:
    """Return a pattern that finds characters of several code points, and one for the places between characters.

    Source: Unicode Standard Annex 29, extended grapheme clusters, without counting flags in pairs (none is cut).
    """
    marks = [chr(code) for code in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)) if _is_mark(chr(code))]
    viramas = [mark for mark in marks if unicodedata.combining(mark) == _VIRAMA]
    extenders = _classes(marks, _EXTENDERS)
    joiners = _classes(viramas, _JOINERS)
    after = "".join(f"(?<!{joiner})" for joiner in joiners)
    before = "".join(f"(?!{extender})" for extender in extenders)
    # Everything beyond the first plane counts as composed here: one range is looked up fast, 400 ranges are not.
    composed = re.compile(f"{extenders[0]}|{joiners[0]}|[\U00010000-\U0010ffff]")
    return composed, rf"{after}{before}(?!(?<=[{_FLAG}])[{_FLAG}])"


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")


def _classes(marks: list[str], ranges: str) -> list[str]:
    """Return a character class for the first plane, which ``re`` looks up in a table, and one for the other planes."""
    first = "".join(mark for mark in marks if mark < "\U00010000") + "".join(re.findall(f"{_BMP}(?:-{_BMP})?", ranges))
    beyond = "".join(mark for mark in marks if mark >= "\U00010000") + "".join(
        re.findall(f"{_BEYOND}-{_BEYOND}", ranges)
    )
    return [f"[{''.join(chosen)}]" for chosen in (first, beyond) if chosen]


_END = regex.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’)\]»]*+(?=\s|$))"  # Latin, Cyrillic, Greek: followed by a space
    r"|(?:[。！？｡؟۔।॥።]+[」』”’）》]*)"  # CJK, Arabic, Devanagari, Ethiopic: no space needed
    r"|(?:\n\s*\n)|(?:\n(?=\s*(?:[-*•#|>]|\d+[.)]\s)))|(?:\n(?=[^\n]{0,80}\n\s*\n))"  # blank lines, list items
)
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(])(?:[\p{Lu}]|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|vs|etc|e\.g|i\.e|cf|Fig|Figs|Eq|al|approx|ca|Inc|Ltd|Co|Jr|Sr"
    r"|bzw|z\.B|d\.h|usw|т\.е|т\.д|г|гг)\.$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every sentence, in order, white space trimmed; together they hold every word."""
    spans: list[tuple[int, int]] = []
    start = 0
    for mark in _END.finditer(text):
        if mark.group().startswith(".") and _ABBREVIATION.search(text, max(start, mark.start() - 12), mark.start() + 1):
            continue
        _append_trimmed(spans, text, start, mark.end())
        start = mark.end()
    _append_trimmed(spans, text, start, len(text))
    return spans


def _append_trimmed(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    if right > left:
        spans.append((start + left, start + right))
