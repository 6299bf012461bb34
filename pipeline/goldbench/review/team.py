"""The people of a review: who judges, who settles disagreements, how many passages each of them is to judge."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from goldbench.errors import Message, UsageError

MOST_OF_A_TARGET = 1_000_000
"""The largest number of passages that a target may ask for."""


@dataclass(frozen=True, slots=True)
class Team:
    """The names of the people with a link, of the leads among them, and the targets by name.

    Without a lead, everybody settles disagreements. Nobody ever settles one on a passage that they judged themselves.
    """

    annotators: tuple[str, ...] = ()
    leads: frozenset[str] = frozenset()
    targets: Mapping[str, int] = field(default_factory=dict)

    def settles(self, name: str) -> bool:
        """Return whether a person settles disagreements of others."""
        return not self.leads or name in self.leads


def team_of(annotators: Sequence[str], leads: Sequence[str], targets: Sequence[str]) -> Team:
    """Return a team; a lead who is not among the annotators gets a link, too.

    Args:
        annotators: The names of those who judge.
        leads: The names of those who settle disagreements.
        targets: ``NAME=N`` for one person, or ``N`` for everybody who has no other.

    Raises:
        UsageError: Two names differ only in case or look the same; a target is not valid, names somebody without a
            link, or is given twice.
    """
    everybody = tuple(dict.fromkeys((*annotators, *leads)))
    looks: dict[str, str] = {}
    for name in everybody:
        other = looks.setdefault(unicodedata.normalize("NFKC", name).casefold(), name)
        if other != name:
            raise UsageError(
                Message("{annotator}, {lead}: {} and {} look alike; give one person one name", other, name)
            )
    asked: dict[str, int] = {}
    for given in targets:
        name, _, number = given.rpartition("=")
        name = " ".join(name.split())
        if not (number.strip().isdecimal() and 0 < int(number.strip()[:12]) <= MOST_OF_A_TARGET):
            raise UsageError(f"not a valid target: {given!r}; give NAME=N, or N for everybody", parameter="target")
        if "=" in given and name not in everybody:
            raise UsageError(
                Message("nobody has the name {!r}; give it with {annotator=}, too", name), parameter="target"
            )
        if name in asked:
            raise UsageError(f"given twice for {name or 'everybody'}", parameter="target")
        asked[name] = int(number)
    common = asked.pop("", None)
    if common is not None:
        asked = dict.fromkeys(annotators, common) | asked
    return Team(everybody, frozenset(leads), asked)
