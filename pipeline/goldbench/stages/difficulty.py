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
MOST_OVERLAP = {Level.MEDIUM: 0.6, Level.HARD: 0.4}
"""Share of a query's content words in its passage, 0 to 1, above which it is put into other words if it is easier than
what was asked for."""


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
    best = [min((ranks[one] for one in group if one in ranks), default=None) for group in needed]
    found = [rank for rank in best if rank is not None]
    return max(found) if len(found) == len(best) else None


def difficulty_of(found: Mapping[str, Mapping[str, int]], needed: Sequence[Collection[str]]) -> Difficulty:
    """Return the difficulty of a query.

    Args:
        found: By system, the ranks of the passages that it found, as in `worst_rank`.
        needed: As in `worst_rank`, at least one passage.
    """
    ranks = {name: worst_rank(places, needed) for name, places in found.items()}
    return Difficulty(level=level_of(ranks, len(needed)), ranks=ranks, needed=len(needed))


def overlap_complaint(asked: Level, share: float | None) -> str | None:
    """Return why a query that is easier than asked for should be put into other words, None if its words are few.

    Args:
        asked: The level that was asked for.
        share: The share of its content words that stand in its passage, 0 to 1; None for a query without any.
    """
    if share is None or share <= MOST_OVERLAP.get(asked, 1.0):
        return None
    return f"{share:.0%} of its words stand in the text, so that word matching finds it; use other words."


def selection_notice(systems: Sequence[str], set_aside: int) -> str:
    """Return the line that a set selected by rank carries wherever it is used.

    Args:
        systems: The systems whose ranks decided.
        set_aside: How many candidates were left out because of their rank.
    """
    candidates = "1 candidate was" if set_aside == 1 else f"{set_aside:,} candidates were"
    return (
        f"Queries were steered and selected by the rank of their passage in {' and '.join(systems)}; {candidates} set "
        "aside for it, so scores of BM25 and other systems that match words are biased on this set."
    )
