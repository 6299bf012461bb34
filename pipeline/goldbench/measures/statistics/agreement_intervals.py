"""Figures of agreement with bootstrap intervals over queries; an undefined figure is absent with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from goldbench.measures.statistics import kappa
from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import rank_below, widened_tail
from goldbench.measures.statistics.resamples import on_grid, resample_sums
from goldbench.measures.statistics.shares import clustered_share
from goldbench.records.agreement_report import Estimate, GradeMeaning, PairFigures

ONE_GRADE = "every pair has one and the same grade in both, so there is nothing to agree on beyond chance"
NO_PAIR = "no pair was graded by both"
RESAMPLES = 1000
"""Resamples of the queries where nobody asks for another number; the commands' options have the same default."""
_DEFINED = 0.95
"""An interval is given if the figure is defined in at least this share of the resamples."""


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
    table, plain = tables.sum(axis=0), counts.sum(axis=0)
    highest = table.shape[-1] - 1
    grades = np.arange(highest + 1, dtype=np.float64)
    statistics: dict[str, Callable[[Floats], Floats]] = {
        "exact": kappa.exact,
        "kappa": kappa.cohen_kappa,
        "kappa_linear": kappa.linear_kappa,
        "kappa_quadratic": kappa.quadratic_kappa,
        "kappa_binary": lambda t: kappa.cohen_kappa(kappa.binary(t, level)),
        "alpha": lambda t: kappa.ordinal_alpha(kappa.coincidences(t)),
        "bias": lambda t: kappa.bias(t, grades),
    }
    if level > highest:
        del statistics["kappa_binary"]
    found = estimates(tables, statistics, resamples=resamples, seed=seed)
    if level > highest:
        found["kappa_binary"] = Estimate(reason=f"the scale ends below grade {level}")
    elif found["kappa_binary"].value is None and plain.sum():
        relevant = plain[level:].sum() > 0
        found["kappa_binary"] = Estimate(
            reason=f"no grade is {'below' if relevant else 'of'} {level}{'' if relevant else ' or more'}, in either"
        )
    total = float(table.sum())
    reference, judge = table.sum(axis=1), table.sum(axis=0)
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
        **found,
    )


def estimates(
    tables: Floats, statistics: dict[str, Callable[[Floats], Floats]], *, resamples: int, seed: int
) -> dict[str, Estimate]:
    """Return each statistic of the summed tables, with its interval over resampled queries.

    Args:
        tables: One matrix per query, shape (queries, n, n), not negative.
        statistics: Functions of matrices of shape (..., n, n); NaN where undefined.
        resamples: As in `pair_figures`.
        seed: As in `pair_figures`.
    """
    total = tables.sum(axis=0)
    if not total.sum():
        return {name: Estimate(reason=NO_PAIR) for name in statistics}
    values = {name: float(statistic(total)) for name, statistic in statistics.items()}
    draws = _draws(tables, statistics, resamples=resamples, seed=seed) if len(tables) > 1 else {}
    found = {}
    for name, value in values.items():
        if np.isnan(value):
            found[name] = Estimate(reason=ONE_GRADE)
        else:
            low, high = _ends(draws[name], len(tables)) if draws else (None, None)
            found[name] = Estimate(value=value, low=low, high=high)
    return found


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


def _ends(draws: Floats, queries: int) -> tuple[float | None, float | None]:
    """Return the ends of a percentile interval, widened for few queries as those of means are."""
    defined = np.sort(draws[~np.isnan(draws)])
    if len(defined) < _DEFINED * len(draws):
        return None, None
    below = rank_below(len(defined), widened_tail(0.025, queries))
    return float(defined[below]), float(defined[len(defined) - 1 - below])


def _meaning(tables: Floats, counts: Floats, squares: Floats, grade: int, level: int) -> GradeMeaning:
    """Return the worth of a grade; the interval takes its pairs for as many as they are worth, equally weighted."""
    pairs, relevant = int(counts[:, :, grade].sum()), int(counts[:, level:, grade].sum())
    if not pairs:
        return GradeMeaning(grade=grade, pairs=0, relevant=0, share=Estimate(reason="the judge never gave it"))
    hits, misses = tables[:, level:, grade].sum(axis=1), tables[:, :level, grade].sum(axis=1)
    total = float((hits + misses).sum())
    scale = _worth(tables[:, :, grade], squares[:, :, grade]) / total
    low, high = clustered_share((scale * hits).tolist(), (scale * hits + scale * misses).tolist()) or (None, None)
    share = Estimate(value=float(hits.sum()) / total, low=low, high=high)
    return GradeMeaning(grade=grade, pairs=pairs, relevant=relevant, share=share)


def _worth(weights: Floats, squares: Floats) -> float:
    """Return the number of equally weighted pairs that pairs are worth; 0 of none.

    Source: Kish, Survey sampling (1965), section 11.7.
    """
    total, squared = float(weights.sum()), float(squares.sum())
    return total * total / squared if squared else 0.0


def raters_alpha(counts: Floats, query_of: Sequence[int], queries: int, *, resamples: int, seed: int) -> Estimate:
    """Return Krippendorff's ordinal alpha of any number of assessors, gaps allowed, with its interval over queries.

    Args:
        counts: Number of assessors that gave each grade to each pair, shape (pairs, grades).
        query_of: Position of the query of each pair.
        queries: Number of queries.
        resamples: As in `pair_figures`.
        seed: As in `pair_figures`.
    """
    import krippendorff

    if not (counts.sum(axis=1) > 1).any():
        return Estimate(reason="no pair was graded by two assessors")
    shared = counts[counts.sum(axis=1) > 1]
    if np.count_nonzero(shared.sum(axis=0)) < 2:
        return Estimate(reason=ONE_GRADE)
    value = float(krippendorff.alpha(value_counts=counts.astype(np.int64), level_of_measurement="ordinal"))
    matrices = np.zeros((queries, counts.shape[1], counts.shape[1]))
    np.add.at(matrices, np.asarray(query_of), kappa.unit_coincidences(counts))
    matrices = matrices[matrices.sum(axis=(1, 2)) > 0]
    again = estimates(matrices, {"alpha": kappa.ordinal_alpha}, resamples=resamples, seed=seed)["alpha"]
    return Estimate(value=value, low=again.low, high=again.high)
