"""A scorecard as one HTML page that loads nothing from the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from goldbench.measures.ranks.failure_causes import TITLES, Cause
from goldbench.measures.statistics.slices import FEW, Slicing
from goldbench.records.scorecard import Comparison, Scorecard, Verdict
from goldbench.report.charts import Points, by_cutoff, check_installed, drawn, forest, points_of, rendered
from goldbench.report.failure_browser import Behind, browser_data
from goldbench.report.figure_causes import behind_figures, outcomes
from goldbench.report.first_screen import first_screen
from goldbench.report.scorecard_text import (
    PAIR_HEADINGS,
    best,
    leaderboard_rows,
    method_line,
    pair_row,
    sentences,
    unbeaten,
)
from goldbench.report.text_tables import Rows, p_value
from goldbench.report.trust import Trust

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a page shows beyond its scorecard.

    ``behind`` are the queries behind its figures, ``curves`` the means by family of measures, ``slicings`` those of
    parts of the queries, ``trusted`` the card and the agreement of the gold set.
    """

    behind: Behind
    curves: Mapping[str, Sequence[Points]] = field(default_factory=dict)
    slicings: Sequence[Slicing] = ()
    notice: str | None = None
    trusted: Trust = field(default_factory=Trust)
    special: Sequence[tuple[str, Rows]] = ()
    """Tables of queries of particular kinds, each with its title."""
    unanswerable: Sequence[str] = ()
    """Lines on queries without an answer."""


def page(card: Scorecard, details: Details) -> str:
    """Return the page; equal input gives equal text.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    behind = details.behind
    data, shown = browser_data(behind)
    return rendered(
        "scorecard.html.j2",
        title=f"Scores on {card.gold.name}",
        card=card,
        screen=first_screen(card, behind, best(card), details.notice),
        names=behind.systems,
        places={name: place for place, name in enumerate(behind.systems)},
        causes=[(cause.value, TITLES[cause]) for cause in Cause],
        sentences=list(sentences(card)),
        leaderboard=list(leaderboard_rows(card)),
        unbeaten=unbeaten(card),
        forest=drawn(forest(points_of(card, card.measures[:1], []), x_title=card.measures[0]), "forest"),
        outcomes=outcomes(card),
        matrix=_matrix(card),
        pairs=[PAIR_HEADINGS, *map(pair_row, card.comparisons)],
        curves=_curves(details),
        slicings=details.slicings,
        few=FEW,
        special=details.special,
        unanswerable=details.unanswerable,
        behind=behind_figures(behind),
        data=data,
        shown=shown,
        method=method_line(card),
        trusted=details.trusted,
    )


def _matrix(card: Scorecard) -> list[tuple[str, list[dict[str, str] | None]]]:
    """Return a row per system of its differences from every other by the first measure, None on the diagonal."""
    found = {(one.first, one.second): one for one in card.comparisons if one.measure == card.measures[0]}
    names = [system.system for system in card.systems]
    return [(row, [_cell(found, row, column) for column in names]) for row in names] if found else []


def _cell(found: Mapping[tuple[str, str], Comparison], row: str, column: str) -> dict[str, str] | None:
    if row == column:
        return None
    one, sign = (found[row, column], 1) if (row, column) in found else (found[column, row], -1)
    wins, losses = (one.wins, one.losses) if sign == 1 else (one.losses, one.wins)
    low, high = sorted((sign * one.low, sign * one.high))
    settled = one.verdict in {Verdict.FIRST, Verdict.SECOND}
    return {
        "difference": f"{sign * one.difference:+.4f}",
        "interval": f"[{low:+.4f}, {high:+.4f}]",
        "p": p_value(one.p_holm),
        "wins": str(wins),
        "ties": str(one.ties),
        "losses": str(losses),
        "kind": ("first" if sign * one.difference > 0 else "second") if settled else "open",
    }


def _curves(details: Details) -> list[tuple[str, Markup]]:
    return [
        (family, drawn(by_cutoff(series, y_title=f"{family}@k"), f"curve-{number}"))
        for number, (family, series) in enumerate(details.curves.items())
    ]
