"""What a system's queries cost: the charges of models, 0 for what runs on this machine, or nothing known."""

from __future__ import annotations

from collections.abc import Mapping

from goldbench.records.manifest import StageUsage
from goldbench.systems import Systems
from goldbench.systems.resolution import reached, references

_LOCAL = frozenset(
    {
        "bm25",
        "ngrams",
        "lsi",
        "sentence-transformers",
        "fastembed",
        "vectors",
        "rrf",
        "weighted",
        "cross-encoder",
        "mmr",
    }
)
"""Kinds of systems that run on this machine alone, if the systems that they combine do."""


def is_local(systems: Systems, name: str) -> bool:
    """Return whether a system and all that it is made of run on this machine, where nobody charges for a query."""
    settings = systems.settings
    parts = reached([name], settings)
    described = name in settings and all(one in settings for part in parts for one in references(settings[part]))
    return described and all(settings[part].kind in _LOCAL for part in parts)


def usd_per_1000(
    before: Mapping[str, StageUsage], after: Mapping[str, StageUsage], queries: int, *, here: bool
) -> float | None:
    """Return what models charged for 1,000 queries, in US dollars; None if it is not known.

    Answers from the store are not charged again, so that nothing is known if there are any.

    Args:
        before: What models cost before the queries, by stage.
        after: What they cost after them.
        queries: Number of queries, 0 or more.
        here: Whether the system runs on this machine alone.
    """
    if here:
        return 0.0
    usd, requests = 0.0, 0
    for stage, used in after.items():
        known = before.get(stage)
        if used.usd is None or used.replayed > (known.replayed if known else 0):
            return None
        requests += used.requests - (known.requests if known else 0)
        usd += used.usd - ((known.usd or 0.0) if known else 0.0)
    return round(1000 * usd / queries, 9) if requests and queries else None
