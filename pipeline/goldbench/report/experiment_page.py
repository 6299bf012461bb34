"""An experiment of `goldbench bench` as one HTML page that loads nothing from the network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from goldbench.measures.ranks.failure_causes import TITLES, Cause
from goldbench.measures.statistics.pareto_front import pareto_front
from goldbench.records.experiment import Experiment, Timings
from goldbench.report.charts import Points, bars, check_installed, drawn, forest, points_of, priced, rendered
from goldbench.report.charts import by_cutoff as curve
from goldbench.report.experiment_text import (
    alone,
    beside_published,
    by_cutoff,
    families,
    leaderboard,
    pairs,
    times,
    timing_line,
    verdict,
)
from goldbench.report.failure_browser import Behind, browser_data
from goldbench.report.figure_causes import behind_figures, outcomes
from goldbench.report.first_screen import first_screen
from goldbench.report.scorecard_text import method_line, sentences, unbeaten
from goldbench.report.trust import Fact

if TYPE_CHECKING:
    from markupsafe import Markup


def page(found: Experiment, timings: Timings, behind: Behind | None = None) -> str:
    """Return the page; equal input gives equal text.

    Args:
        found: The figures.
        timings: The times.
        behind: The queries behind the figures; None leaves their list out.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    card, first = found.card, found.compared[0]
    order = [system.system for system in card.systems]
    failed = Fact("failed systems", f"{len(found.failures):,}", f"Failed systems: {len(found.failures):,}, see below")
    data, shown = browser_data(behind) if behind else (None, 0)
    return rendered(
        "experiment.html.j2",
        title=f"Experiment on {card.gold.name}",
        found=found,
        card=card,
        screen=first_screen(card, behind, list(verdict(found)), found.notice, [failed] if found.failures else []),
        names=order,
        places={name: place for place, name in enumerate(order)} if behind else {},
        measures=behind.measures if behind else [],
        causes=[(cause.value, TITLES[cause]) for cause in Cause],
        outcomes=outcomes(card) if behind else [],
        behind=behind_figures(behind) if behind else None,
        data=data,
        shown=shown,
        leaderboard=leaderboard(found),
        unbeaten=[] if found.baseline else unbeaten(card),
        forest=drawn(forest(points_of(card, [first], []), x_title=first), "forest"),
        figures=list(_figures(found)),
        others=_others(found),
        published=list(beside_published(found)),
        times=times(timings, order),
        timing_line=timing_line(timings),
        latency=_latency(timings, order),
        prices=list(_prices(found, timings)),
        free=_is_free(timings),
        pairs=pairs(found),
        sentences=list(sentences(card)),
        settings=[
            (one.system, json.dumps(one.settings, ensure_ascii=False, sort_keys=True, indent=1))
            for one in found.systems
        ],
        method=method_line(card),
    )


def _figures(found: Experiment) -> Iterator[tuple[str, Markup, Markup, list[tuple[str, ...]], dict[str, str]]]:
    """Yield for each measure its name, a curve over the cutoffs, bars, its table, and the measures by heading."""
    tables = dict(by_cutoff(found))
    several = {title: measures for title, measures in families(found).items() if title in tables}
    for number, (title, measures) in enumerate(several.items()):
        cutoffs, names = [cutoff for cutoff, _ in measures], [name for _, name in measures]
        lines = drawn(curve(points_of(found.card, names, cutoffs), y_title=f"{title}@k"), f"curve-{number}")
        grouped = points_of(found.card, names, [f"@{cutoff}" for cutoff in cutoffs])
        yield (
            title,
            lines,
            drawn(bars(grouped, x_title="k", y_title=title), f"bars-{number}"),
            tables[title],
            dict(zip((f"@{cutoff}" for cutoff in cutoffs), names, strict=True)),
        )


def _others(found: Experiment) -> Markup | None:
    """Return bars of the measures without a curve."""
    names = alone(found)
    return drawn(bars(points_of(found.card, names, names), x_title="", y_title=""), "others") if names else None


def _latency(timings: Timings, order: Sequence[str]) -> Markup:
    known = [name for name in order if name in timings.timings]
    series = [
        Points(label, known, [getattr(timings.timings[name].whole, field) for name in known])
        for label, field in (("p50", "p50_ms"), ("p95", "p95_ms"))
    ]
    return drawn(bars(series, x_title="", y_title="ms per query"), "latency")


def _prices(found: Experiment, timings: Timings) -> Iterator[tuple[str, Markup | None, Sequence[str], Sequence[str]]]:
    """Yield quality against latency and against cost: title, chart, systems on the front, systems of unknown price."""
    known = {name: one.whole.p95_ms for name, one in timings.timings.items()}
    yield "latency", *_priced(found, known, "p95, ms per query", "price")
    known = {name: one.usd_per_1000 for name, one in timings.timings.items() if one.usd_per_1000 is not None}
    yield "cost", *_priced(found, known, "US dollars for 1,000 queries", "cost")


def _is_free(timings: Timings) -> bool:
    """Return whether every system runs on this machine alone, where nobody charges for a query."""
    return all(one.usd_per_1000 == 0 for one in timings.timings.values())


def _priced(
    found: Experiment, prices: Mapping[str, float], title: str, name: str
) -> tuple[Markup | None, list[str], list[str]]:
    measure = found.compared[0]
    points = [
        replace(points, places=[prices[points.name]])
        for points in points_of(found.card, [measure], [0])
        if points.name in prices
    ]
    unknown = [system.system for system in found.card.systems if system.system not in prices]
    if len({one.places[0] for one in points}) < 2:
        return None, [], unknown
    front = pareto_front([one.places[0] for one in points], [one.values[0] for one in points])
    return drawn(priced(points, x_title=title, y_title=measure), name), [points[at].name for at in front], unknown
