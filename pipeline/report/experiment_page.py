"""An experiment of `goldbench bench` as one HTML page that loads nothing from the network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from goldbench.pipeline.report.charts import (
    Points,
    bars,
    check_installed,
    drawn,
    forest,
    points_of,
    rendered,
    scattered,
)
from goldbench.pipeline.report.charts import by_cutoff as curve
from goldbench.pipeline.report.experiment_text import (
    alone,
    beside_published,
    by_cutoff,
    families,
    leaderboard,
    pairs,
    times,
    timing_line,
    verdict,
    warned,
)
from goldbench.pipeline.report.scorecard_text import method_line, sentences, unbeaten
from goldbench.pipeline.report.trust import Fact, facts
from goldbench.pipeline.report.verdict_text import verdict_lines
from goldbench.schemas.experiment import Experiment, Timings

if TYPE_CHECKING:
    from markupsafe import Markup


def page(found: Experiment, timings: Timings) -> str:
    """Return the page; equal input gives equal text.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    card, first = found.card, found.compared[0]
    order = [system.system for system in card.systems]
    failed = [Fact("failed systems", f"{len(found.failures):,}", unsafe=True)] if found.failures else []
    return rendered(
        "experiment.html.j2",
        title=f"Experiment on {card.gold.name}",
        found=found,
        card=card,
        trust=[*facts(card), *failed],
        fitness=verdict_lines(card.verdict),
        verdict=list(verdict(found)),
        warned=warned(found),
        leaderboard=leaderboard(found),
        unbeaten=[] if found.baseline else unbeaten(card),
        forest=drawn(forest(points_of(card, [first], []), x_title=first), "forest"),
        figures=list(_figures(found)),
        others=_others(found),
        published=list(beside_published(found)),
        times=times(timings, order),
        timing_line=timing_line(timings),
        latency=_latency(timings, order),
        price=_price(found, timings),
        pairs=pairs(found),
        sentences=list(sentences(card)),
        settings=[
            (one.system, json.dumps(one.settings, ensure_ascii=False, sort_keys=True, indent=1))
            for one in found.systems
        ],
        method=method_line(card),
    )


def _figures(found: Experiment) -> Iterator[tuple[str, Markup, Markup, list[tuple[str, ...]]]]:
    """Yield for each measure its name, a curve over the cutoffs, bars, and its table."""
    tables = dict(by_cutoff(found))
    several = {title: measures for title, measures in families(found).items() if title in tables}
    for number, (title, measures) in enumerate(several.items()):
        cutoffs, names = [cutoff for cutoff, _ in measures], [name for _, name in measures]
        lines = drawn(curve(points_of(found.card, names, cutoffs), y_title=f"{title}@k"), f"curve-{number}")
        grouped = points_of(found.card, names, [f"@{cutoff}" for cutoff in cutoffs])
        yield title, lines, drawn(bars(grouped, x_title="k", y_title=title), f"bars-{number}"), tables[title]


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


def _price(found: Experiment, timings: Timings) -> Markup:
    """Return each system's first measure over its latency."""
    measure = found.compared[0]
    points = [
        Points(system.system, [timings.timings[system.system].whole.p95_ms], [system.scores[measure].mean])
        for system in found.card.systems
        if system.system in timings.timings
    ]
    return drawn(scattered(points, x_title="p95, ms per query", y_title=measure), "price")
