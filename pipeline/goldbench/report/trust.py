"""How far the figures on a page can be trusted: facts on the scores, the gold set's card, its judge against people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from goldbench.records.agreement_report import Agreement, Estimate
from goldbench.records.scorecard import Scorecard
from goldbench.records.set_card import Card, State, title
from goldbench.report.agreement_text import LABELS, method
from goldbench.report.card_text import said, shown, verdict
from goldbench.report.scorecard_text import SMOKE
from goldbench.report.text_tables import with_interval
from goldbench.text.display import queries

SHADES = 5
"""Steps of shading in the confusion table, by a cell's share of its row."""

FEW_QUERIES = 100
"""Below this number of judged queries the page doubts the scores."""

WIDE = 0.05
"""Above this smallest detectable difference the page doubts the scores."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about the judgments; ``doubt`` is the line that says how it limits the trust in the scores, else empty."""

    name: str
    value: str
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of the card as text; ``made_of`` lists the numbers behind it."""

    name: str
    value: str
    good: str
    state: str
    meaning: str
    made_of: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the confusion table: pairs, their share of the row, and the step of its shade."""

    pairs: int
    share: str
    shade: int


@dataclass(frozen=True, slots=True)
class Trust:
    """The gold set's card and its judge's agreement with people, if these files lie beside the judgments."""

    card: Card | None = None
    agreement: Agreement | None = None
    remarks: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The card's counts of figures by state."""
        return verdict(self.card) if self.card else ""

    @property
    def sections(self) -> list[tuple[str, list[Row]]]:
        """The figures of the card by section; an absent figure has its reason as its meaning."""
        figures = self.card.figures if self.card else []
        return [
            (
                title(section).capitalize(),
                [
                    Row(
                        name=title(figure.name),
                        value="absent" if figure.state is State.ABSENT else said(figure),
                        good=figure.threshold or "",
                        state=figure.state.value,
                        meaning=figure.meaning,
                        made_of="; ".join(f"{title(key)} {shown(value)}" for key, value in figure.values.items()),
                    )
                    for figure in rows
                ],
            )
            for section, rows in groupby(figures, key=lambda figure: figure.section)
        ]

    @property
    def confusion(self) -> list[tuple[int, list[Cell]]]:
        """A row for each grade of the reference: the judge's grades of the same pairs."""
        figures = self.agreement.overall if self.agreement else None
        if self.agreement is None or figures is None:
            return []
        return [
            (grade, [_cell(pairs, sum(row)) for pairs in row])
            for grade, row in zip(self.agreement.grades, figures.confusion, strict=True)
        ]

    @property
    def figures(self) -> list[tuple[str, str]]:
        """The figures of the agreement with their intervals, absent ones with their reason."""
        overall = self.agreement.overall if self.agreement else None
        return [] if overall is None else [(label, _shown(getattr(overall, name))) for name, label in LABELS.items()]

    @property
    def method(self) -> str:
        """The method of the agreement's figures."""
        return method(self.agreement) if self.agreement else ""


def facts(card: Scorecard) -> Iterator[Fact]:
    """Yield the facts that say how far the scores of a card can be trusted."""
    level, count, measure = card.gold.evidence_level, card.gold.queries, card.measures[0]
    writers = {SMOKE: "simulated queries or those of a tiny model", "users": "users' queries", None: "not stated"}
    doubt = "The queries are simulated or written by a tiny model: nothing follows from them about these systems"
    yield Fact("evidence", writers.get(level, level or ""), doubt if level == SMOKE else "")
    doubt = f"Only {queries(count)}: small differences cannot be seen" if count < FEW_QUERIES else ""
    yield Fact("judged queries", f"{count:,}", doubt)
    holes = max(1 - share for system in card.systems for share in system.judged.values())
    yield Fact("of top results unjudged, at most", f"{holes:.0%}")  # the card's own warnings say when it is too much
    detectable = [pair.detectable for pair in card.comparisons if pair.measure == measure and pair.detectable]
    if detectable:
        least = median(detectable)
        doubt = f"Only differences of about {least:.3f} of {measure} or more can be seen" if least > WIDE else ""
        yield Fact(f"detectable difference of {measure}", f"{least:.3f}", doubt)
    missing = max(system.counts.missing for system in card.systems)
    if missing:
        yield Fact("missing queries", f"{missing:,}", f"Up to {queries(missing)} missing from a run")


def _shown(estimate: Estimate) -> str:
    if estimate.value is None:
        return f"absent: {estimate.reason}"
    return with_interval(estimate.value, estimate.low, estimate.high, places=3)


def _cell(pairs: int, row: int) -> Cell:
    share = pairs / row if row else 0.0
    return Cell(pairs, f"{share:.0%}", round(share * SHADES))
