"""An experiment as one page of HTML that asks no server for anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from pipeline.report.charts import Points, bars, drawn, forest
from pipeline.report.charts import by_cutoff as curve
from pipeline.report.experiment_tables import (
    alone,
    beside_published,
    by_cutoff,
    families,
    leaderboard,
    pairs,
    says,
    times,
    timing_line,
    verdict,
    warned,
)
from pipeline.report.scorecard_tables import method_line
from pipeline.report.standalone_page import rendered
from pipeline.report.verdicts import SMOKE, unbeaten
from schemas.experiment import Experiment, Timings


def page(found: Experiment, timings: Timings) -> str:
    """Return the page; equal input gives equal text."""
    order = [system.system for system in found.card.systems]
    return rendered(
        "experiment.html.j2",
        title=f"Experiment on {found.card.gold.name}",
        found=found,
        card=found.card,
        trust=list(_trust(found)),
        verdict=list(verdict(found)),
        warned=warned(found),
        leaderboard=leaderboard(found),
        unbeaten=_unbeaten(found),
        forest=_forest(found),
        figures=list(_figures(found)),
        others=_others(found),
        published=list(beside_published(found)),
        times=times(timings, order),
        timing_line=timing_line(timings),
        latency=_latency(timings, order),
        price=_price(found, timings),
        pairs=pairs(found),
        sentences=says(found),
        settings=[
            (one.system, json.dumps(one.settings, ensure_ascii=False, sort_keys=True, indent=1))
            for one in found.systems
        ],
        method=method_line(found.card),
    )


def _trust(found: Experiment) -> Iterator[dict[str, Any]]:
    """Yield what says how far the figures can be trusted, unsafe things marked."""
    level = found.card.gold.evidence_level
    named = {SMOKE: "simulated queries", None: "not stated"}.get(level, level)
    yield {"name": "evidence", "value": named, "unsafe": level == SMOKE}
    queries = found.card.gold.queries
    yield {"name": "queries", "value": f"{queries:,}", "unsafe": queries < 100}
    holes = max(1 - share for system in found.card.systems for share in system.judged.values())
    yield {"name": "unjudged in the top, at most", "value": f"{holes:.0%}", "unsafe": holes > 0.1}
    if found.failures:
        yield {"name": "failed systems", "value": f"{len(found.failures):,}", "unsafe": True}


def _unbeaten(found: Experiment) -> list[str]:
    """Return the systems that may be the best, where every pair was tested on queries that are not simulated."""
    card = found.card
    return unbeaten(card) if card.comparisons and not found.baseline and card.gold.evidence_level != SMOKE else []


def _points(found: Experiment, names: Sequence[str], places: Sequence[object]) -> list[Points]:
    return [
        Points(
            system.system,
            places,
            [scores.mean for scores in shown],
            [scores.mean if scores.low is None else scores.low for scores in shown],
            [scores.mean if scores.high is None else scores.high for scores in shown],
        )
        for system in found.card.systems
        for shown in ([system.scores[name] for name in names],)
    ]


def _forest(found: Experiment) -> Markup:
    name = found.compared[0]
    return drawn(forest(_points(found, [name], []), x_title=name), "forest")


def _figures(found: Experiment) -> Iterator[tuple[str, Markup, Markup, list[tuple[str, ...]]]]:
    """Yield per measure its name, a curve over the cutoffs, bars, and its table."""
    tables = dict(by_cutoff(found))
    several = {title: measures for title, measures in families(found).items() if title in tables}
    for number, (title, measures) in enumerate(several.items()):
        cutoffs, names = [cutoff for cutoff, _ in measures], [name for _, name in measures]
        lines = drawn(curve(_points(found, names, cutoffs), y_title=f"{title}@k"), f"curve-{number}")
        grouped = _points(found, names, [f"@{cutoff}" for cutoff in cutoffs])
        yield title, lines, drawn(bars(grouped, x_title="k", y_title=title), f"bars-{number}"), tables[title]


def _others(found: Experiment) -> Markup | None:
    """Return bars of the measures that no curve shows."""
    names = alone(found)
    return drawn(bars(_points(found, names, names), x_title="", y_title=""), "others") if names else None


def _latency(timings: Timings, order: Sequence[str]) -> Markup:
    known = [name for name in order if name in timings.timings]
    series = [
        Points(label, known, [getattr(timings.timings[name].whole, field) for name in known])
        for label, field in (("p50", "p50_ms"), ("p95", "p95_ms"))
    ]
    return drawn(bars(series, x_title="", y_title="ms per query"), "latency")


def _price(found: Experiment, timings: Timings) -> Markup:
    """Return each system's first measure over its latency: what a better figure costs."""
    from pipeline.report.charts import scattered

    measure = found.compared[0]
    points = [
        Points(system.system, [timings.timings[system.system].whole.p95_ms], [system.scores[measure].mean])
        for system in found.card.systems
        if system.system in timings.timings
    ]
    return drawn(scattered(points, x_title="p95, ms per query", y_title=measure), "price")
