"""How alike two lists of scores order systems: Kendall's tau-b, and that of two halves of the queries.

A figure is NaN if it is undefined because one list gives all systems the same score.
"""

from __future__ import annotations

import numpy as np

from goldbench.measures.result import ROUNDING
from goldbench.measures.statistics.floats import Floats, of_finite_numbers

FEW_SYSTEMS = 8
"""Below this number of systems tau takes so few values that it says little."""

_SPLITS = 3
"""Number that separates this use of a seed from those in ``goldbench.measures.statistics.resamples``."""


def tau_b_rows(first: Floats, second: Floats) -> Floats:
    """Return tau-b row by row, shape (rows), -1 to 1; scores have the shape (rows, systems).

    Pairs of systems ordered alike, less those ordered otherwise, over the geometric mean of the pairs that are not tied
    in each list.

    Source: Kendall, The treatment of ties in ranking problems (Biometrika, 1945).
    """
    one, other = np.triu_indices(first.shape[1], k=1)
    a = _signs(first[:, one] - first[:, other])
    b = _signs(second[:, one] - second[:, other])
    untied = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(untied > 0, (a * b).sum(axis=1) / untied, np.nan))


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


def _signs(differences: Floats) -> Floats:
    return np.asarray(np.where(np.abs(differences) <= ROUNDING, 0.0, np.sign(differences)))
