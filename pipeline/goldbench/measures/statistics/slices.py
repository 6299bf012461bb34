"""Means of parts of the queries: by type, style, language, source, word overlap, length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldbench.measures.statistics.floats import Floats
from goldbench.measures.statistics.intervals import bootstrap_intervals, score_of
from goldbench.records.scorecard import Score

FEW = 20
"""Parts with fewer queries are marked as uncertain on the page."""

FEWEST = 5
"""A trait is shown if its largest part has at least this number of queries."""

NAMED = {"kind": "type", "style": "style", "language": "language", "source": "source", "level": "difficulty"}
THIRDS = ("lowest third", "middle third", "highest third")
MOST_PARTS = 12


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the queries: its size, and the score of every system on it."""

    name: str
    queries: int
    scores: Mapping[str, Score]


@dataclass(frozen=True, slots=True)
class Slicing:
    """The queries in parts by one trait; ``rest`` counts the parts beyond ``MOST_PARTS``, which are not shown."""

    trait: str
    parts: Sequence[Part]
    rest: int = 0


def slicings(
    query_ids: Sequence[str],
    scores: Floats,
    systems: Sequence[str],
    *,
    texts: Mapping[str, str],
    about: Mapping[str, Mapping[str, Any]],
    resamples: int,
    seed: int,
) -> list[Slicing]:
    """Return the queries cut by every trait that has at least two values.

    Args:
        query_ids: The queries, in the order of ``scores``.
        scores: Scores of one measure, shape (queries, systems).
        systems: Names of the systems.
        texts: Texts of the queries, for their length; may be empty.
        about: Notes by query; a query without the trait is in no part.
        resamples: Number of resamples of the bootstrap.
        seed: Seed of the bootstrap.
    """
    found = []
    for trait, label in labels_of(query_ids, texts=texts, about=about).items():
        counts = Counter(label.values())
        names = sorted(counts, key=lambda name: (-counts[name], name))
        if trait in {"length", "word overlap with the source"}:
            names = [name for name in THIRDS if name in names]
        if len(names) < 2 or max(counts.values()) < FEWEST:
            continue
        parts = []
        for name in names[:MOST_PARTS]:
            rows = [row for row, query_id in enumerate(query_ids) if label.get(query_id) == name]
            parts.append(Part(name, len(rows), _scores(scores[rows], systems, resamples=resamples, seed=seed)))
        found.append(Slicing(trait, parts, max(0, len(names) - MOST_PARTS)))
    return found


def labels_of(
    query_ids: Sequence[str], *, texts: Mapping[str, str], about: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, str]]:
    """Return the part of each query by trait; a query without the trait is left out.

    Args:
        query_ids: As in `slicings`.
        texts: As in `slicings`.
        about: As in `slicings`.
    """
    labels = {title: _named(query_ids, about, key) for key, title in NAMED.items()}
    labels["word overlap with the source"] = _thirds(query_ids, lambda one: about.get(one, {}).get("overlap"))
    labels["length"] = _thirds(query_ids, lambda one: len(texts[one]) if one in texts else None)
    return labels


def _named(query_ids: Sequence[str], about: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, str]:
    known = {query_id: about.get(query_id, {}).get(key) for query_id in query_ids}
    return {query_id: str(value) for query_id, value in known.items() if value is not None}


def _thirds(query_ids: Sequence[str], number_of: Callable[[str], float | None]) -> dict[str, str]:
    """Return which third of the values each query is in; equal values are in the same third."""
    numbers = {one: number for one in query_ids if (number := number_of(one)) is not None}
    if len(set(numbers.values())) < len(THIRDS):
        return {}
    first, second = np.quantile(list(numbers.values()), [1 / 3, 2 / 3])
    return {one: THIRDS[int(number > first) + int(number > second)] for one, number in numbers.items()}


def _scores(scores: Floats, systems: Sequence[str], *, resamples: int, seed: int) -> dict[str, Score]:
    means = scores.mean(axis=0).tolist()
    ends = bootstrap_intervals(scores[:, :, None], [], resamples=resamples, seed=seed) if len(scores) > 1 else None
    return {system: score_of(means[row], ends, row, 0) for row, system in enumerate(systems)}
