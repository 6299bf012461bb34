"""Means of parts of the queries: by type, style, language and difficulty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import bootstrap_intervals, score_of
from goldbench.records.scorecard import Score

FEWEST = 5
"""A trait is shown if its largest part has at least this number of queries."""

TRAITS = {"kind": "type", "style": "style", "language": "language", "level": "difficulty"}


@dataclass(frozen=True, slots=True)
class QuerySlice:
    """A part of the queries: its size, and the score of every system on it."""

    name: str
    queries: int
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Slicing:
    """The queries in parts by one trait."""

    trait: str
    parts: Sequence[QuerySlice]


def slicings(
    query_ids: Sequence[str],
    scores: Floats,
    systems: Sequence[str],
    *,
    about: Mapping[str, Mapping[str, Any]],
    seed: int,
) -> list[Slicing]:
    """Return the queries cut by every trait that has at least two values.

    Args:
        query_ids: The queries, in the order of ``scores``.
        scores: Scores of one measure, shape (queries, systems).
        systems: Names of the systems.
        about: Notes by query; a query without the trait is in no part.
        seed: Seed of the bootstrap.
    """
    cut = []
    for key, trait in TRAITS.items():
        names = [about.get(query_id, {}).get(key) for query_id in query_ids]
        counts = Counter(str(name) for name in names if name is not None)
        if len(counts) < 2 or max(counts.values()) < FEWEST:
            continue
        parts = []
        for name in sorted(counts, key=lambda name: (-counts[name], name)):
            rows = [row for row, value in enumerate(names) if value is not None and str(value) == name]
            parts.append(QuerySlice(name, len(rows), _scores(scores[rows], systems, seed=seed)))
        cut.append(Slicing(trait, parts))
    return cut


def _scores(scores: Floats, systems: Sequence[str], *, seed: int) -> dict[str, Score]:
    means = scores.mean(axis=0).tolist()
    ends = bootstrap_intervals(scores[:, :, None], [], resamples=1000, seed=seed) if len(scores) > 1 else None
    return {system: score_of(means[row], ends, row, 0) for row, system in enumerate(systems)}
