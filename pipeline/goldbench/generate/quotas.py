"""How many queries of each kind, or of each level of difficulty, are still wanted, and which of them are given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from goldbench.stages.generate import allotted, quotas

S = TypeVar("S", bound=StrEnum)

FIRST_TRIES = 6
"""Proposals of a kind after which it is given up if none of them was accepted."""
TRIES = 20
"""Proposals of a category after which it is given up if too few of them were accepted."""
LEAST_ACCEPTED = 0.1
"""Share of those proposals, 0 to 1, that must be accepted."""


@dataclass(slots=True)
class Quotas(Generic[S]):
    """Counts queries by category: a kind, or a level of difficulty.

    Args:
        shares: Share of each category, 0 or more.
        missing: How many queries of each category are to be drawn.
        gives_up_early: Whether a category is given up if none of its first six proposals is accepted.
    """

    shares: Mapping[S, float]
    missing: dict[S, int]
    gives_up_early: bool = True
    given_up: dict[S, str] = field(default_factory=dict)
    """The categories of which no more are asked for, with the reason."""
    tries: Counter[S] = field(default_factory=Counter)
    """Proposals by the category that was asked for."""
    successes: Counter[S] = field(default_factory=Counter)
    """Those of them that were of this category and could be accepted."""

    def request(self, categories: Iterable[S], chunk_ids: Sequence[str], *, seed: int) -> dict[str, S]:
        """Return what to ask for about each chunk, by its id; empty if none of the categories is missing."""
        missing = {category: self.missing[category] for category in categories if self.missing.get(category, 0) > 0}
        if not missing:
            return {}
        return dict(zip(chunk_ids, allotted(chunk_ids, missing, seed=seed), strict=True))

    def count_missing(self, categories: Iterable[S]) -> int:
        """Return how many queries of these categories are to be drawn together."""
        return sum(self.missing.get(category, 0) for category in categories)

    def count(self, category: S, *, requested: S | None) -> None:
        """Count an accepted query, which may be of another category than was asked for."""
        self.missing[category] = self.missing.get(category, 0) - 1
        self.successes[category] += category is requested

    def tries_left(self, category: S) -> int:
        """Return how many proposals are awaited before it is known whether the category is given up."""
        return max(0, (TRIES if self.successes[category] else FIRST_TRIES) - self.tries[category])

    def hopeless(self) -> Iterator[tuple[S, str]]:
        """Yield the categories of which too few proposals were accepted, each with the figures."""
        for category, missing in list(self.missing.items()):
            accepted = self.successes[category]
            tries = self.tries[category]
            if missing <= 0 or category in self.given_up:
                continue
            if self.gives_up_early and tries >= FIRST_TRIES and not accepted:
                yield category, f"none of the first {tries} proposals was accepted"
            elif tries >= TRIES and accepted < LEAST_ACCEPTED * tries:
                share = f"{LEAST_ACCEPTED:.0%}".replace("%", " %")
                yield category, f"{accepted} of {tries} proposals were accepted, fewer than {share}"

    def give_up(self, category: S, reason: str, *, exhausted: Collection[S] = ()) -> None:
        """Ask for no more of a category; what it lacks goes to the others.

        Args:
            category: The category.
            reason: Why it is given up.
            exhausted: Other categories of which no more can be written.
        """
        self.given_up[category] = reason
        closed = {*self.given_up, *exhausted}
        others = {other: share for other, share in self.shares.items() if other not in closed}
        for other, more in quotas(others, max(0, self.missing.get(category, 0))).items():
            self.missing[other] = self.missing.get(other, 0) + more
        self.missing[category] = 0


def missing_beside(existing: Counter[S], wanted: Mapping[S, int], *, count: int) -> dict[S, int]:
    """Return how many queries of each category are to be drawn beside those that exist.

    Args:
        existing: How many there are.
        wanted: How many there should be.
        count: How many are to be drawn in all. A surplus of one category takes from the others.
    """
    lacking = {category: number - existing[category] for category, number in wanted.items()}
    lacking = {category: number for category, number in lacking.items() if number > 0}
    return quotas(lacking or wanted, count)
