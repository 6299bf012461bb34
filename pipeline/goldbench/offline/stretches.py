"""Short stretches of a chunk that simulated queries stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import regex

from goldbench.offline.analysis import Token
from goldbench.text.boundaries import sentence_spans

LONGEST = 300
"""Most characters of a stretch; a longer sentence is cut into parts."""
_BREAK = regex.compile(r"[,;:，、；：،؛]|\s")
_MARK = regex.compile(r"\p{M}")


def pieces(text: str) -> list[tuple[int, int]]:
    """Return the sentences of a text as spans, in order, long ones cut after a comma or at a space."""
    return [part for start, end in sentence_spans(text) for part in _parts(text, start, end)]


def heaviest_piece(text: str, tokens: Sequence[Token], weights: Mapping[str, float]) -> tuple[int, int]:
    """Return the piece with the highest weight of different stems, the first if several have it.

    Args:
        text: The passage; at least one character is not white space.
        tokens: Its words, in order.
        weights: Weight of each stem that counts, 0 or more.
    """
    best, most = (0, 0), -1.0
    position = 0
    for start, end in pieces(text):
        inside: set[str] = set()
        while position < len(tokens) and tokens[position].start < end:
            inside.add(tokens[position].stem)
            position += 1
        # Summed in a fixed order: rounding must not depend on the hash seed.
        weight = sum(weights[stem] for stem in sorted(inside) if stem in weights)
        if weight > most:
            best, most = (start, end), weight
    return best


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        cut = _cut(text, start)
        trimmed = text[start:cut].rstrip()
        if trimmed:
            yield start, start + len(trimmed)
        start = cut + len(text[cut:end]) - len(text[cut:end].lstrip())
    if start < end:
        yield start, end


def _cut(text: str, start: int) -> int:
    """Return the end of a part: after the last break in its second half, else before the last letter that fits."""
    breaks = [int(match.end()) for match in _BREAK.finditer(text, start + LONGEST // 2, start + LONGEST)]
    if breaks:
        return breaks[-1]
    cut = start + LONGEST
    while cut > start + LONGEST // 2 and _MARK.match(text, cut):
        cut -= 1
    return cut
