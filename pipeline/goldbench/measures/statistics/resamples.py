"""Seeded random signs and resamples of queries, and exact sums of scores under them.

The draws come from the raw stream of PCG64, which numpy never changes, unlike its distributions. Scores are rounded to
a grid that is too fine to matter and coarse enough for float64 to add its numbers without an error. So the sums do not
depend on the order of adding: every processor, thread count and library of linear algebra gives the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from goldbench.measures.statistics.floats import Floats, of_finite_numbers

_SIGNS = 1
_RESAMPLES = 2
_BLOCK = 1_000_000
"""Number of draws held in memory at once, 8 MB as float64; it does not affect the result."""

_HELD = 2_000_000
"""Number of differences held in memory at once, 16 MB; it does not affect the result."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Scores as whole numbers of a unit: ``steps`` has the shape of the scores, ``unit`` one value per measure."""

    steps: Floats
    unit: Floats


def on_grid(scores: Floats) -> Grid:
    """Return scores, shape (queries, systems, measures), on a grid of their measure; at most half a unit is lost."""
    largest = np.abs(scores).max(axis=(0, 1), initial=0.0)
    room = np.maximum(largest, np.finfo(np.float64).tiny * 2**60) * len(scores)
    exponent = 50 - np.ceil(np.log2(room)).astype(np.int64)
    return Grid(np.rint(np.ldexp(scores, exponent)), np.ldexp(1.0, -exponent))


def sign_sums(steps: Floats, *, draws: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of sums over a random half of the queries, shape (draws of the block, systems, measures).

    A query is in a sum with probability 1/2. The same draws serve all systems and measures, since the sum of flipped
    differences is the difference of two such sums.

    Args:
        steps: Shape (queries, systems, measures), whole numbers.
        draws: Number of draws in all.
        seed: Not negative.
    """
    queries = len(steps)
    words = -(-queries // 64)
    numbers = stream(seed, _SIGNS)
    table = steps.reshape(queries, -1)
    for size in _blocks(draws, queries):
        raw = numbers.random_raw(size * words).astype("<u8").view(np.uint8).reshape(size, -1)
        chosen = np.unpackbits(raw, axis=1, count=queries, bitorder="little").astype(np.float64)
        with of_finite_numbers():
            sums = chosen @ table
        yield sums.reshape(size, *steps.shape[1:])


def resample_sums(steps: Floats, *, draws: int, seed: int, size: int | None = None) -> Iterator[Floats]:
    """Yield blocks of sums over queries drawn with replacement; shapes as in `sign_sums`.

    Args:
        steps: As in `sign_sums`.
        draws: As in `sign_sums`.
        seed: As in `sign_sums`.
        size: Number of queries in each draw; None for as many as there are.
    """
    queries = len(steps)
    size = queries if size is None else size
    halves = size + size % 2
    numbers = stream(seed, _RESAMPLES)
    table = steps.reshape(queries, -1)
    for count in _blocks(draws, max(queries, size)):
        raw = numbers.random_raw(count * halves // 2).astype("<u8").view("<u4").reshape(count, halves)[:, :size]
        drawn = ((raw.astype(np.uint64) * np.uint64(queries)) >> np.uint64(32)).view(np.int64)
        counts = np.empty((count, queries))
        for row, picks in zip(counts, drawn, strict=True):
            row[:] = np.bincount(picks, minlength=queries)
        with of_finite_numbers():
            sums = counts @ table
        yield sums.reshape(count, *steps.shape[1:])


def parts(pairs: int, values: int) -> Iterator[slice]:
    """Yield slices of pairs with ``values`` values each, small enough to be held in memory at once."""
    width = max(1, _HELD // max(values, 1))
    for start in range(0, pairs, width):
        yield slice(start, start + width)


def stream(seed: int, use: int) -> np.random.PCG64:
    """Return the raw stream of a seed for one use of random numbers; the numbers of two uses are independent."""
    return np.random.PCG64(np.random.SeedSequence([seed, use]))


def _blocks(draws: int, queries: int) -> Iterator[int]:
    size = max(1, _BLOCK // max(queries, 1))
    for start in range(0, draws, size):
        yield min(size, draws - start)


_USE = 3
"""The number of this use of random numbers; see `stream`."""


class NormalDraws:
    """Draws that do not depend on the version of numpy: uniform numbers, turned by the quantiles of the distribution.

    Args:
        seed: Not negative.
        draws: How many are drawn each time.
    """

    def __init__(self, seed: int, draws: int) -> None:
        self._stream = stream(seed, _USE)
        self._draws = draws

    def uniform(self) -> Floats:
        """Return numbers between 0 and 1, without both, shape (draws,)."""
        return self._numbers(1)[:, 0]

    def vectors(self, covariance: Floats) -> Floats:
        """Return normal vectors of mean 0, shape (draws, K)."""
        from scipy.special import ndtri

        return np.asarray(ndtri(self._numbers(len(covariance))) @ root_of(covariance))

    def chi_square(self, freedom: float) -> Floats:
        """Return draws from a chi-square distribution, shape (draws,)."""
        from scipy.special import gammaincinv

        return np.asarray(2 * gammaincinv(freedom / 2, self.uniform()))

    def _numbers(self, width: int) -> Floats:
        raw = self._stream.random_raw(self._draws * width) >> np.uint64(11)
        return np.asarray((raw + 0.5) / 2**53).reshape(self._draws, width)


def root_of(covariance: Floats) -> Floats:
    """Return the symmetric root of a covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
