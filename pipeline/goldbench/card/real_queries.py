"""The figure on how many real queries a set is worth, if it holds some."""

from __future__ import annotations

from math import isinf

import numpy as np

from goldbench.card.baselines import Baselines
from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.goldset.file_names import OWN, USERS
from goldbench.measures.statistics.query_worth import LEAST_REAL, LEAST_SYSTEMS, MOST, query_worth
from goldbench.records.set_card import Figure
from goldbench.text.display import queries

NAME = "worth in real queries"
_ASKED = frozenset({OWN, USERS, "log"})
"""Writers of real queries in the notes of a set: added by people, asked by users, drawn from a query log."""

_BY_PEOPLE = frozenset({"human", "users"})
"""Levels of evidence of sets whose queries people or users asked."""

_IMPORTED = "import-"  # how the notes name the writer of an imported query, followed by the format


def worth_figure(material: DescribedSet, baselines: Baselines, section: str, *, seed: int) -> Figure:
    """Return how many randomly drawn real queries would rank the baselines as well as the other queries do.

    Args:
        material: The gold set.
        baselines: What the baselines found.
        section: Section of the card.
        seed: Seed of all draws, 0 or more.
    """
    real = np.array([_asked(material, one) for one in baselines.query_ids], bool)
    if (reason := _missing(real, len(baselines.names))) is not None:
        return absent(section, NAME, reason)
    found = query_worth(baselines.scores[real], baselines.scores[~real], seed=seed)
    low, middle, high = (_told(number) for number in (found.low, found.queries, found.high))
    return figure(
        section,
        NAME,
        middle if isinstance(middle, str) else round(found.queries),
        f"The {queries(int((~real).sum()))} that nobody asked rank the baselines as well as {middle} randomly drawn "
        f"real queries would (95 %: {low} to {high}), judged by {queries(int(real.sum()))} that people asked. "
        "Between the baselines, not between your systems.",
        unit="real queries",
        values={
            "2.5 %": low,
            "97.5 %": high,
            "expected tau with the true order": found.tau,
            "real queries in the set": int(real.sum()),
        },
    )


def _asked(material: DescribedSet, query_id: str) -> bool:
    """Return whether a person or user asked a query; of imported queries the set's level of evidence tells it."""
    writer = material.notes.get(query_id, {}).get("generator")
    if writer is None or str(writer).startswith(_IMPORTED):
        return material.level_of_evidence in _BY_PEOPLE
    return writer in _ASKED


def _missing(real: np.typing.NDArray[np.bool_], systems: int) -> str | None:
    """Return why the figure is absent, or None."""
    if real.all():
        return "every query came from people or a query log"
    if real.sum() < LEAST_REAL:
        told = f"{queries(int(real.sum()))} with a relevant passage came from people or a query log"
        return f"{told}; {LEAST_REAL} are needed"
    return f"{systems} baselines could be run, {LEAST_SYSTEMS} are needed" if systems < LEAST_SYSTEMS else None


def _told(number: float) -> str | int:
    if isinf(number):
        return f"more than {MOST:,}"
    return round(number) if number >= 1 else "less than 1"
