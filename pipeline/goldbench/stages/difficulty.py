"""How hard a query is for word matching, stated as facts: ranks in cheap systems, and how many passages it needs.

Reads: the ranks of passages in cheap systems, the needed passages of a query. Writes: its difficulty.
Fails: never; a passage that no ranking holds has no rank.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from goldbench.records.query import Difficulty, Level

WITHIN = 10
"""A query is hard if no system has every needed passage among its first 10 results."""
SOUGHT = 100
"""Results of a system that are searched for a passage."""


def level_of(ranks: Mapping[str, int | None], needed: int) -> Level:
    """Return how hard a query is, by the rank of its worst-placed needed passage in each cheap system.

    Easy: it needs one passage, and every system places that first. Hard: no system has all needed passages among its
    first 10. Medium: every other query, so one that needs several passages is never easy.

    Args:
        ranks: The rank of the worst-placed needed passage by system, at least one system; None where it was not found.
        needed: How many passages are all needed, 1 or more.
    """
    if needed == 1 and all(rank == 1 for rank in ranks.values()):
        return Level.EASY
    if all(rank is None or rank > WITHIN for rank in ranks.values()):
        return Level.HARD
    return Level.MEDIUM


def worst_rank(ranks: Mapping[str, int], needed: Sequence[Collection[str]]) -> int | None:
    """Return the rank of the needed passage that a system places worst, None if it lacks one.

    Args:
        ranks: The rank of each passage that was found, by its id.
        needed: Ids of each needed passage and of what may stand in for it, its near-duplicates.
    """
    best = [min((ranks[chunk_id] for chunk_id in group if chunk_id in ranks), default=None) for group in needed]
    reached = [rank for rank in best if rank is not None]
    return max(reached) if len(reached) == len(best) else None


def difficulty_of(ranks_by_system: Mapping[str, Mapping[str, int]], needed: Sequence[Collection[str]]) -> Difficulty:
    """Return the difficulty of a query that needs at least one passage; arguments as in `worst_rank`."""
    ranks = {name: worst_rank(places, needed) for name, places in ranks_by_system.items()}
    return Difficulty(level=level_of(ranks, len(needed)), ranks=ranks, needed=len(needed))
