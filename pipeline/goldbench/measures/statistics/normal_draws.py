"""Seeded draws from normal and chi-square distributions."""

from __future__ import annotations

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.resamples import stream

_USE = 3
"""The number of this use of random numbers; see `stream`."""


class NormalDraws:
    """Draws that do not depend on the version of numpy: uniform numbers, turned by the quantiles of the distribution.

    Args:
        seed: Not negative.
        draws: How many are drawn each time.
    """

    def __init__(self, seed: int, draws: int) -> None:
        self._stream, self._draws = stream(seed, _USE), draws

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
