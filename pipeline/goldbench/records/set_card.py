"""The card of a gold set: how far it can be trusted, figure by figure."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import Field, model_validator

from goldbench.records.record import Record
from goldbench.records.set_verdict import SetVerdict

Value = float | int | str | None

_TITLES = {
    "Gini of queries per source": "unevenness of queries over documents (Gini)",
    "agreement of query sources": "agreement of query sources on the order of systems",
    "canaries": "judge check: planted fakes",
    "canary": "judge check",
    "evidence alone": "judge check: planted answers",
    "funnel": "candidates kept",
    "guard": "grades without a quote",
    "hole@10 of baselines": "unjudged in the top 10, baselines",
    "hole@10 of runs": "unjudged in the top 10, your runs",
    "hole@10, one retriever left out": "unjudged in the top 10, a new system",
    "holes": "unjudged results",
    "positives": "relevant passages",
    "positives per query": "relevant passages per query",
    "propagated labels": "labels shared by near-duplicates",
    "separable pairs": "pairs of systems told apart",
    "split-half tau": "agreement of two halves of the queries",
    "split-half tau_AP": "agreement of two halves, top ranks weighted",
    "spread of the panel": "disagreement of assessors",
    "tau by number of queries": "agreement by number of queries",
    "words against dense, by overlap": "BM25 against LSI, by overlap",
}
"""What people read in place of a name in ``card.json``, where the name alone is not plain."""


def title(name: str) -> str:
    """Return what people read for a section, a figure or one of its values; ``canary: requests`` is looked up too."""
    first, colon, rest = name.partition(": ")
    return f"{_TITLES.get(first, first)}{colon}{rest}"


class State(StrEnum):
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
    state: State = State.INFO
    meaning: str

    @model_validator(mode="after")
    def _absent_has_no_value(self) -> Self:
        if self.state is State.ABSENT and (self.value is not None or self.values or self.items):
            raise ValueError(f"{self.name} is absent and has a value")
        if self.state is not State.ABSENT and self.value is None and not self.values:
            raise ValueError(f"{self.name} has neither a value nor a reason to be absent")
        return self


class Card(Record):
    """Every figure of one gold set; a function of its files and of the seed.

    ``baselines`` are the built-in retrievers behind the figures on rankings, not the user's systems. ``evidence_level``
    is ``smoke`` if the queries were simulated; then ``notice`` is the warning that goes with them. ``verdict`` says
    what the set is good for, for the runs in its folder, else for the baselines.
    """

    format: int = 1
    goldbench: str
    verdict: SetVerdict | None = None
    name: str
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
        found = next((figure for figure in self.figures if figure.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def count(self, state: State) -> int:
        """Return how many figures are in a state."""
        return sum(figure.state is state for figure in self.figures)
