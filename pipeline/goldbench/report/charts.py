"""Charts of scores. Texts in charts are escaped, because plotly renders HTML in them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from goldbench.records.scorecard import Score, Scorecard

if TYPE_CHECKING:
    from markupsafe import Markup
    from plotly.graph_objects import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The palette of Okabe and Ito, which colour-blind people can tell apart, without yellow and black."""

DASHES = ("solid", "dash", "dot", "dashdot")
NEUTRAL = "#7a838c"


@dataclass(frozen=True, slots=True)
class Points:
    """One series of a chart: a name, positions, values, and the ends of the intervals if there are any."""

    name: str
    positions: Sequence[Any]
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def points_of(card: Scorecard, measures: Sequence[str], positions: Sequence[Any]) -> list[Points]:
    """Return a series for each system of a card: the means of measures, with their intervals.

    Args:
        card: The scorecard.
        measures: Names of measures, one for each position.
        positions: Where each mean stands on the other axis; not used by ``forest``.
    """
    return [series_of(system.system, positions, [system.scores[name] for name in measures]) for system in card.systems]


def series_of(name: str, positions: Sequence[Any], scores: Sequence[Score]) -> Points:
    """Return a series of means; a score without an interval gets an interval of width 0."""
    low = [score.mean if score.low is None else score.low for score in scores]
    high = [score.mean if score.high is None else score.high for score in scores]
    return Points(name, positions, [score.mean for score in scores], low, high)


def chart_html(figure: Figure, name: str) -> Markup:
    """Return a chart as HTML, which the page's script draws; ``name`` becomes its id, unique on the page."""
    from markupsafe import Markup

    element = Markup('<div id="{}" class="plotly-graph-div" style="height:{}px"></div>')
    data = Markup('<script type="application/json" class="chart" data-for="{}">{}</script>')
    json = Markup(figure.to_json())  # noqa: S704  plotly writes every < in its data as an escape
    return element.format(name, figure.layout.height or 360) + data.format(name, json)


def lines(series: Sequence[Points], *, x_title: str, y_title: str, height: int = 340) -> Figure:
    """Return a line for each series, its intervals as a band.

    Args:
        series: One for each line.
        x_title: Title of the horizontal axis.
        y_title: Title of the vertical axis.
        height: Height in pixels.
    """
    from plotly.graph_objects import Scatter

    traces = []
    for number, points in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        if points.low is not None and points.high is not None:
            band = Scatter(
                x=[*points.positions, *reversed(points.positions)],
                y=[*points.high, *reversed(points.low)],
                fill="toself",
                fillcolor=_faint(colour),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
                mode="lines",
            )
            traces.append(band)
        line = Scatter(
            x=list(points.positions),
            y=list(points.values),
            name=label(points.name),
            mode="lines+markers",
            line={"color": colour, "dash": DASHES[number // len(COLOURS) % len(DASHES)]},
            marker={"size": 5},
            hovertemplate="%{x}: %{y:.4f}<extra>%{fullData.name}</extra>",
        )
        traces.append(line)
    return _plain(traces, x_title=x_title, y_title=y_title, height=height)


def by_cutoff(series: Sequence[Points], *, y_title: str) -> Figure:
    """Return a line for each series over the cutoffs, on a logarithmic axis."""
    figure = lines(series, x_title="k", y_title=y_title, height=300)
    cutoffs = list(series[0].positions) if series else []
    figure.update_xaxes(type="log", tickvals=cutoffs, ticktext=[str(cutoff) for cutoff in cutoffs])
    figure.update_yaxes(rangemode="tozero")
    return figure


def forest(series: Sequence[Points], *, x_title: str) -> Figure:
    """Return a point with its interval for each series, the first at the top."""
    from plotly.graph_objects import Scatter

    traces = []
    for number, points in enumerate(series):
        value = points.values[0]
        low = (points.low or points.values)[0]
        high = (points.high or points.values)[0]
        point = Scatter(
            x=[value],
            y=[label(points.name)],
            mode="markers",
            marker={"size": 10, "color": COLOURS[number % len(COLOURS)]},
            error_x={"type": "data", "symmetric": False, "array": [high - value], "arrayminus": [value - low]},
            hovertemplate=f"%{{x:.4f}} [{low:.4f}, {high:.4f}]<extra>%{{y}}</extra>",
            showlegend=False,
        )
        traces.append(point)
    figure = _plain(traces, x_title=x_title, y_title="", height=90 + 34 * len(series))
    return figure.update_yaxes(autorange="reversed", type="category")


@cache
def library() -> str:
    """Return plotly's script, which a page holds once, as base64 of a zlib stream: 2 MB in place of 4.8 MB."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(zlib.compress(get_plotlyjs().encode(), 9)).decode()


def label(text: str) -> str:
    """Return a text as plotly shows it: no HTML, and in the direction of its own letters whatever stands around it."""
    return f"\N{FIRST STRONG ISOLATE}{escape(text)}\N{POP DIRECTIONAL ISOLATE}"


def _plain(traces: Sequence[Any], *, x_title: str, y_title: str, height: int) -> Figure:
    """Return a chart without a background, legible on light and dark pages."""
    from plotly.graph_objects import Figure

    figure = Figure(list(traces))
    figure.update_layout(
        template="none",
        height=height,
        margin={"l": 60, "r": 20, "t": 16, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "color": NEUTRAL},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hovermode="closest",
    )
    grid = {"gridcolor": "rgba(128,128,128,0.25)", "zerolinecolor": "rgba(128,128,128,0.6)", "automargin": True}
    figure.update_xaxes(title_text=escape(x_title), **grid)
    figure.update_yaxes(title={"text": escape(y_title), "standoff": 12}, **grid)
    return figure


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
