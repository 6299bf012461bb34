"""The randomization test in plain Python, for at most 64 queries; it makes the same draws as `significance`.

Importing numpy takes longer than this. The generator is PCG64 (O'Neill, 2014) as numpy seeds it.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil, ldexp, log2

MOST_QUERIES = 64
"""A draw of the generator has a bit for each query; above this number numpy takes over."""
_MOST_STEPS = 300_000
"""From this number of steps on (draws times measures times bytes of queries), numpy is worth its import."""
_USE = 1
"""Second word of the seed for random signs, as in `resamples`."""
_BITS_32, _BITS_64, _BITS_128 = (1 << 32) - 1, (1 << 64) - 1, (1 << 128) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645
_TINY = 2.0**-1022

Column = Sequence[float]
"""The values of one measure, by query."""


def pays(queries: int, measures: int, permutations: int) -> bool:
    """Return whether the test in plain Python takes less time than importing numpy, which is not imported yet.

    Args:
        queries: Number of queries.
        measures: Number of measures.
        permutations: Number of draws.
    """
    steps = permutations * measures * (1 + queries // 8)
    return "numpy" not in sys.modules and queries <= MOST_QUERIES and steps <= _MOST_STEPS


def sign_flip_p(now: Sequence[Column], before: Sequence[Column], *, permutations: int, seed: int) -> list[float]:
    """Return the p-value of each measure for two systems; see ``significance.sign_flip_p``.

    Args:
        now: The values of the first system: for each measure one column, of at most 64 queries.
        before: The values of the second system.
        permutations: Number of draws, at least 1.
        seed: Not negative.
    """
    differences = [_on_grid(*columns) for columns in zip(now, before, strict=True)]
    known = {number: _sums(column) for number, column in enumerate(differences) if any(column)}
    reached = [permutations] * len(differences)  # of equal systems every draw is as far from 0 as what was observed
    used = (1 << len(now[0])) - 1 if known else 0
    draws = Counter(word & used for word in _words(permutations, seed)) if known else Counter()
    for number, tables in known.items():
        observed = sum(differences[number])
        threshold = abs(observed) - 2 * len(differences[number])
        reached[number] = sum(
            count for word, count in draws.items() if abs(2 * _sum(tables, word) - observed) >= threshold
        )
    return [(count + 1) / (permutations + 1) for count in reached]


def _on_grid(now: Column, before: Column) -> list[int]:
    """Return the differences in whole numbers of the unit of ``resamples.on_grid``."""
    room = max(*map(abs, now), *map(abs, before), _TINY * 2.0**60) * len(now)
    exponent = 50 - ceil(log2(room))
    return [round(ldexp(one, exponent)) - round(ldexp(other, exponent)) for one, other in zip(now, before, strict=True)]


def _sums(column: Sequence[int]) -> list[list[int]]:
    """Return for every byte of a draw the sums that its 256 values choose."""
    tables = []
    for start in range(0, len(column), 8):
        table = [0]
        for value in column[start : start + 8]:
            table += [known + value for known in table]
        tables.append(table)
    return tables


def _sum(tables: Sequence[Sequence[int]], word: int) -> int:
    """Return the sum of the values that a draw chooses."""
    return sum(table[word >> (8 * place) & 255] for place, table in enumerate(tables))


def _words(count: int, seed: int) -> Iterator[int]:
    """Yield the raw words of ``PCG64(SeedSequence([seed, 1]))``."""
    high, low, stream_high, stream_low = _seeded([*_parts(seed), _USE])
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
