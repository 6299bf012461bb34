"""The short stretch of a chunk that a simulated query stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.offline.analysis import Token
from pipeline.text.sentences import sentence_spans

LONGEST = 300
"""Characters; a longer sentence is cut to a window of this size."""


def heaviest_span(text: str, tokens: Sequence[Token], weights: Mapping[str, float]) -> tuple[int, int]:
    """Return the sentence (or the part of a long one) whose different stems weigh most, the first of several.

    Args:
        text: The passage; at least one character that is not white space.
        tokens: Its words, in order.
        weights: Weight of each stem that counts.
    """
    sentences = sentence_spans(text)
    best, most = sentences[0], -1.0
    place = 0
    for start, end in sentences:
        while place < len(tokens) and tokens[place].start < start:
            place += 1
        inside = []
        while place < len(tokens) and tokens[place].end <= end:
            inside.append(tokens[place])
            place += 1
        span, weight = _window(start, end, inside, weights)
        if weight > most:
            best, most = span, weight
    return best


def _window(
    start: int, end: int, tokens: Sequence[Token], weights: Mapping[str, float]
) -> tuple[tuple[int, int], float]:
    """Return the heaviest stretch of at most ``LONGEST`` characters between two offsets, and its weight."""
    if end - start <= LONGEST:
        return (start, end), sum(weights.get(stem, 0.0) for stem in {token.stem for token in tokens})
    best, most = (start, start + LONGEST), -1.0
    last = 0
    for first, token in enumerate(tokens):
        while last < len(tokens) and tokens[last].end - token.start <= LONGEST:
            last += 1
        weight = sum(weights.get(stem, 0.0) for stem in {other.stem for other in tokens[first:last]})
        if weight > most and last > first:
            best, most = (token.start, tokens[last - 1].end), weight
    return best, max(most, 0.0)
