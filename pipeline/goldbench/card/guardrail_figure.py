"""The figure on the guardrails of a judge."""

from __future__ import annotations

from goldbench.card.described_set import DescribedSet
from goldbench.card.figures import absent, figure
from goldbench.measures.statistics.guardrails import failed_guardrails, guardrails
from goldbench.records.guardrail import GuardrailVerdict
from goldbench.records.set_card import Figure, State
from goldbench.report.guardrail_text import guardrail_text


def guardrail_figure(material: DescribedSet) -> Figure:
    """Return how many guardrails the judge failed, and each of them in words."""
    grading = material.manifest.grading if material.manifest else None
    held = (grading.guardrails if grading else []) or guardrails(material.judgments)
    tested = [one for one in held if one.verdict is not GuardrailVerdict.ABSENT]
    if not tested:
        return absent("judge", "guardrails", "the judge was shown no pair made up to test it")
    failed = failed_guardrails(tested)
    passed = sum(one.verdict is GuardrailVerdict.PASSED for one in tested)
    state = State.FAIL if failed else State.OK if passed == len(tested) else State.INFO
    return figure(
        "judge",
        "guardrails",
        len(failed),
        f"Known ways to fool a judge: {passed} of {len(tested)} passed, {len(failed)} failed, the others are not "
        "decided by so few pairs. " + "; ".join(f"{one.probe}: {guardrail_text(one)}" for one in held) + ".",
        unit="guardrails failed",
        values={one.probe: one.rate for one in tested},
        limit=("0 failed, and all decided", state),
    )
