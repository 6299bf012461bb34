"""The order of systems by a model's labels that people's complete judgments corrected: how likely it is right."""

from __future__ import annotations

from math import inf

import numpy as np

from goldbench.measures.statistics.detectable import errors_apart
from goldbench.measures.statistics.fitness import Ranking, missing_of, neighbours
from goldbench.measures.statistics.joint_calibration import Joint
from goldbench.measures.statistics.rank_chance import Moments, order_chance


def ranking_of(found: Joint, *, complete: int, queries: int) -> Ranking:
    """Return the chance of the corrected order, and what either kind of further work alone would have to amount to.

    The variance over exactly these queries falls with the number that people judged completely, the rest with the
    number of all queries.

    Args:
        found: The means of 2 systems or more with their distribution.
        complete: The number of queries that people judged completely.
        queries: The number of all queries.
    """
    within, whole = (Moments(found.means, np.cov(draws, rowvar=False), inf) for draws in (found.set_draws, found.draws))
    pairs = len(found.differences())
    judged: list[float] = []
    asked: list[float] = []
    both: list[float] = []
    deltas: list[float] = []
    for delta, one, other in neighbours(whole):
        allowed = (delta / errors_apart(pairs=pairs)) ** 2
        inner = within.spread(one, other) ** 2
        outer = max(0.0, whole.spread(one, other) ** 2 - inner)
        deltas.append(delta)
        judged.append(inner / (allowed - outer) if allowed > outer else inf)
        asked.append(outer / (allowed - inner) if allowed > inner else inf)
        both.append((inner + outer) / allowed)
    together = max(judged) == max(asked) == inf
    times = (max(both), max(both)) if together else (max(judged), max(asked))
    return Ranking(
        chance=order_chance(whole),
        complete=complete,
        judged_more=None if times[0] == inf else missing_of(complete * times[0], complete),
        queries_more=None if times[1] == inf else missing_of(queries * times[1], queries),
        together=together,
        delta=min(deltas),
    )
