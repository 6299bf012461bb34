"""Charts, and the standalone page that holds them. Texts in charts are escaped, because plotly renders HTML in them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from goldbench.errors import require
from goldbench.measures.statistics.pareto_front import pareto_front

if TYPE_CHECKING:
    from markupsafe import Markup
    from plotly.graph_objects import Figure

    from goldbench.records.scorecard import Score, Scorecard

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""The palette of Okabe and Ito, which colour-blind people can tell apart, without yellow and black."""

DASHES = ("solid", "dash", "dot", "dashdot")
PATTERNS = ("", "/", "x", ".")
NEUTRAL = "#7a838c"
_MOST_ABOVE = 4
"""Series that are named above a chart; more are named below it, one on a line."""


@dataclass(frozen=True, slots=True)
class Points:
    """One series of a chart: a name, places, values, and the ends of the intervals if there are any.

    ``links`` are the parts of the page's address behind ``#`` that the points lead to, None if they lead nowhere.
    """

    name: str
    places: Sequence[Any]
    values: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    links: Sequence[str] | None = None


def check_installed() -> None:
    """Check that pages can be made.

    Raises:
        MissingExtra: A package that draws or fills them is not installed.
    """
    require("report", "jinja2", "markupsafe", "nh3", "plotly", "pyromark")


def points_of(card: Scorecard, measures: Sequence[str], places: Sequence[Any]) -> list[Points]:
    """Return a series for each system of a card: the means of measures, with their intervals and links to queries.

    Args:
        card: The scorecard.
        measures: Names of measures, one for each place.
        places: Where each mean stands on the other axis; not used by ``forest``.
    """
    return [
        series_of(
            one.system,
            places,
            [one.scores[name] for name in measures],
            [address(measure=name, first=row, sort="first") for name in measures],
        )
        for row, one in enumerate(card.systems)
    ]


def address(**state: str | int) -> str:
    """Return the link to the queries in a state of the page's list of queries."""
    return urlencode(state)


def series_of(name: str, places: Sequence[Any], scores: Sequence[Score], links: Sequence[str] | None = None) -> Points:
    """Return a series of means; a score without an interval gets an interval of width 0.

    Args:
        name: The name of the series.
        places: As in `points_of`.
        scores: The score at each place.
        links: As in `Points`.
    """
    low = [score.mean if score.low is None else score.low for score in scores]
    high = [score.mean if score.high is None else score.high for score in scores]
    return Points(name, places, [score.mean for score in scores], low, high, links)


def rendered(template: str, /, **values: Any) -> str:  # noqa: ANN401  each template has its own values
    """Return a page that holds the library; values other than ``Markup`` are escaped, a missing one is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("goldbench.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template(template).render(plotly=library(), **values)
    return page.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written to a file


@cache
def library() -> str:
    """Return plotly's script, which a page holds once, as base64 of a zlib stream: 2 MB in place of 4.8 MB."""
    from plotly.offline import get_plotlyjs

    return base64.b64encode(zlib.compress(get_plotlyjs().encode(), 9)).decode()


def drawn(figure: Figure, name: str) -> Markup:
    """Return a chart as HTML, which the page's script draws; ``name`` becomes its id, unique on the page."""
    from markupsafe import Markup

    height = f"{figure.layout.height or 360}px"
    place = Markup('<div id="{}" class="plotly-graph-div" style="height:{}"></div>').format(name, height)
    data = Markup(figure.to_json())  # noqa: S704  plotly writes every < in its data as an escape
    return (
        place
        + Markup('<script type="application/json" class="chart" data-for="{}">').format(name)
        + data
        + Markup("</script>")
    )


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
                x=[*points.places, *reversed(points.places)],
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
            x=list(points.places),
            y=list(points.values),
            name=label(points.name),
            customdata=points.links,
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
    cutoffs = list(series[0].places) if series else []
    figure.update_xaxes(type="log", tickvals=cutoffs, ticktext=[str(cutoff) for cutoff in cutoffs])
    figure.update_yaxes(rangemode="tozero")
    return figure


def forest(series: Sequence[Points], *, x_title: str) -> Figure:
    """Return a point with its interval for each series, the first at the top."""
    from plotly.graph_objects import Scatter

    traces = []
    for number, points in enumerate(series):
        low, high = (points.low or points.values)[0], (points.high or points.values)[0]
        point = Scatter(
            x=points.values[:1],
            y=[label(points.name)],
            customdata=points.links,
            mode="markers",
            marker={"size": 10, "color": COLOURS[number % len(COLOURS)]},
            error_x=_ends(points),
            hovertemplate=f"%{{x:.4f}} [{low:.4f}, {high:.4f}]<extra>%{{y}}</extra>",
            showlegend=False,
        )
        traces.append(point)
    figure = _plain(traces, x_title=x_title, y_title="", height=90 + 34 * len(series))
    return figure.update_yaxes(autorange="reversed", type="category")


def bars(series: Sequence[Points], *, x_title: str, y_title: str) -> Figure:
    """Return bars side by side, a colour for each series, with their intervals if there are any.

    Args:
        series: As in `lines`.
        x_title: As in `lines`.
        y_title: As in `lines`.
    """
    from plotly.graph_objects import Bar

    traces = []
    for number, points in enumerate(series):
        shape = PATTERNS[number // len(COLOURS) % len(PATTERNS)]
        bar = Bar(
            x=[label(str(place)) for place in points.places],
            y=list(points.values),
            name=label(points.name),
            customdata=points.links,
            marker={"color": COLOURS[number % len(COLOURS)], "pattern": {"shape": shape}},
            hovertemplate="%{x}: %{y:.4f}<extra>%{fullData.name}</extra>",
            error_y=_ends(points) and {**_ends(points), "thickness": 1, "width": 2},
        )
        traces.append(bar)
    figure = _plain(traces, x_title=x_title, y_title=y_title, height=300)
    return figure.update_layout(barmode="group").update_xaxes(type="category")


def priced(series: Sequence[Points], *, x_title: str, y_title: str) -> Figure:
    """Return a mark for each series at its price and quality, and the Pareto front as a line through those on it.

    The prices are on a logarithmic axis if all of them are above 0.

    Args:
        series: One point each.
        x_title: As in `lines`.
        y_title: As in `lines`.
    """
    from plotly.graph_objects import Scatter

    prices, qualities = [one.places[0] for one in series], [one.values[0] for one in series]
    front = pareto_front(prices, qualities)
    line = Scatter(
        x=[prices[at] for at in front],
        y=[qualities[at] for at in front],
        mode="lines",
        line={"color": NEUTRAL, "dash": "dot", "shape": "hv"},
        hoverinfo="skip",
    )
    marks = [
        Scatter(
            x=list(points.places),
            y=list(points.values),
            name=label(points.name),
            customdata=points.links,
            mode="markers+text" if place in front else "markers",
            text=[label(points.name)],
            textposition="middle right",
            cliponaxis=False,
            marker={"size": 11, "color": COLOURS[place % len(COLOURS)]},
            hovertemplate="%{x:.4g}: %{y:.4f}<extra>%{fullData.name}</extra>",
        )
        for place, points in enumerate(series)
    ]
    figure = _plain([line, *marks], x_title=x_title, y_title=y_title, height=320)
    figure.update_layout(showlegend=False, height=320, margin_b=50)
    if all(price > 0 for price in prices):
        ticks = _round_prices(min(prices), max(prices))
        figure.update_xaxes(type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks])
    return figure


def _round_prices(low: float, high: float) -> list[float]:
    """Return the numbers 1, 2 and 5, times powers of ten, from below a price to above another, at most about 10."""
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 3 else (1,)
    return [digit * 10.0**power for power in powers for digit in steps if low / 5 < digit * 10.0**power < high * 5]


def label(text: str) -> str:
    """Return a text as plotly shows it: no HTML, and in the direction of its own letters whatever stands around it."""
    return f"\N{FIRST STRONG ISOLATE}{escape(text)}\N{POP DIRECTIONAL ISOLATE}"


def _ends(points: Points) -> dict[str, Any]:
    """Return the intervals of a series as plotly's error bars; nothing if it has none."""
    if points.low is None or points.high is None:
        return {}
    above = [high - value for high, value in zip(points.high, points.values, strict=True)]
    below = [value - low for low, value in zip(points.low, points.values, strict=True)]
    return {"type": "data", "symmetric": False, "array": above, "arrayminus": below}


def _plain(traces: Sequence[Any], *, x_title: str, y_title: str, height: int) -> Figure:
    """Return a chart without a background, legible on light and dark pages."""
    from plotly.graph_objects import Figure

    figure = Figure(list(traces))
    named = sum(trace.showlegend is not False and trace.name is not None for trace in traces)
    below = named > _MOST_ABOVE
    figure.update_layout(
        template="none",
        height=height + 20 * named if below else height,
        margin={"l": 60, "r": 20, "t": 16, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "color": NEUTRAL},
        legend={"x": 0, "y": 0, "yref": "container", "yanchor": "bottom"}
        if below
        else {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hovermode="closest",
    )
    if below:
        figure.update_layout(margin_b=60 + 20 * named)
    grid = {"gridcolor": "rgba(128,128,128,0.25)", "zerolinecolor": "rgba(128,128,128,0.6)", "automargin": True}
    figure.update_xaxes(title_text=escape(x_title), **grid)
    figure.update_yaxes(title={"text": escape(y_title), "standoff": 12}, **grid)
    return figure


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[start : start + 2], 16) for start in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
