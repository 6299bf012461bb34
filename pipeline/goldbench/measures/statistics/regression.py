"""Checks of a run against lowest means and largest drops, and the queries behind a drop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal

import numpy as np

from goldbench.measures.result import ROUNDING, Result
from goldbench.measures.statistics.intervals import bootstrap_intervals
from goldbench.measures.statistics.significance import holm, sign_flip_p
from goldbench.records.scorecard import Baseline

Column = Sequence[float]
"""The values of one measure, by query."""

SHOWN = 10
"""Number of fallen queries to name per measure."""


@dataclass(frozen=True, slots=True)
class Drop:
    """How far a mean may fall: a share of the baseline's mean, or an absolute difference."""

    amount: float
    relative: bool

    def allowed(self, reference: float) -> float:
        """Return the largest fall from this mean that passes."""
        return self.amount * reference if self.relative else self.amount

    def __str__(self) -> str:
        return f"{self.amount:.4%}".rstrip("0%").rstrip(".") + "%" if self.relative else f"{self.amount:g}"


@dataclass(frozen=True, slots=True)
class Fall:
    """One query that scores lower than before."""

    query_id: str
    before: float
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCheck:
    """One condition and its outcome. ``fallen`` are the queries that fell most, the deepest fall first.

    ``bound`` is the lowest mean that passes. ``reference``, ``low`` and ``high`` (the paired 95 % interval of the
    change, None below 2 queries), ``p`` (randomization test, Holm) and ``fallen`` belong to a drop. ``excused`` marks a
    drop that is too deep but not significant, if only significant drops count.
    """

    kind: Literal["min", "drop"]
    measure: str
    value: float
    bound: float
    passed: bool
    reference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    excused: bool = False
    fallen: Sequence[Fall] = ()


def check_minimums(result: Result, minimums: Mapping[str, float]) -> list[GateCheck]:
    """Return a check for each measure that has a lowest mean."""
    return [
        GateCheck(kind="min", measure=measure, value=mean, bound=bound, passed=mean >= bound - ROUNDING)
        for measure, bound in minimums.items()
        for mean in (result.mean(measure),)
    ]


def check_drops(
    result: Result,
    baseline: Baseline,
    drops: Mapping[str, Drop],
    *,
    significant_only: bool,
    alpha: float = 0.05,
    permutations: int = 10_000,
    seed: int = 0,
) -> list[GateCheck]:
    """Return a check for each measure that may not fall, over the queries that both sides have.

    Args:
        result: The run as it is now.
        baseline: The run as it was.
        drops: How far each measure may fall; Holm is over these measures.
        significant_only: Whether a fall passes that is not significant at ``alpha``.
        alpha: Level of the test, in (0, 1).
        permutations: Number of draws of the randomization test.
        seed: Seed of the draws, not negative.

    Raises:
        ValueError: The two sides have no query in common.
    """
    if not drops:
        return []
    query_ids, now, before = _both(result, baseline, list(drops))
    scores = np.asarray([now, before], dtype=np.float64).transpose(2, 0, 1)  # (queries, 2, measures)
    p_values = holm(sign_flip_p(scores, [(0, 1)], permutations=permutations, seed=seed)[0].tolist())
    ends = bootstrap_intervals(scores, [(0, 1)], resamples=10_000, seed=0) if len(query_ids) > 1 else None
    checks = []
    for column, (measure, drop) in enumerate(drops.items()):
        is_now = now[column]
        was = before[column]
        p = p_values[column]
        value = fsum(is_now) / len(is_now)
        reference = fsum(was) / len(was)
        bound = reference - drop.allowed(reference)
        deep = value < bound - ROUNDING
        chance = significant_only and deep and p > alpha
        checks.append(
            GateCheck(
                kind="drop",
                measure=measure,
                value=value,
                bound=bound,
                passed=not deep or chance,
                reference=reference,
                low=None if ends is None else float(ends.difference_low[0, column]),
                high=None if ends is None else float(ends.difference_high[0, column]),
                p=p,
                excused=chance,
                fallen=_fallen(query_ids, is_now, was) if deep else (),
            )
        )
    return checks


def _both(result: Result, baseline: Baseline, measures: Sequence[str]) -> tuple[list[str], list[Column], list[Column]]:
    """Return the common queries and the values on them, now and before: a column for each measure."""
    was = {query_id: position for position, query_id in enumerate(baseline.query_ids)}
    is_now = {query_id: position for position, query_id in enumerate(result.query_ids)}
    query_ids = sorted(was.keys() & is_now.keys())
    if not query_ids:
        raise ValueError("the run and the baseline have no query in common")
    now: list[Column] = [[result.values[measure][is_now[query_id]] for query_id in query_ids] for measure in measures]
    before: list[Column] = [[baseline.values[measure][was[query_id]] for query_id in query_ids] for measure in measures]
    return query_ids, now, before


def _fallen(query_ids: Sequence[str], now: Column, before: Column) -> list[Fall]:
    fell = [position for position in range(len(query_ids)) if now[position] < before[position] - ROUNDING]
    deepest = sorted(fell, key=lambda position: (now[position] - before[position], query_ids[position]))[:SHOWN]
    return [Fall(query_ids[position], before[position], now[position]) for position in deepest]
