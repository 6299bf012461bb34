"""Agreement of two assessors: kappa, weighted kappa, Krippendorff's alpha, bias.

Every function takes tables of shape (..., grades, grades), rows the reference's grades and columns the judge's, so that
one call serves a table or ten thousand resampled ones. An undefined figure is NaN here;
``goldbench.measures.statistics.agreement_intervals`` turns it into an absent figure with its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np

from goldbench.measures.statistics.floats import Floats


def combined(grades: Sequence[int]) -> int:
    """Return one grade for several assessors: their rounded mean, the lower grade if it is halfway between two."""
    return ceil(sum(grades) / len(grades) - 0.5 - 1e-9)


def exact(tables: Floats) -> Floats:
    """Return the share of pairs with the same grade."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.trace(tables, axis1=-2, axis2=-1) / tables.sum(axis=(-2, -1)))


def cohen_kappa(tables: Floats) -> Floats:
    """Return Cohen's kappa, unweighted: grades agree or they do not. NaN if both give one and the same grade.

    Source: Cohen, A coefficient of agreement for nominal scales (Educational and Psychological Measurement, 1960).
    """
    return _kappa(tables, 1.0 - np.eye(tables.shape[-1]))


def quadratic_kappa(tables: Floats) -> Floats:
    """Return kappa with quadratic weights: a disagreement counts by the square of its steps.

    Source: Cohen, Weighted kappa (Psychological Bulletin, 1968).
    """
    steps = np.arange(tables.shape[-1], dtype=np.float64)
    return _kappa(tables, (steps[:, None] - steps) ** 2)


def linear_kappa(tables: Floats) -> Floats:
    """Return kappa with linear weights: a disagreement counts by its steps.

    Source: Cicchetti and Allison, A new procedure for assessing reliability (American Journal of EEG Technology, 1971).
    """
    steps = np.arange(tables.shape[-1], dtype=np.float64)
    return _kappa(tables, np.abs(steps[:, None] - steps))


def _kappa(tables: Floats, weights: Floats) -> Floats:
    total = tables.sum(axis=(-2, -1))
    by_chance = tables.sum(axis=-1)[..., :, None] * tables.sum(axis=-2)[..., None, :]
    seen = (weights * tables).sum(axis=(-2, -1)) * total
    expected = (weights * by_chance).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0, 1 - seen / expected, np.nan))


def binary(tables: Floats, level: int) -> Floats:
    """Return the tables of relevant or not, shape (..., 2, 2); grades from position ``level`` on are relevant."""
    halves = np.add.reduceat(tables, [0, level], axis=-1)
    return np.asarray(np.add.reduceat(halves, [0, level], axis=-2))


def coincidences(tables: Floats) -> Floats:
    """Return Krippendorff's coincidence matrices of two assessors who both graded every pair."""
    return tables + np.swapaxes(tables, -1, -2)


def unit_coincidences(counts: Floats) -> Floats:
    """Return the coincidence matrix of each unit, shape (units, grades, grades); 0 if fewer than 2 assessors graded it.

    Args:
        counts: Number of assessors that gave each grade to each unit, shape (units, grades).
    """
    graded = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, range(counts.shape[1]), range(counts.shape[1])] -= counts
    return np.asarray(np.where(graded[:, None, None] > 1, pairs / np.maximum(graded - 1, 1)[:, None, None], 0.0))


def ordinal_alpha(matrices: Floats) -> Floats:
    """Return Krippendorff's alpha for ordered grades from coincidence matrices; NaN if only one grade was given.

    The distance of two grades is the square of the number of grades given between them, both counted half.

    Source: Krippendorff, Content analysis (3rd ed., 2013), section 12.3.
    """
    given = matrices.sum(axis=-1)
    total = given.sum(axis=-1)
    ends = np.cumsum(given, axis=-1) - given / 2
    distances = (ends[..., :, None] - ends[..., None, :]) ** 2
    seen = (matrices * distances).sum(axis=(-2, -1))
    expected = (given[..., :, None] * given[..., None, :] * distances).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (total - 1) * seen / expected, np.nan))


def bias(tables: Floats, grades: Floats) -> Floats:
    """Return the mean of the judge's grades minus the mean of the reference's."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = (tables * (grades - grades[:, None])).sum(axis=(-2, -1)) / tables.sum(axis=(-2, -1))
    return np.asarray(means)


def query_tables(
    reference: Mapping[str, Mapping[str, int]],
    judge: Mapping[str, Mapping[str, int]],
    *,
    highest: int,
    weights: Mapping[str, Mapping[str, float]] | None = None,
    power: int = 1,
) -> tuple[list[str], Floats]:
    """Return the queries with a pair that both graded, sorted, and the table of each, shape (queries, grades, grades).

    Args:
        reference: Grade by query and document, 0 to ``highest``.
        judge: As in ``reference``, of the other assessor.
        highest: The highest grade.
        weights: Weight by query and document; pairs without one weigh 1.
        power: The tables hold sums of the weights to this power.
    """
    query_ids = sorted(
        query_id for query_id in reference.keys() & judge.keys() if reference[query_id].keys() & judge[query_id].keys()
    )
    tables = np.zeros((len(query_ids), highest + 1, highest + 1))
    for table, query_id in zip(tables, query_ids, strict=True):
        theirs, weight = judge[query_id], (weights or {}).get(query_id, {})
        for doc_id, grade in sorted(reference[query_id].items()):
            if doc_id in theirs:
                table[grade, theirs[doc_id]] += weight.get(doc_id, 1.0) ** power
    return query_ids, tables
