"""Figures of a run on queries of particular kinds: means by kind, the loss by noise, queries without an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, isnan
from typing import Any

from goldbench.measures.result import Result
from goldbench.measures.statistics.noise_loss import NoiseLoss, noise_loss
from goldbench.measures.statistics.separation import Separation
from goldbench.records.query import Level


@dataclass(frozen=True, slots=True)
class Kind:
    """The queries of one kind: how many, and their mean of each measure that is defined for one of them."""

    queries: int
    means: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Special:
    """The figures of one run on queries of particular kinds.

    ``noise`` has the loss of each noise and of all of them; ``unanswerable`` is the number of queries without an
    answer, 0 if the run holds none of them, ``empty`` the number of these without results; ``separation`` is None if
    there are none, or if every first result has the same score.
    """

    kinds: Mapping[str, Kind]
    levels: Mapping[str, Kind]
    noise: Mapping[str, NoiseLoss]
    separation: Separation | None
    unanswerable: int
    empty: int


NOT_STATED = "not stated"
"""The name of the queries whose kind the set does not tell."""
ALL_NOISE = "all"
"""The name of all noisy queries together."""


def means_by_kind(result: Result, notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Kind]:
    """Return the means of each kind of queries, the largest kind first; empty if no query has one.

    Args:
        result: The scores of a run.
        notes: What the set notes of each query.
    """
    rows: dict[str, list[int]] = {}
    for row, query_id in enumerate(result.query_ids):
        kind = notes.get(query_id, {}).get("kind")
        rows.setdefault(kind if isinstance(kind, str) else NOT_STATED, []).append(row)
    known = rows.keys() - {NOT_STATED}
    return _parts(result, rows, sorted(rows, key=lambda kind: (-len(rows[kind]), kind))) if known else {}


def means_by_level(result: Result, notes: Mapping[str, Mapping[str, Any]]) -> dict[str, Kind]:
    """Return the means of each level of difficulty, easy first; empty if no query has one, which else come last.

    Args:
        result: The scores of a run.
        notes: What the set notes of each query.
    """
    rows: dict[str, list[int]] = {}
    for row, query_id in enumerate(result.query_ids):
        rows.setdefault(level_in(notes.get(query_id, {})) or NOT_STATED, []).append(row)
    known = rows.keys() - {NOT_STATED}
    return _parts(result, rows, [level for level in (*Level, NOT_STATED) if level in rows]) if known else {}


def level_in(notes: Mapping[str, Any]) -> str | None:
    """Return the level of a query's difficulty, None if its notes do not tell."""
    difficulty = notes.get("difficulty")
    level = difficulty.get("level") if isinstance(difficulty, Mapping) else None
    return level if level in set(Level) else None


def _parts(result: Result, rows: Mapping[str, Sequence[int]], order: Sequence[str]) -> dict[str, Kind]:
    return {name: Kind(len(rows[name]), dict(_means(result, rows[name]))) for name in order}


def _means(result: Result, rows: Sequence[int]) -> list[tuple[str, float]]:
    means = []
    for measure, values in result.values.items():
        defined = [values[row] for row in rows if not isnan(values[row])]
        if defined:
            means.append((measure, fsum(defined) / len(defined)))
    return means


def losses(
    result: Result, originals: Mapping[str, str], notes: Mapping[str, Mapping[str, Any]]
) -> dict[str, NoiseLoss]:
    """Return the loss by each noise if there are several, and by all of them.

    Args:
        result: The scores of a run.
        originals: The id of the original by that of the noisy query.
        notes: What the set notes of each query.
    """
    by_noise: dict[str, dict[str, str]] = {}
    for noisy, first in originals.items():
        by_noise.setdefault(str(notes.get(noisy, {}).get("noise") or ALL_NOISE), {})[noisy] = first
    groups = {**(by_noise if len(by_noise) > 1 else {}), ALL_NOISE: dict(originals)}
    found = [(noise, noise_loss(result, pairs)) for noise, pairs in sorted(groups.items())]
    return {noise: loss for noise, loss in found if loss is not None}
