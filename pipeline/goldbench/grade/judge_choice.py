"""Choose how a model judges, in writing or by the probability of yes: by its errors on the judge checks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from goldbench.errors import ModelUnfit
from goldbench.grade.calls import Asking, by_key
from goldbench.grade.panel import Assessors
from goldbench.grade.slots import SOURCES_FIRST, Answers, Slot
from goldbench.grade.thresholds import thresholds_for
from goldbench.llm.chat import NO_PROBABILITY
from goldbench.ports import Speed
from goldbench.records.manifest import CanaryVerdict
from goldbench.stages.canaries import FAIL_ABOVE, TRAPS, Findings, findings, tally
from goldbench.stages.judge import Thresholds

_log = logging.getLogger(__name__)

_ORDER = (CanaryVerdict.PASSED, CanaryVerdict.WARNING, CanaryVerdict.FAILED, CanaryVerdict.NOT_ASKED)
"""Verdicts, the best first. A cap may have ended the asking before anything was answered."""
_ROUND = 5
"""Judge checks between two looks at whether the written grades have failed already: one of each kind."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The asking with the judge that was chosen, how long its calls took, and a line that says why it was chosen."""

    asking: Asking
    seconds_a_call: float | None = None
    line: str = ""


async def choose_judge(asking: Asking, slots: Sequence[Slot], *, must: bool = False) -> Choice:
    """Return the way of judging that makes fewer errors on the judge checks.

    Written grades are tried first: a judge that passes with them says more, and its checks are part of the grading
    anyway. Asked for yes or no, the judge answers with one token, and its thresholds are set by the checks and the
    first sources; its errors are counted with the thresholds of the other half of the pairs (`Answers.canaries`).

    Args:
        asking: How the panel is asked; its judges grade in writing, unless ``must``.
        slots: The pairs of the grading, with its judge checks.
        must: Whether yes or no was asked for.

    Raises:
        ModelUnfit: Yes or no was asked for, and the server does not say how likely they are.
    """
    checks = [slot for slot in slots if slot.planted]
    written = Findings()
    known = dict(asking.known)
    begun = _speed(asking.panel)
    if not must:
        checked = await _in_writing(asking, checks)
        known |= by_key(checked.canaries())
        written = _findings(checked)
        if written.verdict in {CanaryVerdict.PASSED, CanaryVerdict.NOT_ASKED} or checked.limit:
            return Choice(replace(asking, known=known), _seconds_a_call(asking.panel, begun))
    in_writing = Choice(replace(asking, known=known), _seconds_a_call(asking.panel, begun))
    begun = _speed(asking.panel)
    judge = replace(asking, panel=asking.panel.by_yes_no(Thresholds()), tries=False, stops=False)
    first, rest = checks[:1], [*checks[1:], *_first_sources(slots)]
    probed = await judge.ask(first, per_call=1)
    if any(failure.kind == NO_PROBABILITY for failure in probed.failures):
        if must:
            raise ModelUnfit("this model cannot judge by yes or no: its server does not say how likely they are")
        return in_writing
    more = await judge.ask(rest, per_call=1)
    answers = Answers([*probed.slots, *more.slots])
    by_yes_no = _findings(answers)
    _log.info("judge checks: in writing %s, by yes or no %s", written.verdict.value, by_yes_no.verdict.value)
    if not must and _ORDER.index(by_yes_no.verdict) >= _ORDER.index(written.verdict):
        return in_writing
    failed = by_yes_no.verdict is CanaryVerdict.FAILED
    thresholds = Thresholds() if failed else thresholds_for(*answers.probabilities())
    line = f"The model judges by how likely yes is: judge checks {by_yes_no.verdict.value}"
    if not must:
        line += f", in writing {written.verdict.value} ({[*written.failed, *written.warnings][0]})"
    panel = asking.panel.by_yes_no(thresholds)
    return Choice(replace(asking, panel=panel), _seconds_a_call(asking.panel, begun), f"{line}.")


def _speed(panel: Assessors) -> Speed:
    speed = panel.traffic().speed() if panel.traffic else None
    return speed or Speed(0, 0.0, 0)


def _seconds_a_call(panel: Assessors, begun: Speed) -> float | None:
    """Return the mean seconds of the calls since a moment, None if all answers came from the store."""
    now = _speed(panel)
    calls = now.calls - begun.calls
    return (now.seconds - begun.seconds) / calls if calls else None


async def _in_writing(asking: Asking, checks: Sequence[Slot]) -> Answers:
    """Ask the judge checks until no reply of a round can be used, or more fakes are accepted than may be of all."""
    answers = Answers()
    fakes = sum(slot.planted is not None and slot.planted.kind in TRAPS for slot in checks)
    for start in range(0, len(checks), _ROUND):
        more = await asking.ask(checks[start : start + _ROUND], per_call=1)
        answers.slots.extend(more.slots)
        answers.failures.extend(more.failures)
        answers.limit = answers.limit or more.limit
        counts = tally(answers.canaries())
        accepted = sum(counts.get(kind, (0, 0))[1] for kind in TRAPS)
        unusable = not any(item.judgments for item in more.slots)
        if answers.limit or unusable or accepted > FAIL_ABOVE * fakes:
            break
    return answers


def _findings(answers: Answers) -> Findings:
    return findings(tally(answers.canaries()), unanswered=answers.unanswered_canaries().total())


def _first_sources(slots: Sequence[Slot]) -> Iterator[Slot]:
    """Yield a source of each of the first queries: passages that are known to answer."""
    seen: set[str] = set()
    for slot in slots:
        if slot.source and slot.query.query_id not in seen and len(seen) < SOURCES_FIRST:
            seen.add(slot.query.query_id)
            yield slot
