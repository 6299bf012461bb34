"""Figures: the one door to plotly. Every text that goes in is escaped, because plotly reads a kind of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, told apart by colour-blind people, without yellow and black."""

DASHES = ("solid", "dash", "dot", "dashdot")
PATTERNS = ("", "/", "x", ".")
NEUTRAL = "#7a838c"


@dataclass(frozen=True, slots=True)
class Points:
    """What is drawn of one system: places, values, and where there are intervals their ends."""

    name: str
    places: Sequence[Any]
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def library() -> Markup:
    """Return plotly's own script, to stand once in a page."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())  # noqa: S704  the library's own text; a test looks for what would end the script


def drawn(figure: Figure, name: str) -> Markup:
    """Return a figure as HTML for a page that holds the library.

    Args:
        figure: what is drawn.
        name: the id of its element, unlike that of any other.
    """
    html = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        default_height=f"{figure.layout.height or 360}px",
        config={"displaylogo": False, "responsive": True, "displayModeBar": False},
    )
    return Markup(html)  # noqa: S704  plotly writes every < in its data as an escape, and texts are escaped here


def lines(series: Sequence[Points], *, x_title: str, y_title: str, height: int = 340) -> Figure:
    """Return a line for each system, its interval as a band."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for number, points in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        if points.low is not None and points.high is not None:
            figure.add_trace(
                Scatter(
                    x=[*points.places, *reversed(points.places)],
                    y=[*points.high, *reversed(points.low)],
                    fill="toself",
                    fillcolor=_faint(colour),
                    line={"width": 0},
                    hoverinfo="skip",
                    showlegend=False,
                    mode="lines",
                )
            )
        figure.add_trace(
            Scatter(
                x=list(points.places),
                y=list(points.values),
                name=escape(points.name),
                mode="lines+markers",
                line={"color": colour, "dash": DASHES[number // len(COLOURS) % len(DASHES)]},
                marker={"size": 5},
                hovertemplate="%{x}: %{y:.4f}<extra>%{fullData.name}</extra>",
            )
        )
    return _plain(figure, x_title=x_title, y_title=y_title, height=height)


def by_cutoff(series: Sequence[Points], *, y_title: str) -> Figure:
    """Return a line for each system over the cutoffs, which stand at even distances from factor to factor."""
    figure = lines(series, x_title="k", y_title=y_title, height=300)
    cutoffs = list(series[0].places) if series else []
    figure.update_xaxes(type="log", tickvals=cutoffs, ticktext=[str(cutoff) for cutoff in cutoffs])
    figure.update_yaxes(rangemode="tozero")
    return figure


def forest(series: Sequence[Points], *, x_title: str) -> Figure:
    """Return a point with its interval for each name, the first at the top."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for number, points in enumerate(series):
        value, low, high = points.values[0], (points.low or points.values)[0], (points.high or points.values)[0]
        figure.add_trace(
            Scatter(
                x=[value],
                y=[escape(points.name)],
                mode="markers",
                marker={"size": 10, "color": COLOURS[number % len(COLOURS)]},
                error_x={"type": "data", "symmetric": False, "array": [high - value], "arrayminus": [value - low]},
                hovertemplate=f"%{{x:.4f}} [{low:.4f}, {high:.4f}]<extra>%{{y}}</extra>",
                showlegend=False,
            )
        )
    figure.update_yaxes(autorange="reversed", type="category")
    return _plain(figure, x_title=x_title, y_title="", height=90 + 34 * len(series))


def bars(series: Sequence[Points], *, x_title: str, y_title: str) -> Figure:
    """Return bars side by side, a colour for each name, with their intervals where there are any."""
    from plotly.graph_objects import Bar, Figure

    figure = Figure()
    for number, points in enumerate(series):
        ends = {}
        if points.low is not None and points.high is not None:
            ends["error_y"] = {
                "type": "data",
                "symmetric": False,
                "array": [high - value for high, value in zip(points.high, points.values, strict=True)],
                "arrayminus": [value - low for low, value in zip(points.low, points.values, strict=True)],
                "thickness": 1,
                "width": 2,
            }
        figure.add_trace(
            Bar(
                x=[escape(str(place)) for place in points.places],
                y=list(points.values),
                name=escape(points.name),
                marker={
                    "color": COLOURS[number % len(COLOURS)],
                    "pattern": {"shape": PATTERNS[number // len(COLOURS) % len(PATTERNS)]},
                },
                hovertemplate="%{x}: %{y:.4f}<extra>%{fullData.name}</extra>",
                **ends,
            )
        )
    figure.update_layout(barmode="group")
    figure.update_xaxes(type="category")
    return _plain(figure, x_title=x_title, y_title=y_title, height=300)


def scattered(series: Sequence[Points], *, x_title: str, y_title: str) -> Figure:
    """Return a mark for each name at its place and value; places from factor to factor at even distances."""
    from plotly.graph_objects import Figure, Scatter

    figure = Figure()
    for number, points in enumerate(series):
        figure.add_trace(
            Scatter(
                x=list(points.places),
                y=list(points.values),
                name=escape(points.name),
                mode="markers",
                marker={"size": 11, "color": COLOURS[number % len(COLOURS)]},
                hovertemplate="%{x:.2f}: %{y:.4f}<extra>%{fullData.name}</extra>",
            )
        )
    figure.update_xaxes(type="log")
    return _plain(figure, x_title=x_title, y_title=y_title, height=300)


def _plain(figure: Figure, *, x_title: str, y_title: str, height: int) -> Figure:
    """Return the figure without a background, legible on light and dark paper."""
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
    figure.update_yaxes(title_text=escape(y_title), **grid)
    return figure


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
