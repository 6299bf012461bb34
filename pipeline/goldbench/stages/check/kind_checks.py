"""The rules for a query that needs several passages, and for a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from goldbench.ports import Brief
from goldbench.records.corpus import Chunk
from goldbench.records.query import Candidate
from goldbench.stages.check.single_checks import check_candidate
from goldbench.stages.check.ties import foreign_answer, no_cause, no_subject, off_topic
from goldbench.stages.check.verdict import CheckContext, Finding, joined_context

ENOUGH = "one-passage-enough"
"""The rule that a query breaks if one of its passages answers it."""

_OF_ALL_PASSAGES = frozenset({"overlap", "answer-tie", "off-topic", "no-subject", "no-cause"})
"""Rules that the passages keep together: each alone may lack a part of the query and of its answer."""

MOST_TURNS_BEFORE = 2
"""Earlier turns that a conversation may have."""
_NOT_OF_A_LAST_QUESTION = frozenset({"length", "evidence", "language", "deixis", "overlap", "off-topic", "no-subject"})
"""Rules that the last question need not keep: it is short and points at what was said."""


def check_joined(candidate: Candidate, chunks: Sequence[Chunk], brief: Brief) -> Finding | None:
    """Return the first rule that a candidate breaks, None if it breaks none; no rewrite is asked for.

    Each passage must hold evidence of its own, and none may hold the evidence of all. Every word of such a query may
    stand in the passages together, but no run of them in one.

    Args:
        candidate: The candidate.
        chunks: The passages that it needs.
        brief: What was asked for.
    """
    for number, chunk in enumerate(chunks, 1):
        own = tuple(item for item in candidate.evidence if chunk.span.contains(item))
        if not own:
            return Finding("evidence", f"the quotation given as evidence is not in passage {number}")
        part = candidate.model_copy(update={"evidence": own})
        finding = check_candidate(part, CheckContext.of(chunk, brief), without=_OF_ALL_PASSAGES)
        if finding is not None:
            return finding
    together = joined_context(chunks, brief)
    for rule in (foreign_answer, off_topic, no_subject, no_cause):
        finding = rule(candidate, together)
        if finding is not None:
            return finding
    if any(all(item.quote in chunk.text for item in candidate.evidence) for chunk in chunks):
        return Finding(ENOUGH, "one passage holds the evidence of all")
    return None


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
    texts_said = [text for turn in candidate.history for text in (turn.question, turn.answer or "")]
    if any(item.quote in text for item in candidate.evidence for text in texts_said):
        return Finding("history", "an earlier turn gives the evidence of the last question")
    return None
