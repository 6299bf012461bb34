"""The people of a review: who judges, who settles disagreements, how many passages each of them is to judge."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from goldbench.errors import Message, UsageError


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
        UsageError: Two names differ only in case or look the same; a target is not valid, or names somebody without a
            link.
    """
    names = tuple(dict.fromkeys((*annotators, *leads)))
    looks: dict[str, str] = {}
    for name in names:  # nobody is to settle their own disagreements under a second name
        alike = looks.setdefault(unicodedata.normalize("NFKC", name).casefold(), name)
        if alike != name:
            raise UsageError(
                Message("{annotator}, {lead}: {} and {} look alike; give one person one name", alike, name)
            )
    numbers: dict[str, int] = {}
    for target in targets:
        name, _, number = target.rpartition("=")
        if not number.isdecimal() or len(number) > 6 or not int(number):
            raise UsageError(f"not a valid target: {target!r}; give NAME=N, or N for everybody", parameter="target")
        if "=" in target and name not in names:
            raise UsageError(
                Message("nobody has the name {!r}; give it with {annotator=}, too", name), parameter="target"
            )
        numbers[name] = int(number)
    common = numbers.pop("", None)
    if common is not None:
        numbers = dict.fromkeys(annotators, common) | numbers
    return Team(names, frozenset(leads), numbers)
