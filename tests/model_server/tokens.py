"""How many tokens the server says a text has: cut and merged as byte-pair vocabularies do; no code under test is used.

Nothing here is an average: whether two neighbours are one token is settled for that pair, as in a real vocabulary, so
that the same word always takes the same number. How many are comes from what vendors publish: OpenAI's examples for
o200k (a Chinese greeting of 25 characters, «GPT-4o» and four marks in 24 tokens), DeepSeek's 0.6 for a character.
"""

from __future__ import annotations

import re
import zlib

_PIECE = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<number>[0-9]{1,3})|(?P<han>[\u3400-\u9fff]+)|(?P<syllables>[\u3041-\u30ff\uac00-\ud7a3]+)"
    r"|(?P<letters>[\u00c0-\u1fff]+)|(?P<marks>[!-/:-@\[-`{-~]+)|(?P<lines>\n+)|(?P<rest>[^\s\x00-\x7f])"
)
_MERGED_IN_100 = {"han": (40,), "syllables": (95,), "letters": (90, 80)}
"""How many pairs in a hundred are one token; letters are merged once more, as whole syllables of theirs are."""


def count_tokens(text: str) -> int:
    """Return the number of tokens: at least 1."""
    return max(1, sum(_size(str(match.lastgroup), match.group()) for match in _PIECE.finditer(text)))


def _size(kind: str, piece: str) -> int:
    if kind == "word":
        return 1 + (len(piece) - 1) // 7
    if kind == "marks":
        return 1 + (len(piece) - 1) // 3
    tokens = list(piece) if kind in _MERGED_IN_100 else [piece]
    for share in _MERGED_IN_100.get(kind, ()):
        tokens = _merged(tokens, share)
    return len(tokens)


def _merged(tokens: list[str], share: int) -> list[str]:
    merged: list[str] = []
    place = 0
    while place < len(tokens):
        pair = "".join(tokens[place : place + 2])
        taken = 2 if zlib.crc32(pair.encode("utf-8", "surrogatepass")) % 100 < share else 1
        merged.append("".join(tokens[place : place + taken]))
        place += taken
    return merged
