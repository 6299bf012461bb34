"""Figures that lead to their queries: wins and losses by pair, ranks of the first relevant passage, causes of failures.

A link is the part of the page's address behind ``#``, which its script reads as the state of the list of queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from goldbench.measures.ranks.failure_causes import MEANINGS, TITLES, Cause
from goldbench.report.charts import Points, address, bars, drawn
from goldbench.report.rank_buckets import BUCKETS, counted

if TYPE_CHECKING:
    from markupsafe import Markup

    from goldbench.records.scorecard import Scorecard
    from goldbench.report.failure_browser import Behind

MOST_OUTCOMES = 15
"""Pairs of systems whose wins and losses are drawn; the table of pairs has all of them."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure and the link to its queries; None if it counts none."""

    value: str
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """A stretch of a bar: what the queries are, how many, and the link to them."""

    kind: str
    count: int
    link: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pair of systems by the first measure, with the queries that each of them wins."""

    first: str
    second: str
    shares: Sequence[Share]


@dataclass(frozen=True, slots=True)
class BehindFigures:
    """Tables of ranks and causes, each a row of cells by system, and the chart of the ranks; None if not known."""

    systems: Sequence[str]
    k: int
    queries: int
    ranks: Sequence[tuple[str, Sequence[Cell]]]
    chart: Markup | None
    causes: Sequence[tuple[str, str, Sequence[Cell]]]
    traits: Sequence[str]
    home: str | None


def outcomes(card: Scorecard) -> list[Outcome]:
    """Return the wins, ties and losses of the pairs by the first measure: first those with the best system."""
    places = {system.system: place for place, system in enumerate(card.systems)}
    measure = card.measures[0]
    found = [one for one in card.comparisons if one.measure == measure]
    found.sort(key=lambda one: sorted((places[one.first], places[one.second])))
    made = []
    for one in found[:MOST_OUTCOMES]:
        counts = {"first-wins": one.wins, "tie": one.ties, "second-wins": one.losses}
        first, second = places[one.first], places[one.second]
        shares = [
            Share(kind, count, address(measure=measure, first=first, second=second, which=kind))
            for kind, count in counts.items()
        ]
        made.append(Outcome(one.first, one.second, shares))
    return made


def behind_figures(behind: Behind) -> BehindFigures:
    """Return the tables of ranks and causes."""
    ranks = list(_rank_rows(behind)) if behind.ranks else []
    return BehindFigures(
        systems=behind.systems,
        k=behind.k,
        queries=len(behind.query_ids),
        ranks=ranks,
        chart=_rank_chart(behind) if ranks else None,
        causes=list(_cause_rows(behind)),
        traits=list(behind.parts),
        home=behind.home,
    )


def _rank_rows(behind: Behind) -> Iterator[tuple[str, list[Cell]]]:
    columns = [counted(behind.ranks[name]) for name in behind.systems]
    for place, bucket in enumerate(BUCKETS):
        counts = [column[place] for column in columns]
        if any(counts) or (bucket.first or 0) <= behind.k:
            yield bucket.name, [_cell(count, first=row, rank=bucket.name) for row, count in enumerate(counts)]


def _cause_rows(behind: Behind) -> Iterator[tuple[str, str, list[Cell]]]:
    for cause in Cause:
        counts = [sum(cause in found for found in behind.causes.get(name, {}).values()) for name in behind.systems]
        if any(counts):
            yield (
                TITLES[cause],
                MEANINGS[cause],
                [_cell(count, first=row, cause=cause.value) for row, count in enumerate(counts)],
            )


def _cell(count: int, **state: str | int) -> Cell:
    return Cell(f"{count:,}", address(**state) if count else None)


def _rank_chart(behind: Behind) -> Markup:
    """Return bars of the share of queries by the rank of their first relevant passage."""
    total = max(1, len(behind.query_ids))
    columns = {name: counted(behind.ranks[name]) for name in behind.systems}
    places = [at for at, bucket in enumerate(BUCKETS) if any(one[at] for one in columns.values()) or at < 4]
    names = [BUCKETS[at].name for at in places]
    series = [
        Points(
            name,
            names,
            [100 * found[at] / total for at in places],
            links=[address(first=row, rank=bucket) for bucket in names],
        )
        for row, (name, found) in enumerate(columns.items())
    ]
    return drawn(bars(series, x_title="rank of the first relevant passage", y_title="% of queries"), "ranks")
