"""How many tokens the server says a text has: a crude byte-pair count, made without the code under test."""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Za-z]+|[0-9]{1,3}|[\u0080-\U0010ffff]|[^\sA-Za-z0-9]+|\n+")


def count_tokens(text: str) -> int:
    """Return the number of tokens: a word costs one per six letters begun, other scripts 0.8 per character."""
    total = 0.0
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece[0].isascii():
            total += 1 + (len(piece) - 1) // 7 if piece[0].isalpha() else 1
        else:
            total += 0.8
    return max(1, round(total))
