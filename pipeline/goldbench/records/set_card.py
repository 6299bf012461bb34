"""The card of a gold set: how far it can be trusted, figure by figure."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from goldbench.records.record import Record
from goldbench.records.set_verdict import SetVerdict

Value = float | int | str | None

_TITLES = {
    "canaries": "judge check: planted fakes",
    "evidence alone": "judge check: planted answers",
    "hole@10": "unjudged in the top 10",
    "positives per query": "relevant passages per query",
    "split-half tau": "agreement of two halves of the queries",
}
"""What people read in place of a name in ``card.json``, where the name alone is not plain."""


def title(name: str) -> str:
    """Return what people read for a figure."""
    return _TITLES.get(name, name)


class FigureState(StrEnum):
    """The verdict on a figure: good, to be looked at, not to be used, without a verdict, or absent."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"
    INFO = "info"
    ABSENT = "absent"


class Figure(Record):
    """One figure of the card.

    ``values`` are the numbers behind it, ``items`` the queries or systems it names. ``threshold`` says in words when
    the figure is good. ``meaning`` says what the figure means, or why it is absent.
    """

    section: str
    name: str
    value: Value = None
    unit: str = ""
    values: dict[str, Value] = Field(default_factory=dict)
    items: list[str] = Field(default_factory=list)
    threshold: str | None = None
    state: FigureState = FigureState.INFO
    meaning: str

    @model_validator(mode="after")
    def _absent_has_no_value(self) -> Self:
        if self.state is FigureState.ABSENT and (self.value is not None or self.values or self.items):
            raise ValueError(f"{self.name} is absent and has a value")
        if self.state is not FigureState.ABSENT and self.value is None and not self.values:
            raise ValueError(f"{self.name} has neither a value nor a reason to be absent")
        return self


class Card(Record):
    """Every figure of one gold set; a function of its files and of the seed.

    ``baselines`` are the built-in retrievers behind the figures on rankings, not the user's systems. ``evidence_level``
    is ``smoke`` if the queries were simulated; then ``notice`` is the warning that goes with them. ``verdict`` says
    what the set is good for, for the runs in its folder, else for the baselines. The digests tell which state of the
    set the card was made for; judgments without a set have no ``content_sha256``.
    """

    format: int = 1
    goldbench: str
    verdict: SetVerdict | None = None
    name: str
    judgments_sha256: str
    content_sha256: str | None = None
    evidence_level: str | None = None
    notice: str | None = None
    queries: int = Field(ge=0)
    passages: int = Field(ge=0)
    graded: bool = False
    baselines: list[str] = Field(default_factory=list)
    seed: int = 0
    figures: list[Figure]

    def figure(self, name: str) -> Figure:
        """Return the figure of that name.

        Raises:
            KeyError: The card has no figure of that name.
        """
        for figure in self.figures:
            if figure.name == name:
                return figure
        raise KeyError(name)

    def count(self, state: FigureState) -> int:
        """Return how many figures are in a state."""
        return sum(figure.state is state for figure in self.figures)
