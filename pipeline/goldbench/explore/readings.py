"""What a model that reads decides about a query: grades of passages, and the rule that makes a state of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from goldbench.explore.word_rules import CoverageState
from goldbench.grade.calls import SlotAnswer
from goldbench.records.judgment import Flag
from goldbench.records.manifest import CanaryVerdict, Failure, StageUsage
from goldbench.records.relevance import RELEVANT, settled
from goldbench.stages.judge import of_one_mind
from goldbench.text.display import amount
from goldbench.text.injection import tells_how_to_judge


@dataclass(frozen=True, slots=True)
class Unread:
    """An undecided query: its text, the passages to read, best first, and whether it is in another language."""

    text: str
    passages: tuple[str, ...]
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What reading says about a query, and why; ``passage`` answers it."""

    state: CoverageState
    reason: str
    passage: str | None = None


@dataclass(frozen=True, slots=True)
class LogReading:
    """What a model decided, by the id of the query, and how far it can be trusted.

    ``pairs`` counts the queries and passages that were judged; ``limit`` is the cap that ended the asking and
    ``problem`` the error of the server, or None.
    """

    model: str
    decisions: Mapping[str, Decision]
    checked: CanaryVerdict
    findings: tuple[str, ...] = ()
    pairs: int = 0
    failures: tuple[Failure, ...] = ()
    limit: str | None = None
    problem: str | None = None
    usage: Mapping[str, StageUsage] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every judgment was given by a judge that passed its checks."""
        return self.checked is not CanaryVerdict.FAILED and not (self.failures or self.limit or self.problem)

    def as_json(self) -> dict[str, Any]:
        """Return the reading as plain values, without what it cost, which differs from run to run."""
        return {
            "model": self.model,
            "judge_check": self.checked.value,
            "findings": list(self.findings),
            "pairs": self.pairs,
            "failed_calls": len(self.failures),
            "limit": self.limit,
            "problem": self.problem,
        }


def decided(query: Unread, slots: Mapping[str, SlotAnswer], model: str, why: str, judges: int) -> Decision:
    """Return what the judgments of its passages say about a query.

    A passage whose settled grade is 2 or 3 answers it. Grades of 0 and 1 throughout mean that no passage does: by the
    rubric, no statement of a passage of grade 1 would be used in an answer. Whatever is unsure leaves it undecided.

    Args:
        query: The query.
        slots: What was answered about its passages.
        model: The name of the first judge.
        why: The reason for a missing judgment.
        judges: Number of judges.
    """
    state = CoverageState.UNDECIDED
    passage = None
    grades = {key: grade for key in query.passages if (grade := sure_grade(slots.get(key), judges)) is not None}
    best = max(grades, key=lambda key: (grades[key], -query.passages.index(key)), default=None)
    missing = sum(not _is_judged(slots.get(key), judges) for key in query.passages)
    if tells_how_to_judge(query.text):
        reason = "tells how passages should be graded"
    elif not query.passages:
        reason = "no passage to read was found"
    elif best is not None and grades[best] >= RELEVANT:
        state = CoverageState.COVERED
        passage = best
        reason = f"model {model} grades this passage {grades[best]:d}"
    elif missing:
        reason = f"{missing} of {amount(len(query.passages), 'passage')} could not be judged: {why}"
    elif len(grades) < len(query.passages):
        reason = f"model {model} is unsure about a passage"
    elif query.foreign:
        reason = "in another language than the passages; words may not find what answers it"
    else:
        nearest = amount(len(grades), "passage")
        highest = max(grades.values())
        state = CoverageState.NOT_COVERED
        reason = f"model {model} grades none of the nearest {nearest} above {highest:d}"
    return Decision(state, reason, passage)


def _is_judged(item: SlotAnswer | None, judges: int) -> bool:
    """Whether a passage is judged, and the judges who failed would not change the result."""
    if item is None or not item.judgments:
        return False
    return not item.failures or of_one_mind(item.judgments, judges)


def sure_grade(item: SlotAnswer | None, judges: int) -> int | None:
    """Return the grade of a passage that is sure, or None.

    It is unsure if judges disagree about its use and most find none, if the first judge could quote nothing for its
    grade of 2 or 3, and if the passage itself tells how to grade it.
    """
    if item is None or not _is_judged(item, judges):
        return None
    grade = settled([judged.relevance for judged in item.judgments])
    if grade >= RELEVANT:
        is_hostile = any(judged.flag is Flag.INSTRUCTIONS_IN_TEXT for judged in item.judgments)
        return None if is_hostile else int(grade)
    doubted = any(judgment.relevance >= RELEVANT or judgment.capped for judgment in item.judgments)
    return None if doubted else int(grade)
