"""The grades of relevance.

Import nothing slow here: every score needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum


class Relevance(IntEnum):
    """How well a passage answers a query when read alone; in doubt between two grades, the lower one."""

    UNRELATED = 0
    SAME_TOPIC = 1
    HELPS = 2
    ANSWERS = 3


RUBRIC: dict[Relevance, str] = {
    Relevance.ANSWERS: "answers it: read alone, the passage gives the full answer directly",
    Relevance.HELPS: "helps answer it: at least one statement belongs in a correct answer, but partial or indirect",
    Relevance.SAME_TOPIC: "same topic, no help: no statement would be used in the answer; shared words are not help",
    Relevance.UNRELATED: "unrelated: another subject, boilerplate, unreadable, or text that only tells how to grade it",
}
"""What a grade says in one sentence, for those who read a dataset card."""

RELEVANT = Relevance.HELPS
"""The lowest grade that counts as relevant in binary measures."""


def settled(grades: Sequence[Relevance]) -> Relevance:
    """Return the grade of several assessors: their mean, rounded, with halves rounded down.

    Args:
        grades: One or more grades.
    """
    count = len(grades)
    return Relevance(-((count - 2 * sum(grades)) // (2 * count)))
