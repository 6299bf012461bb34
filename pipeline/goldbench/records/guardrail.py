"""Guardrails of a judge: published ways to fool one, each with its rate, its limit and a verdict."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from goldbench.records.record import Record


class GuardrailVerdict(StrEnum):
    """The verdict on one guardrail."""

    PASSED = "passed"
    FAILED = "failed"
    UNDECIDED = "not decided"
    ABSENT = "absent"


class Guardrail(Record):
    """How often a judge was wrong on one kind of planted pair.

    ``rate`` is the share of the ``shown`` pairs on which it was ``wrong``, from ``low`` to ``high`` (95 %). A judge
    fails if ``low`` is above ``limit`` and passes if ``high`` is below it; otherwise ``more`` is the number of further
    pairs that would decide at this rate, None if a thousand would not. ``reason`` says why a guardrail is absent.
    """

    probe: str
    shown: int = Field(ge=0)
    wrong: int = Field(default=0, ge=0)
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float
    verdict: GuardrailVerdict
    more: int | None = None
    reason: str | None = None
