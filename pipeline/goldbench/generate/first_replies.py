"""The first replies of a model on trial. They are the run's own, so a trial costs nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from goldbench.errors import Message, ModelUnfit
from goldbench.generate.drawn_queries import LIMIT, DrawnCandidate, TaskResult
from goldbench.records.manifest import Failure
from goldbench.records.query import Rejection
from goldbench.text.display import shell_command

MOST_USELESS = 5
"""Give a model up after this many useless replies with no useful one among them."""
MAX_FAILED_CALLS = 50
"""Stop after this many failed calls with no success among them."""
_MOST_OPEN = 10
"""Replies that say nothing about the model, such as a reason why no query can be written, until it counts as fit."""

FAULTS = {
    "misfit": "does not fit its schema",
    "loop": "repeats itself",
    "cut-off": "runs on until its limit",
    "empty": "is empty",
    "refusal": "declines to answer",
}
"""What is wrong with a reply that could not be used, by the kind of the failure; other kinds are the server's."""
USELESS = {"schema": "holds no text that can be a query", "language": "is in another language"}
"""Rules that only a useless query breaks. The others are strict: a fit model breaks them, too."""


@dataclass(slots=True)
class Trial:
    """The replies so far of a model that is to do a task; ``advice`` says what else to try if they are useless."""

    task: str
    advice: str
    passed: bool = False
    _open: int = 0
    _faults: Counter[str] = field(default_factory=Counter)
    _last: str = ""

    @property
    def failed(self) -> bool:
        """Whether the replies so far were useless."""
        return not self.passed and self._faults.total() >= MOST_USELESS

    @property
    def next(self) -> int | None:
        """How many calls may be under way beyond the replies so far: 0 once the model failed, None once it passed."""
        return None if self.passed else max(0, MOST_USELESS - self._faults.total())

    def take(self, fault: str | None, failure: Failure | None = None) -> None:
        """Take in one reply.

        Args:
            fault: What makes it useless, empty for a useful reply, None if it says nothing about the model.
            failure: The failure of a reply that could not be used.
        """
        if fault and failure is not None:
            self._last = f", the last: {failure.message}"
        if fault is None:
            self._open += 1
        elif fault:
            self._faults[fault] += 1
        self.passed = self.passed or fault == "" or self._open >= _MOST_OPEN

    def take_result(self, result: TaskResult, generator: str) -> None:
        """Take in what became of a task about one passage; a query of another generator says nothing about the model.

        Raises:
            ModelUnfit: The replies so far were useless.
        """
        outcomes = [item for item in result.outcomes if item.planned or item.proposed.generator == generator]
        if outcomes:
            faults = [fault_of(item) for item in outcomes]
            self.take(faults[0] if all(faults) else "")
        elif result.outcomes or isinstance(result.end, Rejection):
            self.take(None)
        elif isinstance(result.end, Failure) and result.end.kind != LIMIT:
            self.take(FAULTS.get(result.end.kind), result.end)
        self.check()

    def check(self) -> None:
        """Refuse to ask further.

        Raises:
            ModelUnfit: The replies so far were useless.
        """
        if self.failed:
            raise self._unfit()

    def close(self) -> None:
        """Refuse a result of fewer replies than a trial takes, if there were faults and nothing of use.

        Raises:
            ModelUnfit: There was no useful reply.
        """
        if not self.passed and self._faults:
            raise self._unfit()

    def _unfit(self) -> ModelUnfit:
        count = self._faults.total()
        listed = ", ".join(f"{fault} ({times})" for fault, times in self._faults.most_common()) + self._last
        replies = f"each of the first {count} replies is useless" if count > 1 else "its only reply is useless"
        prune = shell_command("answers prune", "STORE", rejected="")
        stored = f"every reply is in the store, and {prune} lets it be asked again"
        problem = f"this model cannot {self.task}: {replies}: {listed}"
        return ModelUnfit(Message("{}; {}; {}", problem, self.advice, stored))


def fault_of(outcome: DrawnCandidate) -> str:
    """Return what makes a proposed query useless, empty for nothing; a query that breaks a strict rule is of use."""
    finding = outcome.finding
    if finding is None:
        return ""
    if finding.filter in USELESS:
        return USELESS[finding.filter]
    wordings = outcome.proposed, outcome.candidate
    if not any(candidate.evidence for candidate in wordings):
        return "gives evidence that is not in the passage"
    passage = _plain(outcome.task.chunks[0].text)
    return "copies the passage" if all(_plain(candidate.text) in passage for candidate in wordings) else ""


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" .?!。？！")
