"""The randomization test of a small `gate` in plain Python: importing numpy would take longer than the whole command.

`significance` does the test otherwise. Both make the same draws from the same generator and add whole numbers, so that
a p-value does not depend on which of the two was used, nor on whether something else had imported numpy.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from math import ceil, ldexp, log2

from goldbench.pipeline.measures.statistics.pcg64 import raw_words

MOST_QUERIES = 64
"""A draw of the generator has a bit for each query; above this number numpy takes over."""
_MOST_STEPS = 300_000
"""From this number of steps on (draws times measures times bytes of queries), numpy is worth its import."""
_USE = 1
"""Second word of the seed for random signs, as in `resamples`."""
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
    draws = Counter(word & used for word in raw_words(permutations, [seed, _USE])) if known else Counter()
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
