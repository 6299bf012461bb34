"""The means of systems on one measure, corrected by the queries that people judged completely.

Several systems are corrected together, because a model's error is mostly common to all; one system is corrected alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from goldbench.pipeline.measures.statistics.ppi import FEW, LEAST, estimate
from goldbench.pipeline.text.display import queries
from goldbench.schemas.agreement_report import Estimate

_NO_WIDTH = 1e-12
"""Narrower intervals come from equal values, not from precision; they are left out."""

Values = Mapping[str, float]
"""A measure by query."""
Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Means:
    """A corrected mean with its limits for queries like these, and for exactly these."""

    value: float
    limits: Limits
    set_limits: Limits


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrected means and differences of all systems on one measure.

    ``scores`` and ``differences`` hold the fields of `goldbench.schemas.calibrated` by system and by pair of systems;
    ``shared`` is the share of the model's error that counts as common to all systems, None if they were not corrected
    together.
    """

    scores: dict[str, dict[str, Any]]
    differences: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    shared: float | None = None


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
        missing = {"corrected": reason, "this_set": reason}
        return Corrections(
            {name: {"raw": value, **missing} for name, value in plain.items()},
            {pair: {"raw": value, **missing} for pair, value in apart.items()},
        )
    if len(raw) == 1:
        [name] = raw
        return Corrections({name: {"raw": plain[name], **_alone(raw[name], mixed[name], complete, highest)}})
    return _together(raw, mixed, complete, highest, plain, apart)


def _alone(raw: Values, mixed: Values, complete: Sequence[str], highest: float) -> dict[str, Any]:
    judged = set(complete)
    others = [value for query_id, value in raw.items() if query_id not in judged]
    found = estimate([mixed[query_id] for query_id in complete], [raw[query_id] for query_id in complete], others)
    means = _Means(found.mean, (found.low, found.high), (found.set_low, found.set_high))
    return {**_shown(means, (0.0, highest)), "weight": found.weight}


def _together(
    raw: Mapping[str, Values],
    mixed: Mapping[str, Values],
    complete: Sequence[str],
    highest: float,
    plain: Mapping[str, float],
    apart: Mapping[tuple[str, str], float],
) -> Corrections:
    import numpy as np

    from goldbench.pipeline.measures.statistics.joint_calibration import joint_estimate

    judged = set(complete)
    others = [query_id for query_id in next(iter(raw.values())) if query_id not in judged]
    human, judge = (np.array([[of[query] for query in complete] for of in by.values()]) for by in (mixed, raw))
    rest = np.array([[values[query_id] for query_id in others] for values in raw.values()]).reshape(len(raw), -1)
    found = joint_estimate(human, judge, rest)
    bias, *bias_limits = found.favours()
    limits, set_limits = found.means_limits(), found.means_limits(these=True)
    scores = {
        name: {
            "raw": plain[name],
            **_shown(_Means(float(found.means[at]), _at(limits, at), _at(set_limits, at)), (0.0, highest)),
            "best": float(found.best[at]),
            "favoured": _estimate(float(bias[at]), _at(bias_limits, at)),
        }
        for at, name in enumerate(raw)
    }
    limits, set_limits = found.differences_limits(), found.differences_limits(these=True)
    places = {name: at for at, name in enumerate(raw)}
    differences = {
        pair: {
            "raw": value,
            **_shown(
                _Means(
                    float(found.means[places[pair[0]]] - found.means[places[pair[1]]]),
                    _at(limits, at),
                    _at(set_limits, at),
                ),
                (-highest, highest),
            ),
        }
        for at, (pair, value) in enumerate(apart.items())
    }
    return Corrections(scores, differences, found.shared)


def _at(limits: Sequence[Any], place: int) -> Limits:
    low, high = limits
    return float(low[place]), float(high[place])


def _shown(means: _Means, ends: Limits) -> dict[str, Any]:
    """Return a corrected mean for queries like these and for these, with limits within the range of the measure."""
    return {
        "corrected": _estimate(means.value, means.limits, ends),
        "this_set": _estimate(means.value, means.set_limits if _wide(means.limits) else means.limits, ends),
    }


def _estimate(value: float, limits: Limits, ends: Limits = (float("-inf"), float("inf"))) -> Estimate:
    """Return a figure with its limits; without them if all completely judged queries have the same value."""
    if not _wide(limits):
        return Estimate(value=value)
    return Estimate(value=value, low=max(limits[0], ends[0]), high=min(limits[1], ends[1]))


def _wide(limits: Limits) -> bool:
    return limits[1] - limits[0] > _NO_WIDTH


def _mean(values: Values) -> float:
    return sum(values.values()) / len(values)
