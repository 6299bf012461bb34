"""What a gold set is good for, in words and with the number that decides; no pydantic, which `score` never loads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SetVerdict:
    """What a gold set is good for, for these systems.

    ``level`` is ``ranks``, ``separates``, ``regressions``, ``smoke`` or ``unusable``, ``sentence`` says it in words,
    without a full stop. ``number`` is the one that decides, ``means`` what it is; None where there is none.
    ``improvements`` would change the verdict most, the cheapest first.
    """

    level: str
    sentence: str
    number: float | None = None
    means: str = ""
    improvements: tuple[str, ...] = ()
