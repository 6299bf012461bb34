"""How alike two lists of scores order systems: Kendall's tau-b, AP correlation, the means of halves of the queries.

A figure is NaN if it is undefined because one list gives all systems the same score.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from goldbench.measures.result import ROUNDING
from goldbench.measures.statistics.floats import Floats, of_finite_numbers
from goldbench.measures.statistics.resamples import on_grid

FEW_SYSTEMS = 8
"""Below this number of systems tau takes so few values that it says little."""

_SPLITS = 3
"""Number that separates this use of a seed from those in ``goldbench.measures.statistics.resamples``."""


def kendall_tau_b(first: Floats, second: Floats) -> float:
    """Return tau-b of two lists of scores of the same systems, -1 to 1.

    Pairs of systems ordered alike, less those ordered otherwise, over the geometric mean of the pairs that are not tied
    in each list.

    Source: Kendall, The treatment of ties in ranking problems (Biometrika, 1945).
    """
    return float(tau_b_rows(first[None, :], second[None, :])[0])


def tau_b_rows(first: Floats, second: Floats) -> Floats:
    """Return tau-b row by row, shape (rows); scores have the shape (rows, systems)."""
    one, other = np.triu_indices(first.shape[1], k=1)
    a = _signs(first[:, one] - first[:, other])
    b = _signs(second[:, one] - second[:, other])
    untied = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(untied > 0, (a * b).sum(axis=1) / untied, np.nan))


def tau_ap(reference: Floats, judged: Floats) -> float:
    """Return the AP correlation of a ranking by ``judged`` with the true one by ``reference``, -1 to 1.

    Mistakes near the top of the ranking by ``judged`` weigh more: for each system but the first, the share of those
    ranked above it that ``reference`` puts above it too. Systems level in ``judged`` count as the mean over all orders
    of them; systems level in ``reference`` are right to one half. Not symmetric.

    Args:
        reference: One score per system, finite.
        judged: As in ``reference``, of the ranking that is examined.

    Source: Yilmaz, Aslam, Robertson, A new rank correlation coefficient for information retrieval (SIGIR 2008); ties in
        the examined ranking as in Urbano and Marrero, The treatment of ties in AP correlation (ICTIR 2017), tau_AP,a.
    """
    return float(tau_ap_rows(reference[None, :], judged[None, :])[0])


def tau_ap_rows(reference: Floats, judged: Floats) -> Floats:
    """Return the AP correlation row by row, shape (rows); scores have the shape (rows, systems)."""
    rows, systems = reference.shape
    total = np.zeros(rows)
    if systems < 2:
        return np.full(rows, np.nan)
    for system in range(systems):
        order = _signs(judged - judged[:, [system]])
        right = (1.0 + _signs(reference - reference[:, [system]])) / 2
        above, level = order > 0, order == 0
        level[:, system] = False
        ahead, beside = above.sum(axis=1), level.sum(axis=1)
        sure = np.where(above, right, 0.0).sum(axis=1)
        mean_beside = np.where(level, right, 0.0).sum(axis=1) / np.maximum(beside, 1)
        total += _expected_share(ahead, beside, sure, mean_beside)
    spread = (np.ptp(reference, axis=1) > ROUNDING) & (np.ptp(judged, axis=1) > ROUNDING)
    return np.asarray(np.where(spread, 2 * total / (systems - 1) - 1, np.nan))


def _expected_share(
    ahead: npt.NDArray[np.int64], beside: npt.NDArray[np.int64], sure: Floats, mean_beside: Floats
) -> Floats:
    """Return the expected share of systems rightly above, over the places that a tied system may take."""
    share = np.zeros(len(ahead))
    for extra in range(int(beside.max(initial=0)) + 1):
        place = ahead + extra
        counts = (extra <= beside) & (place > 0)
        share += np.where(counts, (sure + extra * mean_beside) / np.maximum(place, 1) / (beside + 1), 0.0)
    return share


def split_halves(scores: Floats, *, size: int, splits: int, seed: int) -> tuple[Floats, Floats]:
    """Return the means of every system over two disjoint draws of queries, shapes (splits, systems).

    Args:
        scores: Shape (queries, systems), finite.
        size: Number of queries in each draw, at most half of them.
        splits: Number of pairs of draws.
        seed: Not negative; the same seed gives the same bits.
    """
    queries = len(scores)
    stream = np.random.PCG64(np.random.SeedSequence([seed, _SPLITS, size]))
    keys = stream.random_raw(splits * queries).reshape(splits, queries)
    order = np.argsort(keys, axis=1, kind="stable")
    grid = on_grid(scores[:, :, None])
    steps = grid.steps[:, :, 0]
    halves = []
    for part in (order[:, :size], order[:, size : 2 * size]):
        chosen = np.zeros((splits, queries))
        np.put_along_axis(chosen, part, 1.0, axis=1)
        with of_finite_numbers():
            sums = chosen @ steps
        halves.append(sums * grid.unit[0] / size)
    return halves[0], halves[1]


def _signs(differences: Floats) -> Floats:
    return np.asarray(np.where(np.abs(differences) <= ROUNDING, 0.0, np.sign(differences)))
