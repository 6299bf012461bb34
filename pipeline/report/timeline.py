"""A history as a page: a figure per measure, every system a line."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.report.charts import Points, drawn, lines
from pipeline.report.standalone_page import rendered
from schemas.scorecard import HistoryEntry


def page(entries: Sequence[HistoryEntry]) -> str:
    """Return the page of at least one entry.

    Args:
        entries: in any order of time; those of one moment stay in the order given.
    """
    ordered = sorted(entries, key=lambda entry: entry.at)
    measures = list(dict.fromkeys(measure for entry in ordered for measure in entry.means))
    systems = list(dict.fromkeys(entry.system for entry in ordered))
    sections = []
    for number, measure in enumerate(measures):
        series = [_points(system, measure, ordered) for system in systems]
        figure = lines([points for points in series if points.values], x_title="", y_title=measure)
        sections.append({"measure": measure, "figure": drawn(figure, f"figure-{number}")})
    return rendered("history.html.j2", title="History of scores", sections=sections, entries=ordered, measures=measures)


def _points(system: str, measure: str, entries: Sequence[HistoryEntry]) -> Points:
    chosen = [entry for entry in entries if entry.system == system and measure in entry.means]
    scores = [entry.means[measure] for entry in chosen]
    return Points(
        name=system,
        places=[entry.at for entry in chosen],
        values=[score.mean for score in scores],
        low=[score.mean if score.low is None else score.low for score in scores],
        high=[score.mean if score.high is None else score.high for score in scores],
    )
