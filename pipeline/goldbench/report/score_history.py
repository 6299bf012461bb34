"""A history of scores: a run beside earlier ones as a table, and the whole history as a page."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from goldbench.records.scorecard import GoldReference, HistoryEntry, Score
from goldbench.text.display import queries

if TYPE_CHECKING:
    from goldbench.report.charts import Points


def change_rows(now: HistoryEntry, last: HistoryEntry | None, baseline: Mapping[str, float]) -> list[tuple[str, ...]]:
    """Return the headings, then a row for each measure: its mean now with the interval, and its changes.

    Args:
        now: The entry to show.
        last: The system's previous entry, or None for the first one.
        baseline: The means to compare with, by measure.
    """
    rows: list[tuple[str, ...]] = [(now.system, "now", "interval", "since last", "from baseline")]
    for measure, score in now.means.items():
        before = last.means.get(measure) if last else None
        interval = "" if score.low is None else f"[{score.low:.4f}, {score.high:.4f}]"
        changes = _change(score, before.mean if before else None), _change(score, baseline.get(measure))
        rows.append((measure, f"{score.mean:.4f}", interval, *changes))
    return rows


def notes(now: HistoryEntry, earlier: Sequence[HistoryEntry]) -> Iterator[str]:
    """Yield a line for each reason, other than the system itself, why a score may have changed."""
    last = earlier[-1].gold if earlier else now.gold
    if last.content_sha256 != now.gold.content_sha256:
        yield f"the set differs from that of the last entry: {_content(now.gold)} instead of {_content(last)}"
    if earlier and earlier[-1].gold.sha256 != now.gold.sha256:
        yield "the judgments differ from those of the last entry; they may be the reason for a change"
    elif earlier and earlier[0].gold.sha256 != now.gold.sha256:
        yield "the judgments differ from those of the first entry; they may be the reason for a change since then"
    if now.counts.missing:
        yield f"{queries(now.counts.missing)} judged but missing from the run"


def _content(gold: GoldReference) -> str:
    return f"content digest {gold.content_sha256[:12]}" if gold.content_sha256 else "judgments that belong to no set"


def _change(score: Score, before: float | None) -> str:
    return "-" if before is None else f"{score.mean - before:+.4f}"


def page(entries: Sequence[HistoryEntry], *, base: str = ".") -> str:
    """Return a page with a chart for each measure, in which each system is a line whose points open their runs.

    A point leads to the page of its run if one was written, else to its line in the table.

    Args:
        entries: At least one, in any order; entries of the same time keep the order given.
        base: The folder of the history, as a path from the folder of the page.

    Raises:
        MissingExtra: A package that draws or fills pages is not installed.
    """
    from goldbench.report.charts import check_installed, drawn, lines, rendered

    check_installed()
    ordered = sorted(entries, key=lambda entry: entry.at)
    measures = list(dict.fromkeys(measure for entry in ordered for measure in entry.means))
    sections = []
    for number, measure in enumerate(measures):
        figure = lines(list(_series(ordered, measure, base)), x_title="", y_title=measure)
        sections.append({"measure": measure, "figure": drawn(figure, f"figure-{number}")})
    return rendered(
        "history.html.j2",
        title="History of scores",
        sections=sections,
        rows=[
            (number, entry, _opened(base, entry.page), _opened(base, entry.run)) for number, entry in enumerate(ordered)
        ],
        measures=measures,
    )


def _series(ordered: Sequence[HistoryEntry], measure: str, base: str) -> Iterator[Points]:
    """Yield the line of each system that was measured."""
    from goldbench.report.charts import series_of

    for system in dict.fromkeys(entry.system for entry in ordered):
        known = [
            (number, entry) for number, entry in enumerate(ordered) if entry.system == system and measure in entry.means
        ]
        links = [
            f"page:{page}" if (page := _opened(base, entry.page)) else f"entry-{number}" for number, entry in known
        ]
        if known:
            yield series_of(
                system, [entry.at for _, entry in known], [entry.means[measure] for _, entry in known], links
            )


def _opened(base: str, path: str | None) -> str | None:
    """Return the address of a file beside the history, relative to the page; no part of it is a scheme or a host."""
    return None if path is None else "./" + quote(posixpath.normpath(posixpath.join(base, path)).lstrip("/"))
