"""How far the gold set behind a page can be trusted: its card, and what people say of its judge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from pipeline.report.agreement_tables import LABELS, method
from pipeline.report.card_text import said, shown, verdict
from schemas.agreement_report import Agreement, Estimate
from schemas.set_card import Card, State

SHADES = 5
"""A cell of the confusion is shaded in so many steps, by its share of the reference's grade."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: what it is called, its value, its threshold, its state, what it says, what it is made of."""

    name: str
    value: str
    good: str
    state: str
    meaning: str
    made_of: str


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of the confusion: pairs, their share of the row, and the step of its shade."""

    pairs: int
    share: str
    shade: int


@dataclass(frozen=True, slots=True)
class Trust:
    """The card of the gold set and the agreement of its judge with people, where they lie beside the judgments."""

    card: Card | None = None
    agreement: Agreement | None = None
    remarks: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """How many figures of the card are as they should be."""
        return verdict(self.card) if self.card else ""

    @property
    def sections(self) -> list[tuple[str, list[Row]]]:
        """The figures of the card by section; those of the ones that are absent come with their reason alone."""
        figures = self.card.figures if self.card else []
        return [
            (
                section.capitalize(),
                [
                    Row(
                        name=one.name,
                        value="absent" if one.state is State.ABSENT else said(one),
                        good=one.threshold or "",
                        state=one.state.value,
                        meaning=one.meaning,
                        made_of="; ".join(f"{key} {shown(value)}" for key, value in one.values.items()),
                    )
                    for one in rows
                ],
            )
            for section, rows in groupby(figures, key=lambda one: one.section)
        ]

    @property
    def confusion(self) -> list[tuple[int, list[Cell]]]:
        """A row per grade of the reference: the judge's grades of these pairs."""
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
        found = self.agreement.overall if self.agreement else None
        return [] if found is None else [(label, _estimate(getattr(found, name))) for name, label in LABELS.items()]

    @property
    def method(self) -> str:
        """How the figures of the agreement were made."""
        return method(self.agreement) if self.agreement else ""


def _cell(pairs: int, row: int) -> Cell:
    share = pairs / row if row else 0.0
    return Cell(pairs, f"{share:.0%}", round(share * SHADES))


def _estimate(found: Estimate) -> str:
    if found.value is None:
        return f"absent: {found.reason}"
    ends = "" if found.low is None or found.high is None else f" ({found.low:.3f} to {found.high:.3f})"
    return f"{found.value:.3f}{ends}"
