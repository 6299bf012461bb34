"""Reports as HTML pages that load nothing from the network: one frame, filled with sections of tables and charts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from goldbench.errors import require
from goldbench.measures.statistics.slices import Slicing
from goldbench.records.experiment import Experiment, Timings
from goldbench.records.scorecard import HistoryEntry, Scorecard
from goldbench.report import charts
from goldbench.report import experiment_text as experiment_tables
from goldbench.report.charts import chart_html, points_of
from goldbench.report.scorecard_text import SMOKE, best, leaderboard_rows, method_line, pair_rows, score_text
from goldbench.report.text_tables import Rows
from goldbench.text.display import queries

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSection:
    """A part of a page: lines of text, a table whose first ``words`` columns hold text, and charts."""

    title: str
    lines: Sequence[str] = ()
    rows: Rows = ()
    words: int = 1
    charts: Sequence[Markup] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a page shows beyond its scorecard.

    ``curves`` are the means over cutoffs by family of measures, ``slicings`` those of parts of the queries,
    ``special`` tables of queries of particular kinds, ``unanswerable`` lines on queries without an answer, ``command``
    opens the set with its queries and the results of runs.
    """

    curves: Mapping[str, Sequence[charts.Points]] = field(default_factory=dict)
    slicings: Sequence[Slicing] = ()
    notice: str | None = None
    special: Sequence[tuple[str, Rows]] = ()
    unanswerable: Sequence[str] = ()
    command: str | None = None


def check_installed() -> None:
    """Check that pages can be made.

    Raises:
        MissingExtra: A package that draws or fills them is not installed.
    """
    require("report", "jinja2", "markupsafe", "plotly")


def scorecard_page(card: Scorecard, details: Details) -> str:
    """Return the page of a scorecard; equal input gives equal text.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    curves = [
        chart_html(charts.by_cutoff(series, y_title=f"{family}@k"), f"curve-{number}")
        for number, (family, series) in enumerate(details.curves.items())
    ]
    sections = [
        _leaderboard(card, list(leaderboard_rows(card))),
        PageSection(title="By cutoff", charts=curves),
        *_pairs(card),
        *(_slicing(slicing, card.measures[0]) for slicing in details.slicings),
        *(PageSection(title=name, rows=rows, words=2) for name, rows in details.special),
        PageSection(title="Queries without an answer", lines=details.unanswerable),
        _method(card),
    ]
    top = best(card)
    doubts = _doubts(card, details.notice)
    lines = [f"Every query with the results of each system: {details.command}"] if details.command else []
    return _page(
        f"Scores on {card.gold.name}", sections, card=card, best=[top] if top else [], doubts=doubts, lines=lines
    )


def experiment_page(experiment: Experiment, timings: Timings, *, command: str | None = None) -> str:
    """Return the page of an experiment; equal input gives equal text.

    Args:
        experiment: The figures.
        timings: The times.
        command: What opens the set with its queries and the results of each system; None without a folder.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    card = experiment.card
    order = [system.system for system in card.systems]
    failures = [f"{failure.system}: {failure.problem}" for failure in experiment.failures]
    sections = [
        PageSection(title="Failed", lines=failures),
        _leaderboard(card, experiment_tables.leaderboard(experiment)),
        *_by_cutoff(experiment),
        *(
            PageSection(title=f"{family}@k beside published figures (in queries)", rows=rows)
            for family, rows in experiment_tables.beside_published(experiment)
        ),
        PageSection(
            title="Time", lines=[experiment_tables.timing_line(timings)], rows=experiment_tables.times(timings, order)
        ),
        *_pairs(card),
        _method(card, f"The first {experiment.depth} results of each query are kept."),
    ]
    doubts = _doubts(card, experiment.notice)
    if failures:
        doubts.append(f"Failed systems: {len(failures):,}, see below")
    return _page(
        f"Experiment on {card.gold.name}",
        sections,
        card=card,
        best=list(experiment_tables.verdict(experiment)),
        doubts=doubts,
        lines=[*experiment.notes, *_way_to_queries(command)],
    )


def history_page(entries: Sequence[HistoryEntry], *, base: str = ".") -> str:
    """Return a page with a chart for each measure, in which each system is a line, and a table of all entries.

    Args:
        entries: At least one, in any order; entries of the same time keep the order given.
        base: The folder of the history, as a path from the folder of the page.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    check_installed()
    ordered = sorted(entries, key=lambda entry: entry.at)
    measures = list(dict.fromkeys(measure for entry in ordered for measure in entry.means))
    sections = []
    for number, measure in enumerate(measures):
        figure = charts.lines(list(_history_series(ordered, measure)), x_title="", y_title=measure)
        sections.append(PageSection(title=measure, charts=[chart_html(figure, f"figure-{number}")]))
    rows: list[Sequence[str]] = [("time", "system", "label", *measures, "queries", "files", "judgments", "alerts")]
    for entry in reversed(ordered):
        means = (f"{entry.means[measure].mean:.4f}" if measure in entry.means else "" for measure in measures)
        judgments = f"{entry.gold.name} {entry.gold.sha256[:8]}"
        names = (entry.at, entry.system, entry.label or "")
        files = _files_of(entry, base)
        rows.append((*names, *means, f"{entry.counts.queries:,}", files, judgments, "; ".join(entry.alerts)))
    sections.append(PageSection(title="Entries", rows=rows, words=3))
    lines = [f"{len(ordered):,} entries; means with 95 % bootstrap intervals over queries"]
    return _page("History of scores", sections, lines=lines)


def _history_series(ordered: Sequence[HistoryEntry], measure: str) -> Iterator[charts.Points]:
    """Yield the line of each system that was measured."""
    for system in dict.fromkeys(entry.system for entry in ordered):
        known = [entry for entry in ordered if entry.system == system and measure in entry.means]
        if known:
            yield charts.series_of(system, [entry.at for entry in known], [entry.means[measure] for entry in known])


def _files_of(entry: HistoryEntry, base: str) -> Markup:
    """Return links to the page and to the run of an entry; no part of an address is a scheme or a host."""
    from markupsafe import Markup

    links = []
    for text, path in (("scores", entry.page), (entry.run or "", entry.run)):
        if path is not None:
            address = "./" + quote(posixpath.normpath(posixpath.join(base, path)).lstrip("/"))
            links.append(Markup('<a href="{}">{}</a>').format(address, text))
    return Markup(" ").join(links)


def _page(
    heading: str,
    sections: Sequence[PageSection],
    *,
    card: Scorecard | None = None,
    best: Sequence[str] = (),
    doubts: Sequence[str] = (),
    lines: Sequence[str] = (),
) -> str:
    """Return a page: the verdict and the best systems, doubts, further lines, and the sections with content.

    Values other than ``Markup`` are escaped, a missing one is an error.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("goldbench.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    page = environment.get_template("report.html.j2").render(
        title=heading,
        verdict=card.verdict if card else None,
        best=best,
        doubts=doubts,
        lines=lines,
        sections=[section for section in sections if section.lines or section.charts or len(section.rows) > 1],
        plotly=charts.library(),
    )
    return page.encode("utf-8", "replace").decode()  # a lone surrogate cannot be written to a file


def _doubts(card: Scorecard, notice: str | None) -> list[str]:
    """Return a line for each reason why the scores may be wrong or say little."""
    smoke = "The queries are simulated or written by a tiny model: nothing follows about these systems"
    doubts = [smoke] if card.gold.evidence_level == SMOKE else []
    missing = max(system.counts.missing for system in card.systems)
    if missing:
        doubts.append(f"Up to {queries(missing)} missing from a run")
    return [*doubts, *card.warnings, *([notice] if notice else [])]


def _way_to_queries(command: str | None) -> list[str]:
    return [f"Every query with the results of each system: {command}"] if command else []


def _leaderboard(card: Scorecard, rows: Rows) -> PageSection:
    measure = card.measures[0]
    chart = chart_html(charts.forest(points_of(card, [measure], []), x_title=measure), "forest")
    return PageSection(title="Leaderboard", rows=rows, charts=[chart])


def _pairs(card: Scorecard) -> Iterator[PageSection]:
    """Yield the comparisons."""
    if card.comparisons:
        yield PageSection(title="Pair by pair", rows=pair_rows(card.comparisons), words=3)


def _slicing(slicing: Slicing, measure: str) -> PageSection:
    systems = list(slicing.parts[0].scores) if slicing.parts else []
    rows = [(slicing.trait, "queries", *systems)]
    rows += [
        (part.name, f"{part.queries:,}", *(score_text(part.scores[system]) for system in systems))
        for part in slicing.parts
    ]
    return PageSection(title=f"{measure} by {slicing.trait}", rows=rows)


def _method(card: Scorecard, *lines: str) -> PageSection:
    fixed = (
        f"Scores are compared as {card.method.scores}; ties are broken by document id, descending; unjudged documents "
        "count as not relevant. A query is tied if the two scores differ by less than 0.01. The tests ask whether two "
        "systems differ on queries like these; they say nothing about other collections."
    )
    version = f"goldbench {card.goldbench}, judgments {card.gold.name}, sha256 {card.gold.sha256}"
    return PageSection(title="Method", lines=[method_line(card), fixed, *lines, version])


def _by_cutoff(experiment: Experiment) -> Iterator[PageSection]:
    """Yield for each measure a table and a curve over the cutoffs."""
    tables = dict(experiment_tables.by_cutoff(experiment))
    for number, (name, measures) in enumerate(experiment_tables.families(experiment).items()):
        if name in tables:
            points = points_of(
                experiment.card, [measure_name for _, measure_name in measures], [cutoff for cutoff, _ in measures]
            )
            curve = chart_html(charts.by_cutoff(points, y_title=f"{name}@k"), f"curve-{number}")
            yield PageSection(title=f"{name}@k", rows=tables[name], charts=[curve])
