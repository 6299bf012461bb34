"""The people of a review: who judges, and who settles disagreements."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from goldbench.errors import Message, UsageError


@dataclass(frozen=True, slots=True)
class Team:
    """The names of the people with a link, and of the leads among them.

    Without a lead, everybody settles disagreements. Nobody ever settles one on a passage that they judged themselves.
    """

    annotators: tuple[str, ...] = ()
    leads: frozenset[str] = frozenset()

    def settles(self, name: str) -> bool:
        """Return whether a person settles disagreements of others."""
        return not self.leads or name in self.leads


def team_of(annotators: Sequence[str], leads: Sequence[str]) -> Team:
    """Return a team; a lead who is not among the annotators gets a link, too.

    Raises:
        UsageError: Two names differ only in case or look the same.
    """
    names = tuple(dict.fromkeys((*annotators, *leads)))
    looks: dict[str, str] = {}
    for name in names:  # nobody is to settle their own disagreements under a second name
        alike = looks.setdefault(unicodedata.normalize("NFKC", name).casefold(), name)
        if alike != name:
            raise UsageError(
                Message("{annotator}, {lead}: {} and {} look alike; give one person one name", alike, name)
            )
    return Team(names, frozenset(leads))
