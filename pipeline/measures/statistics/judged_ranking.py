"""The order of systems by a model's labels that people's complete judgments corrected: how likely it is right."""

from __future__ import annotations

from math import inf

import numpy as np

from goldbench.pipeline.measures.statistics.fitness import Ranking, detectable, missing_of, neighbours
from goldbench.pipeline.measures.statistics.joint_calibration import Joint
from goldbench.pipeline.measures.statistics.rank_chance import Moments, order_chance


def ranking_of(found: Joint, *, complete: int, queries: int) -> Ranking:
    """Return the chance of the corrected order, and what either kind of further work alone would have to amount to.

    The variance over exactly these queries falls with the number that people judged completely, the rest with the
    number of all queries.

    Args:
        found: The means of 2 systems or more with their distribution.
        complete: The number of queries that people judged completely.
        queries: The number of all queries.
    """
    within, whole = (
        Moments(found.means.tolist(), np.cov(draws, rowvar=False).tolist(), inf)
        for draws in (found.set_draws, found.draws)
    )
    pairs = len(found.differences())
    judged: list[float] = []
    asked: list[float] = []
    deltas: list[float] = []
    for delta, one, other in neighbours(whole):
        allowed = (delta / detectable(1.0, pairs)) ** 2
        inner = within.spread(one, other) ** 2
        outer = max(0.0, whole.spread(one, other) ** 2 - inner)
        deltas.append(delta)
        judged.append(complete * inner / (allowed - outer) if allowed > outer else inf)
        asked.append(queries * outer / (allowed - inner) if allowed > inner else inf)
    return Ranking(
        chance=order_chance(whole),
        complete=complete,
        judged_more=None if max(judged) == inf else missing_of(max(judged), complete),
        queries_more=None if max(asked) == inf else missing_of(max(asked), queries),
        delta=min(deltas),
    )
