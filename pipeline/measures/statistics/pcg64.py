"""The generator PCG64 (O'Neill, 2014) in plain Python, seeded as numpy seeds it, for those who do not import numpy.

Its words are those of ``numpy.random.PCG64(numpy.random.SeedSequence(...))``, bit for bit; see `few_queries` for what
that is good for. Python's own generator would give other words, and so other p-values than for more queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_BITS_32, _BITS_64, _BITS_128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def raw_words(count: int, seeds: Sequence[int]) -> Iterator[int]:
    """Yield words of 64 bits: what ``PCG64(SeedSequence(seeds)).random_raw(count)`` returns.

    Args:
        count: Number of words.
        seeds: Whole numbers of any size, not negative.
    """
    high, low, stream_high, stream_low = _seeded([part for seed in seeds for part in _parts(seed)])
    step = (((stream_high << 64 | stream_low) << 1) | 1) & _BITS_128
    state = ((step + (high << 64 | low)) * _MULTIPLIER + step) & _BITS_128
    for _ in range(count):
        state = (state * _MULTIPLIER + step) & _BITS_128
        folded, turn = (state >> 64) ^ (state & _BITS_64), state >> 122
        yield (folded >> turn | folded << (64 - turn)) & _BITS_64


def _parts(number: int) -> list[int]:
    """Return a whole number in parts of 32 bits, the lowest first."""
    parts = [number & _BITS_32]
    while number := number >> 32:
        parts.append(number & _BITS_32)
    return parts


class _Hash:
    """A multiplicative hash of 32-bit numbers whose constant changes with every use (numpy's ``SeedSequence``)."""

    def __init__(self, constant: int, multiplier: int) -> None:
        self.constant, self.multiplier = constant, multiplier

    def __call__(self, value: int) -> int:
        value ^= self.constant
        self.constant = self.constant * self.multiplier & _BITS_32
        value = value * self.constant & _BITS_32
        return value ^ value >> 16


def _seeded(entropy: Sequence[int]) -> list[int]:
    """Return the four words of 64 bits that ``SeedSequence(entropy)`` generates."""
    hashed = _Hash(0x43B0D7E5, 0x931E8875)
    pool = [hashed(entropy[place] if place < len(entropy) else 0) for place in range(4)]
    for source in range(4):
        for target in range(4):
            if source != target:
                pool[target] = _mixed(pool[target], hashed(pool[source]))
    for value in entropy[4:]:
        pool = [_mixed(one, hashed(value)) for one in pool]
    drawn = _Hash(0x8B51F9DD, 0x58F38DED)
    state = [drawn(pool[place % 4]) for place in range(8)]
    return [state[place] | state[place + 1] << 32 for place in range(0, 8, 2)]


def _mixed(one: int, other: int) -> int:
    value = (0xCA01F9DD * one - 0x4973F715 * other) & _BITS_32
    return value ^ value >> 16
