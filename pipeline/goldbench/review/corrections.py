"""The means of systems on one measure, corrected by the queries that people judged completely.

Several systems are corrected together, because a model's error is mostly common to all; one system is corrected alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from typing import Any

from goldbench.measures.statistics.ppi import FEW, LEAST, estimate
from goldbench.records.agreement_report import Estimate
from goldbench.records.calibrated import CorrectedRanking
from goldbench.text.display import queries

_NO_WIDTH = 1e-12
"""Narrower intervals come from equal values, not from precision; they are left out."""

Values = Mapping[str, float]
"""A measure by query."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrected means and differences of all systems on one measure.

    ``scores`` and ``differences`` hold the fields of `goldbench.records.calibrated` by system and by pair of systems;
    ``shared`` is the share of the model's error that counts as common to all systems, None if they were not corrected
    together. ``ranking`` says how likely the corrected order is right, None without one.
    """

    scores: dict[str, dict[str, Any]]
    differences: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    shared: float | None = None
    ranking: CorrectedRanking | None = None


def corrections(
    raw: Mapping[str, Values], mixed: Mapping[str, Values], complete: Sequence[str], *, highest: float
) -> Corrections:
    """Return the corrected means of systems on one measure.

    Args:
        raw: For each system its values under the model's grades, by query; all systems have the same queries.
        mixed: The same with people's grades for the completely judged queries.
        complete: The queries that people judged completely.
        highest: The highest value of the measure; it may be infinite.
    """
    pairs = list(combinations(raw, 2))
    plain = {name: _mean(values) for name, values in raw.items()}
    apart = {(one, other): plain[one] - plain[other] for one, other in pairs}
    if len(complete) < LEAST:
        reason = Estimate(reason=f"{queries(len(complete))} judged completely; {LEAST} are needed, {FEW} recommended")
        return Corrections(
            {name: {"raw": value, "corrected": reason} for name, value in plain.items()},
            {pair: {"raw": value, "corrected": reason} for pair, value in apart.items()},
        )
    if len(raw) == 1:
        [name] = raw
        return Corrections({name: {"raw": plain[name], **_alone(raw[name], mixed[name], complete, highest)}})
    return _together(raw, mixed, complete, highest, plain, apart)


def _alone(raw: Values, mixed: Values, complete: Sequence[str], highest: float) -> dict[str, Any]:
    judged = set(complete)
    others = [value for query_id, value in raw.items() if query_id not in judged]
    found = estimate([mixed[query_id] for query_id in complete], [raw[query_id] for query_id in complete], others)
    (corrected,) = _estimates([found.mean], ([found.low], [found.high]), (0.0, highest))
    return {"corrected": corrected, "weight": found.weight}


def _together(
    raw: Mapping[str, Values],
    mixed: Mapping[str, Values],
    complete: Sequence[str],
    highest: float,
    plain: Mapping[str, float],
    apart: Mapping[tuple[str, str], float],
) -> Corrections:
    import numpy as np

    from goldbench.measures.statistics.fitness import ranking_of
    from goldbench.measures.statistics.joint_calibration import joint_estimate

    judged = set(complete)
    others = [query_id for query_id in next(iter(raw.values())) if query_id not in judged]
    human, judge = (np.array([[of[query] for query in complete] for of in by.values()]) for by in (mixed, raw))
    rest = np.array([[values[query_id] for query_id in others] for values in raw.values()]).reshape(len(raw), -1)
    found = joint_estimate(human, judge, rest)
    bias, *bias_limits = found.favours()
    favours = _estimates(bias, bias_limits)
    means = _estimates(found.means, found.means_limits(), (0.0, highest))
    differences = [float(found.means[one] - found.means[other]) for one, other in found.differences()]
    return Corrections(
        {
            name: {"raw": plain[name], "corrected": corrected, "best": float(best), "favoured": favoured}
            for name, corrected, best, favoured in zip(raw, means, found.best, favours, strict=True)
        },
        {
            pair: {"raw": apart[pair], "corrected": corrected}
            for pair, corrected in zip(
                apart, _estimates(differences, found.differences_limits(), (-highest, highest)), strict=True
            )
        },
        found.shared,
        ranking_of(found, complete=len(complete), queries=len(complete) + len(others)),
    )


def _estimates(
    values: Iterable[float], limits: Sequence[Any], ends: tuple[float, float] = (-inf, inf)
) -> Iterator[Estimate]:
    """Yield figures with their limits; without them if all completely judged queries have the same value."""
    lowest, highest = ends
    for value, low, high in zip(values, *limits, strict=True):
        has_width = high - low > _NO_WIDTH
        yield Estimate(
            value=float(value),
            low=max(float(low), lowest) if has_width else None,
            high=min(float(high), highest) if has_width else None,
        )


def _mean(values: Values) -> float:
    return sum(values.values()) / len(values)
