"""Add noisy forms of the accepted queries to a set; no model is asked."""

from __future__ import annotations

import itertools

from goldbench.generate.drawn_queries import DrawnQueries
from goldbench.generate.task_source import TaskSource
from goldbench.stages.check import accepted, joined_context
from goldbench.stages.noise import Noise, noisy_forms
from goldbench.text.draws import number_of


def add_noisy(drawn: DrawnQueries, count: int, source: TaskSource) -> int:
    """Add at most ``count`` noisy forms in a seeded order, one of each query before any gets two.

    Returns how many were added.
    """
    if drawn.planned:
        drawn.planned += count
        return count
    seed = source.settings.seed
    pairs = [pair for pair in zip(drawn.queries, drawn.positions, strict=True) if pair[0].original is None]
    pairs.sort(key=lambda pair: (number_of(seed, "noisy", pair[0].query_id), pair[0].query_id))
    ids = {query.query_id for query in drawn.queries}
    added = 0
    for turn, (query, positions) in itertools.product(range(len(Noise)), pairs):
        if added == count:
            break
        for candidate in noisy_forms(query, seed=seed, most=turn + 1)[turn:]:
            task = source.task(*positions)
            noisy = accepted(candidate, joined_context(task.chunks, task.brief))
            if noisy.query_id in ids:
                continue
            ids.add(noisy.query_id)
            drawn.candidates.append(candidate)
            drawn.queries.append(noisy)
            drawn.positions.append(positions)
            drawn.groups_drawn += 1
            drawn.chunks_with_candidates += 1
            added += 1
    return added
