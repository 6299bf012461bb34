"""Sentences as spans, for any script, by their end marks."""

from __future__ import annotations

import regex

_END = regex.compile(
    r"(?:[.!?…]+[\"'”’)\]»]*(?=\s|$))"  # Latin, Cyrillic, Greek: followed by a space
    r"|(?:[。！？｡؟۔।॥።]+[」』”’）》]*)"  # CJK, Arabic, Devanagari, Ethiopic: no space needed
    r"|(?:\n\s*\n)|(?:\n(?=\s*(?:[-*•#|>]|\d+[.)]\s)))|(?:\n(?=[^\n]{0,80}\n\s*\n))"  # blank lines, list items
)
_ABBREVIATION = regex.compile(
    r"(?:^|[\s(])(?:[\p{Lu}]|Mr|Mrs|Ms|Dr|Prof|St|No|Nos|vs|etc|e\.g|i\.e|cf|Fig|Figs|Eq|al|approx|ca|Inc|Ltd|Co|Jr|Sr"
    r"|bzw|z\.B|d\.h|usw|т\.е|т\.д|г|гг)\.$"
)


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of every sentence, white space trimmed, in order; together they hold every word."""
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
