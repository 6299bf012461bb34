"""The rules for a conversation: its last question, and the form of it that stands alone."""

from __future__ import annotations

from goldbench.records.query import Candidate
from goldbench.stages.check.single_checks import check_candidate
from goldbench.stages.check.verdict import CheckContext, Finding

MOST_TURNS_BEFORE = 2
"""Earlier turns that a conversation may have."""
_NOT_OF_A_LAST_QUESTION = frozenset({"length", "evidence", "language", "deixis", "overlap", "off-topic", "no-subject"})
"""Rules that the last question need not keep: it is short and points at what was said."""


def check_conversation(candidate: Candidate, context: CheckContext) -> Finding | None:
    """Return the first rule that a conversation breaks, None if it breaks none; no rewrite is asked for.

    Args:
        candidate: The conversation: its text is the last question.
        context: What it is checked against.
    """
    if not 1 <= len(candidate.history) <= MOST_TURNS_BEFORE:
        return Finding("history", f"it has {len(candidate.history)} earlier turns, not 1 to {MOST_TURNS_BEFORE}")
    alone = candidate.model_copy(update={"text": candidate.standalone or ""})
    finding = check_candidate(alone, context, without={"overlap"})
    finding = finding or check_candidate(candidate, context, without=_NOT_OF_A_LAST_QUESTION)
    if finding is not None:
        return finding
    said = [text for turn in candidate.history for text in (turn.question, turn.answer or "")]
    if any(item.quote in text for item in candidate.evidence for text in said):
        return Finding("history", "an earlier turn gives the evidence of the last question")
    return None
