"""How the grades of a benchmark become goldbench's: 0 unrelated, 1 same topic, 2 helps, 3 answers; relevant from 2 on.

Without an option of the user only two scales are accepted: 0 and 1, where 1 becomes 3 (every figure is the same as with
binary judgments), and 0 to 3, which are kept (as TREC's Deep Learning tracks mean them: 1 is related, not relevant).
For every other scale the user must give the mapping: a grade is never clipped, shifted or guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from goldbench.errors import UsageError
from goldbench.records.relevance import RELEVANT, Relevance

Grading = dict[int, Relevance | None]
"""The grade in goldbench for each grade of the benchmark; None: unjudged."""

_PAIR = re.compile(r"(-?\d{1,4})(?:\.\.(-?\d{1,4}))?=([0-3]|none)")
_HIGHEST = max(Relevance)


def parse_grades(text: str) -> Grading:
    """Return the mapping that a text such as ``0=0,1..3=1,4=3,-1=none`` spells.

    Raises:
        UsageError: The text is malformed, maps one grade twice, or maps a higher grade below a lower one.
    """
    grading: Grading = {}
    for part in text.replace(" ", "").split(","):
        match = _PAIR.fullmatch(part)
        if not match:
            raise UsageError(
                f"{part[:40]!r} is not like 2=3, 1..3=1 or -1=none (to 0, 1, 2, 3 or none)", parameter="grades"
            )
        low = int(match[1])
        high = int(match[2] or match[1])
        if high < low:
            raise UsageError(f"{part} runs from a higher grade to a lower one", parameter="grades")
        if known := grading.keys() & set(range(low, high + 1)):
            raise UsageError(f"maps grade {min(known)} twice", parameter="grades")
        becomes = None if match[3] == "none" else Relevance(int(match[3]))
        grading.update(dict.fromkeys(range(low, high + 1), becomes))
    mapped = [grade for _, grade in sorted(grading.items()) if grade is not None]
    if mapped != sorted(mapped):
        raise UsageError("a higher grade becomes less than a lower one", parameter="grades")
    return grading


def choose_grading(
    seen: Iterable[int], *, stated: Grading | None, relevant_from: int | None
) -> tuple[Grading, int | None]:
    """Return what each grade becomes, and the first grade without a mapping, if any.

    Args:
        seen: The grades that occur.
        stated: The result of ``parse_grades``, if the user gave a mapping.
        relevant_from: The lowest grade that counts as relevant, if the user gave it. Up to two relevant grades become 2
            and 3 (one alone 3), one positive grade below them 1, and 0 stays.
    """
    grades = sorted(set(seen))
    if stated is not None:
        return stated, next((grade for grade in grades if grade not in stated), None)
    if relevant_from is None:
        if set(grades) <= {0, 1}:
            relevant_from = 1
        else:
            return _as_they_are(), next((grade for grade in grades if not 0 <= grade <= _HIGHEST), None)
    if relevant_from == RELEVANT and set(grades) <= set(map(int, Relevance)):
        return _as_they_are(), None
    relevant = [grade for grade in grades if grade >= relevant_from]
    below = [grade for grade in grades if 0 < grade < relevant_from]
    grading: Grading = {0: Relevance.UNRELATED}
    grading.update(zip(below, [Relevance.SAME_TOPIC], strict=False))
    grading.update(zip(reversed(relevant), [Relevance.ANSWERS, Relevance.HELPS], strict=False))
    return grading, next((grade for grade in reversed(grades) if grade not in grading), None)


def _as_they_are() -> Grading:
    return {int(grade): grade for grade in Relevance}


def in_words(grading: Mapping[int, Relevance | None], seen: Iterable[int]) -> dict[str, str]:
    """Return the mapping of the grades that occur, as the gold set's metadata hold it."""
    return {
        str(grade): "none" if grading[grade] is None else str(int(grading[grade] or 0)) for grade in sorted(set(seen))
    }


def suggestion(seen: Iterable[int]) -> str:
    """Return a value of ``--grades`` to start from: 0 for grades up to 0, and three equal steps for the others."""
    grades = sorted(set(seen))
    above = [grade for grade in grades if grade > 0]
    steps = {grade: 1 + 3 * position // max(1, len(above)) for position, grade in enumerate(above)}
    return ",".join(f"{grade}={steps.get(grade, 0)}" for grade in grades)
