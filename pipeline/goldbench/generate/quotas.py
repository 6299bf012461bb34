"""How many queries of each kind are still wanted, and which kinds are given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from goldbench.records.query import QueryKind
from goldbench.text.shares import allotted, quotas

FIRST_TRIES = 6
"""Proposals of a kind after which it is given up if none of them was accepted."""
TRIES = 20
"""Proposals of a kind after which it is given up if too few of them were accepted."""
LEAST_ACCEPTED = 0.1
"""Share of those proposals, 0 to 1, that must be accepted."""


@dataclass(slots=True)
class Quotas:
    """Counts queries by kind.

    Args:
        shares: Share of each kind, 0 or more.
        missing: How many queries of each kind are to be drawn.
    """

    shares: Mapping[QueryKind, float]
    missing: dict[QueryKind, int]
    given_up: dict[QueryKind, str] = field(default_factory=dict)
    """The kinds of which no more are asked for, with the reason."""
    tries: Counter[QueryKind] = field(default_factory=Counter)
    """Proposals by the kind that was asked for."""
    successes: Counter[QueryKind] = field(default_factory=Counter)
    """Those of them that were of this kind and could be accepted."""

    def request(self, kinds: Iterable[QueryKind], chunk_ids: Sequence[str], *, seed: int) -> dict[str, QueryKind]:
        """Return what to ask for about each chunk, by its id; empty if none of the kinds is missing."""
        missing = {kind: self.missing[kind] for kind in kinds if self.missing.get(kind, 0) > 0}
        if not missing:
            return {}
        return dict(zip(chunk_ids, allotted(chunk_ids, missing, seed=seed), strict=True))

    def count_missing(self, kinds: Iterable[QueryKind]) -> int:
        """Return how many queries of these kinds are to be drawn together."""
        return sum(self.missing.get(kind, 0) for kind in kinds)

    def count(self, kind: QueryKind, *, requested: QueryKind | None) -> None:
        """Count an accepted query, which may be of another kind than was asked for."""
        self.missing[kind] = self.missing.get(kind, 0) - 1
        self.successes[kind] += kind is requested

    def tries_left(self, kind: QueryKind) -> int:
        """Return how many proposals are awaited before it is known whether the kind is given up."""
        return max(0, (TRIES if self.successes[kind] else FIRST_TRIES) - self.tries[kind])

    def hopeless(self) -> Iterator[tuple[QueryKind, str]]:
        """Yield the kinds of which too few proposals were accepted, each with the figures."""
        for kind, missing in list(self.missing.items()):
            accepted = self.successes[kind]
            tries = self.tries[kind]
            if missing <= 0 or kind in self.given_up:
                continue
            if tries >= FIRST_TRIES and not accepted:
                yield kind, f"none of the first {tries} proposals was accepted"
            elif tries >= TRIES and accepted < LEAST_ACCEPTED * tries:
                share = f"{LEAST_ACCEPTED:.0%}".replace("%", " %")
                yield kind, f"{accepted} of {tries} proposals were accepted, fewer than {share}"

    def give_up(self, kind: QueryKind, reason: str, *, exhausted: Collection[QueryKind] = ()) -> None:
        """Ask for no more of a kind; what it lacks goes to the others.

        Args:
            kind: The kind.
            reason: Why it is given up.
            exhausted: Other kinds of which no more can be written.
        """
        self.given_up[kind] = reason
        closed = {*self.given_up, *exhausted}
        others = {other_kind: share for other_kind, share in self.shares.items() if other_kind not in closed}
        for other_kind, more in quotas(others, max(0, self.missing.get(kind, 0))).items():
            self.missing[other_kind] = self.missing.get(other_kind, 0) + more
        self.missing[kind] = 0


def missing_beside(
    existing: Counter[QueryKind], wanted: Mapping[QueryKind, int], *, count: int
) -> dict[QueryKind, int]:
    """Return how many queries of each kind are to be drawn beside those that exist.

    Args:
        existing: How many there are.
        wanted: How many there should be.
        count: How many are to be drawn in all. A surplus of one kind takes from the others.
    """
    lacking = {kind: number - existing[kind] for kind, number in wanted.items()}
    lacking = {kind: number for kind, number in lacking.items() if number > 0}
    return quotas(lacking or wanted, count)
