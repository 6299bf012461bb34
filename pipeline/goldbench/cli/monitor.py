"""``goldbench monitor``: a run's scores over time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import DefaultGroup, input_option, measure_option, output_option, subcommands
from goldbench.cli.output import screen
from goldbench.cli.run_options import (
    GoldPath,
    MatchOption,
    MeasureOption,
    MissingOption,
    RunOption,
    ScoresOption,
    chosen,
    note_old_runs,
    warn,
)
from goldbench.errors import NEGATIVE, UsageError, explained

if TYPE_CHECKING:
    from goldbench.measures.result import Result
    from goldbench.records.scorecard import HistoryEntry

app = subcommands(
    "Keep a history of scores.\n\n`goldbench monitor GOLD --run FILE` is short for record.", cls=DefaultGroup
)


@app.command()
def record(
    gold: GoldPath,
    run: RunOption,
    history: Annotated[Path, output_option(metavar="FILE", help="History file, one line per score.")],
    measure: MeasureOption = None,
    baseline: Annotated[Path | None, input_option(metavar="FILE", help="Baseline written by goldbench gate.")] = None,
    alert_below: Annotated[
        list[str] | None, measure_option(metavar="M=X", help="Exit 1 if a mean is lower, as recall@10=0.75.")
    ] = None,
    label: Annotated[str | None, input_option(metavar="TEXT", help="What was scored, as a commit.")] = None,
    html: Annotated[
        Path | None, output_option("--html", metavar="FILE", help="Also write a page, which the history opens.")
    ] = None,
    at: Annotated[str | None, input_option(metavar="TIME", help="Time in ISO 8601 (default: now).")] = None,
    missing: MissingOption = "zero",
    scores: ScoresOption = "float64",
    match: MatchOption = "id",
) -> None:
    """Score runs and add them to the history.

    Compares with the last entry; exits 1 on an alert.
    """
    from goldbench.formats.runs.history import append_history, read_history
    from goldbench.formats.runs.scorecard_files import read_record, write_whole
    from goldbench.goldset.gold_path import check_apart
    from goldbench.measures.names import parse_measure
    from goldbench.records.scorecard import Baseline, Method
    from goldbench.report.named_queries import worst_line
    from goldbench.score.demands import lowest_means
    from goldbench.score.runs import load_gold, named_runs
    from goldbench.score.scorecards import entry_of
    from goldbench.score.set_makers import makers_of
    from goldbench.score.several_runs import DECIDING, score_all

    when, label = _moment(at), _one_line(label)
    known = read_history(history)
    fixed = read_record(baseline, Baseline).means() if baseline else None
    runs = named_runs(run)
    check_apart({"--html": html, "--history": history}, [gold, *(one.path for one in runs.values())])
    loaded = load_gold(gold)
    lowest = lowest_means(alert_below or [], None, loaded.level, option="alert_below")
    asked = {one.name: one for one in chosen(measure or list(DECIDING), None, loaded)}
    asked |= {name: parse_measure(name) for name in lowest}
    results = score_all(loaded, runs, list(asked.values()), missing=missing, scores=scores, match=match)
    entries = [
        entry_of(
            loaded, name, result, list(asked), at=when, label=label, alerts=_alerts(name, result, lowest)
        ).model_copy(update={"run": _from(history, runs[name].path), "page": _from(history, html) if html else None})
        for name, result in results.items()
    ]
    if html is not None:
        from goldbench.score.page_data import scored_page

        method = Method(missing=missing, scores=scores)
        with explained(html):
            html.parent.mkdir(parents=True, exist_ok=True)
        write_whole(html, scored_page(loaded, runs, list(asked.values()), match=match, method=method)[0].encode())
    append_history(history, entries)
    note_old_runs(loaded, runs, match)
    warn(loaded)
    screen.add(entries=[entry.model_dump(mode="json") for entry in entries])
    place = makers_of(loaded).place
    for entry in entries:
        _show(entry, [one for one in known if one.system == entry.system], fixed)
        screen.show(*worst_line({entry.system: results[entry.system]}, next(iter(asked)), place))
    if any(entry.alerts for entry in entries):
        raise typer.Exit(NEGATIVE)


@app.command()
def plot(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="History written by goldbench monitor.")],
    target: Annotated[Path, output_option("--out", metavar="FILE", help="Output file (default: history.html).")] = Path(
        "history.html"
    ),
) -> None:
    """Draw the history as an HTML page."""
    from goldbench.errors import InputError
    from goldbench.formats.runs.history import read_history
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.goldset.gold_path import check_apart
    from goldbench.report.pages import history_page
    from goldbench.text.display import amount

    check_apart({"--out": target}, [history])
    entries = read_history(history)
    if not entries:
        raise InputError(history, "is missing or empty; fill it with goldbench monitor GOLD --run FILE --history FILE")
    write_whole(target, history_page(entries, base=_from(target, history.parent) or ".").encode())
    screen.show(f"{amount(len(entries), 'entry', 'entries')} drawn in {target}")
    screen.add(entries=len(entries), written=str(target))


def _from(file: Path, other: Path | str) -> str | None:
    """Return the path of a file from the folder of another one, with slashes; None for standard input."""
    if str(other) == "-":
        return None
    try:
        return Path(os.path.relpath(other, file.parent)).as_posix()
    except ValueError:  # on another drive of Windows
        return Path(other).resolve().as_posix()


def _moment(at: str | None) -> str:
    """Return a time as ISO 8601 in UTC, to the second."""
    if at is None:
        return datetime.now(UTC).isoformat(timespec="seconds")
    try:
        given = datetime.fromisoformat(at)
        return (given if given.tzinfo else given.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise UsageError(f"--at: not a valid time: {at!r}; give one as 2026-01-31T12:00:00+00:00") from None


def _one_line(label: str | None) -> str | None:
    if label is not None and not (label.isprintable() and len(label) <= 200):
        raise UsageError("--label: give one line of at most 200 printable characters")
    return label


def _alerts(system: str, result: Result, lowest: Mapping[str, float]) -> list[str]:
    means = {measure: result.mean(measure) for measure in lowest}
    return [
        f"{system}: {measure} {means[measure]:.4f} is below {bound:.4f}"
        for measure, bound in lowest.items()
        if means[measure] < bound - 1e-9
    ]


def _show(entry: HistoryEntry, earlier: Sequence[HistoryEntry], baseline: Mapping[str, float] | None) -> None:
    """Print an entry beside its system's last entry and the baseline (by default the system's first entry)."""
    from goldbench.report.score_history import change_rows, notes

    if baseline is None:
        baseline = {name: score.mean for name, score in earlier[0].means.items()} if earlier else {}
    screen.show(*(f"ALERT  {line}" for line in entry.alerts), style="red")
    screen.table(change_rows(entry, earlier[-1] if earlier else None, baseline))
    screen.show(*(f"Note: {line}." for line in notes(entry, earlier)))
