"""Agreement of assessors: kappa, weighted kappa, Krippendorff's alpha, bias, with intervals over queries.

Formulas take tables of shape (..., grades, grades), rows the reference's grades and columns the judge's, so that one
call serves a table or ten thousand resampled ones. An undefined figure is NaN in them, and absent with its reason in
records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import percentile_ends
from goldbench.measures.statistics.resamples import on_grid, resample_sums
from goldbench.measures.statistics.shares import clustered_share
from goldbench.records.agreement_report import Estimate, GradeMeaning, PairFigures


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
    judgments = matrices.sum(axis=-1)
    total = judgments.sum(axis=-1)
    ends = np.cumsum(judgments, axis=-1) - judgments / 2
    distances = (ends[..., :, None] - ends[..., None, :]) ** 2
    seen = (matrices * distances).sum(axis=(-2, -1))
    expected = (judgments[..., :, None] * judgments[..., None, :] * distances).sum(axis=(-2, -1))
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
        highest: The highest grade.
        weights: Weight by query and document; pairs without one weigh 1.
        power: The tables hold sums of the weights to this power.
    """
    query_ids = sorted(
        query_id for query_id in reference.keys() & judge.keys() if reference[query_id].keys() & judge[query_id].keys()
    )
    tables = np.zeros((len(query_ids), highest + 1, highest + 1))
    for table, query_id in zip(tables, query_ids, strict=True):
        theirs = judge[query_id]
        weight = (weights or {}).get(query_id, {})
        for doc_id, grade in sorted(reference[query_id].items()):
            if doc_id in theirs:
                table[grade, theirs[doc_id]] += weight.get(doc_id, 1.0) ** power
    return query_ids, tables


ONE_GRADE = "every pair has one and the same grade in both, so there is nothing to agree on beyond chance"
NO_PAIR = "no pair was graded by both"
RESAMPLES = 1000
"""Resamples of the queries where nobody asks for another number; the commands' options have the same default."""


def pair_figures(
    tables: Floats, counts: Floats, *, level: int, resamples: int, seed: int, squares: Floats | None = None
) -> PairFigures:
    """Return the agreement of two assessors.

    Args:
        tables: Weighted pairs of each query, shape (queries, grades, grades); rows the reference, columns the judge.
        counts: Unweighted pairs, of the same shape.
        level: The smallest grade that is relevant.
        resamples: Number of resamples of the queries, at least 100.
        seed: Not negative.
        squares: Sums of the squared weights, of the same shape; None if all pairs weigh 1.
    """
    table = tables.sum(axis=0)
    plain = counts.sum(axis=0)
    highest = table.shape[-1] - 1
    grades = np.arange(highest + 1, dtype=np.float64)
    statistics: dict[str, Callable[[Floats], Floats]] = {
        "exact": exact,
        "kappa": cohen_kappa,
        "kappa_linear": linear_kappa,
        "kappa_quadratic": quadratic_kappa,
        "kappa_binary": lambda t: cohen_kappa(binary(t, level)),
        "alpha": lambda t: ordinal_alpha(coincidences(t)),
        "bias": lambda t: bias(t, grades),
    }
    if level > highest:
        del statistics["kappa_binary"]
    figures = estimates(tables, statistics, resamples=resamples, seed=seed)
    if level > highest:
        figures["kappa_binary"] = Estimate(reason=f"the scale ends below grade {level}")
    elif figures["kappa_binary"].value is None and plain.sum():
        relevant = plain[level:].sum() > 0
        figures["kappa_binary"] = Estimate(
            reason=f"no grade is {'below' if relevant else 'of'} {level}{'' if relevant else ' or more'}, in either"
        )
    total = float(table.sum())
    reference = table.sum(axis=1)
    judge = table.sum(axis=0)
    return PairFigures(
        pairs=int(plain.sum()),
        queries=len(tables),
        weighted=squares is not None,
        effective_pairs=float(plain.sum()) if squares is None else _worth(table, squares.sum(axis=0)),
        confusion=[[int(cell) for cell in row] for row in plain],
        mean_reference=float(reference @ grades) / total if total else None,
        mean_judge=float(judge @ grades) / total if total else None,
        prevalence_reference=float(reference[level:].sum()) / total if total else None,
        prevalence_judge=float(judge[level:].sum()) / total if total else None,
        relevant_by_grade=[
            _meaning(tables, counts, counts if squares is None else squares, grade, level)
            for grade in range(highest + 1)
        ],
        **figures,
    )


def estimates(
    tables: Floats, statistics: dict[str, Callable[[Floats], Floats]], *, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Return each statistic of the summed tables, with its interval over resampled queries.

    Args:
        tables: One matrix per query, shape (queries, n, n), not negative.
        statistics: Functions of matrices of shape (..., n, n); NaN where undefined.
    """
    total = tables.sum(axis=0)
    if not total.sum():
        return {name: Estimate(reason=NO_PAIR) for name in statistics}
    values = {name: float(statistic(total)) for name, statistic in statistics.items()}
    draws = _draws(tables, statistics, resamples=resamples, seed=seed) if len(tables) > 1 else {}
    by_name = {}
    for name, value in values.items():
        if np.isnan(value):
            by_name[name] = Estimate(reason=ONE_GRADE)
        else:
            low, high = (percentile_ends(draws[name], len(tables), 0.025) if draws else None) or (None, None)
            by_name[name] = Estimate(value=value, low=low, high=high)
    return by_name


def _draws(
    tables: Floats, statistics: dict[str, Callable[[Floats], Floats]], *, resamples: int, seed: int
) -> dict[str, Floats]:
    size = tables.shape[-1]
    grid = on_grid(tables.reshape(len(tables), 1, -1))
    parts: dict[str, list[Floats]] = {name: [] for name in statistics}
    for sums in resample_sums(grid.steps, draws=resamples, seed=seed):
        drawn = (sums * grid.unit).reshape(len(sums), size, size)
        for name, statistic in statistics.items():
            parts[name].append(statistic(drawn))
    return {name: np.concatenate(part) for name, part in parts.items()}


def _meaning(tables: Floats, counts: Floats, squares: Floats, grade: int, level: int) -> GradeMeaning:
    """Return the worth of a grade; the interval takes its pairs for as many as they are worth, equally weighted."""
    pairs = int(counts[:, :, grade].sum())
    relevant = int(counts[:, level:, grade].sum())
    if not pairs:
        return GradeMeaning(grade=grade, pairs=0, relevant=0, share=Estimate(reason="the judge never gave it"))
    hits = tables[:, level:, grade].sum(axis=1)
    misses = tables[:, :level, grade].sum(axis=1)
    total = float((hits + misses).sum())
    scale = _worth(tables[:, :, grade], squares[:, :, grade]) / total
    low, high = clustered_share((scale * hits).tolist(), (scale * hits + scale * misses).tolist()) or (None, None)
    share = Estimate(value=float(hits.sum()) / total, low=low, high=high)
    return GradeMeaning(grade=grade, pairs=pairs, relevant=relevant, share=share)


def _worth(weights: Floats, squares: Floats) -> float:
    """Return the number of equally weighted pairs that pairs are worth; 0 of none.

    Source: Kish, Survey sampling (1965), section 11.7.
    """
    total = float(weights.sum())
    squared = float(squares.sum())
    return total * total / squared if squared else 0.0


def raters_alpha(counts: Floats, query_of: Sequence[int], queries: int, *, resamples: int, seed: int) -> Estimate:
    """Return Krippendorff's ordinal alpha of any number of assessors, gaps allowed, with its interval over queries.

    Args:
        counts: Number of assessors that gave each grade to each pair, shape (pairs, grades).
        query_of: Position of the query of each pair.
        queries: Number of queries.
    """
    if not (counts.sum(axis=1) > 1).any():
        return Estimate(reason="no pair was graded by two assessors")
    shared = counts[counts.sum(axis=1) > 1]
    if np.count_nonzero(shared.sum(axis=0)) < 2:
        return Estimate(reason=ONE_GRADE)
    matrices = np.zeros((queries, counts.shape[1], counts.shape[1]))
    np.add.at(matrices, np.asarray(query_of), unit_coincidences(counts))
    matrices = matrices[matrices.sum(axis=(1, 2)) > 0]
    return estimates(matrices, {"alpha": ordinal_alpha}, resamples=resamples, seed=seed)["alpha"]
