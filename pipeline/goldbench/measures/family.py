"""What a measure is made of: its family, and the judged documents of one query that it values."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import neg
from typing import Literal

UNCUT = 2**62
"""The cutoff of a measure that looks at the whole list."""


class RankedQuery:
    """The judged documents that one query retrieved, and the grades of all documents judged for it.

    ``ranks`` counts from 1 and ascends, ``grades`` (0 or more) lies beside it, ``retrieved`` is the length of the whole
    list, ``judged`` are the grades of all judged documents, the highest first. A negative grade is not counted.
    """

    __slots__ = ("_relevant", "grades", "judged", "ranks", "retrieved")

    def __init__(self, ranks: list[int], grades: list[int], retrieved: int, judged: list[int]) -> None:
        self.ranks = ranks
        self.grades = grades
        self.retrieved = retrieved
        self.judged = judged
        self._relevant: dict[int, tuple[list[int], int]] = {}

    def relevant(self, rel: int) -> tuple[list[int], int]:
        """Return the ranks of retrieved documents of grade ``rel`` or more, and how many of that grade were judged."""
        known = self._relevant.get(rel)
        if known is None:
            ranks = [rank for rank, grade in zip(self.ranks, self.grades, strict=True) if grade >= rel]
            known = self._relevant[rel] = (ranks, bisect_right(self.judged, -rel, key=neg))
        return known

    def hits(self, k: int, rel: int) -> int:
        """Return how many of the first ``k`` documents have grade ``rel`` or more."""
        return bisect_right(self.relevant(rel)[0], k)


Options = Mapping[str, str]
"""The options of a measure that differ from their default."""

Value = Callable[[RankedQuery, int, int, Options], float]
"""Computes the value of one query from its documents, the cutoff, the smallest relevant grade and the options."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family of measures, such as nDCG at any cutoff.

    ``name`` is how goldbench prints it, ``aliases`` are other spellings (lower case, only letters and digits),
    ``ir_name`` is the one of ir_measures. ``options`` maps each option to its values, the default first.
    """

    name: str
    aliases: tuple[str, ...]
    ir_name: str | None
    cutoff: Literal["required", "optional", "none"]
    value: Value
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    has_rel: bool = True
