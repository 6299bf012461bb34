"""How alike two lists of scores order systems: Kendall's tau-b, and that of two halves of the queries.

A figure is NaN if it is undefined because one list gives all systems the same score.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau

from goldbench.measures.statistics.floats import Floats, of_finite_numbers

FEW_SYSTEMS = 8
"""Below this number of systems tau takes so few values that it says little."""

_DIGITS = 9
"""Decimal places to which scores are rounded, so that noise of arithmetic counts as a tie."""
_SPLITS = 3
"""Number that separates this use of a seed from those in ``goldbench.measures.statistics.resamples``."""


def tau_b_rows(first: Floats, second: Floats) -> Floats:
    """Return tau-b row by row, shape (rows), -1 to 1; scores have the shape (rows, systems).

    Pairs of systems ordered alike, less those ordered otherwise, over the geometric mean of the pairs that are not tied
    in each list.

    Source: Kendall, The treatment of ties in ranking problems (Biometrika, 1945).
    """
    rounded = zip(first.round(_DIGITS), second.round(_DIGITS), strict=True)
    return np.array([kendalltau(ours, theirs).statistic for ours, theirs in rounded])


def split_halves(scores: Floats, *, size: int, splits: int, seed: int) -> tuple[Floats, Floats]:
    """Return the means of every system over two disjoint draws of queries, shapes (splits, systems).

    Args:
        scores: Shape (queries, systems), finite.
        size: Number of queries in each draw, at most half of them.
        splits: Number of pairs of draws.
        seed: Not negative.
    """
    queries = len(scores)
    stream = np.random.PCG64(np.random.SeedSequence([seed, _SPLITS, size]))
    keys = stream.random_raw(splits * queries).reshape(splits, queries)
    order = np.argsort(keys, axis=1, kind="stable")
    halves = []
    for part in (order[:, :size], order[:, size : 2 * size]):
        chosen = np.zeros((splits, queries))
        np.put_along_axis(chosen, part, 1.0, axis=1)
        with of_finite_numbers():
            halves.append(chosen @ scores / size)
    return halves[0], halves[1]
