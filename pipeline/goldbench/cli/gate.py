"""``goldbench gate`` and ``monitor``: stop a regression, for CI; keep a history of scores."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.runs import chosen, note_old_runs, warn
from goldbench.errors import NEGATIVE, InputError, UsageError, explained
from goldbench.formats.runs.scorecard_files import read_record, write_record, write_whole
from goldbench.goldset.gold_path import check_apart, notice_of
from goldbench.measures.names import Measure, parse_measure
from goldbench.report.named_queries import NAMED, line_of, worst_line, worst_of
from goldbench.score.runs import DECIDING, Gold, load_gold, named_runs, score_all
from goldbench.text.display import amount, brief, queries

if TYPE_CHECKING:
    from goldbench.measures.result import Result
    from goldbench.measures.statistics.regression import GateCheck
    from goldbench.records.scorecard import Baseline, HistoryEntry
    from goldbench.score.demands import Demands

monitor = options.subcommands(
    "Keep a history of scores.\n\n`goldbench monitor GOLD --run FILE` is short for record.\n\n"
    "Example: goldbench monitor runs/mine --run a.trec --history history.jsonl",
    cls=options.DefaultGroup,
)


def gate(
    gold: options.GoldPath,
    run: Annotated[str, options.Input(metavar="FILE", help="Run to check, as FILE or NAME=FILE.")],
    baseline: Annotated[Path | None, options.Input(help="Scores of an earlier run.")] = None,
    init: Annotated[bool, options.Output("--init", help="Write the baseline from this run.")] = False,
    update: Annotated[bool, options.Output("--update", help="Replace the baseline if every check passes.")] = False,
    common_queries: Annotated[
        bool, options.Input("--common-queries", help="Compare the queries that are the same.")
    ] = False,
    max_drop: Annotated[
        list[str] | None, options.Measures(metavar="[M=]D", help="Allowed fall: 5%, 0.02, ndcg@10=2% (default: 5%).")
    ] = None,
    minimum: Annotated[
        list[str] | None, options.Measures("--min", metavar="M=X", help="Lowest mean, as recall@10=0.8.")
    ] = None,
    target: Annotated[
        Literal["precise-qa", "general", "exploratory"] | None, options.Measures(help="Lowest means for a purpose.")
    ] = None,
    significant_only: Annotated[
        bool, options.Statistics("--significant-only", help="Allow a fall that chance can explain.")
    ] = False,
    measure: options.MeasureOption = None,
    missing: options.MissingOption = "zero",
    scores: options.ScoresOption = "float64",
    match: options.MatchOption = "id",
    junit: Annotated[Path | None, options.Output(help="Write JUnit XML.")] = None,
    github: Annotated[bool, options.Output("--github", help="Print annotations for GitHub Actions.")] = False,
    markdown: Annotated[
        str | None, options.Output(metavar="FILE", help="Write a table as Markdown; - is stdout.")
    ] = None,
    permutations: options.Permutations = 10_000,
    seed: options.Seed = 0,
    alpha: options.Alpha = 0.05,
) -> None:
    """Check a run for regressions; for CI.

    Compares the run with lowest means and with a baseline; a failure exits 1 and names the queries that fell most. A
    baseline from before the set changed is refused. --common-queries compares the queries whose text, labels and
    labelled passages are the same as then.

    Example: goldbench gate runs/mine --run a.trec --min ndcg@10=0.5
    """
    from goldbench.score.common_queries import comparable
    from goldbench.score.demands import Demands, allowed_drops, checks_of, lowest_means

    before = _read_baseline(baseline, init=init, update=update)
    runs = named_runs([run])
    _check_printed(markdown, github=github)
    files = {"--junit": junit, "--markdown": None if markdown in {None, "-"} else Path(markdown)}
    check_apart({"--baseline": baseline, **files}, [gold, *(item.path for item in runs.values())])
    check_apart(files, [baseline] if baseline else [])
    loaded = load_gold(gold)
    compared = comparable(before, loaded, common_queries=common_queries) if before else None
    named = [item.name for item in chosen(measure, None, loaded)] if measure else []
    demands = Demands(
        minimums=lowest_means(minimum or [], loaded.level, target=target),
        drops=allowed_drops(max_drop or [], before, named, loaded.level) if before else {},
        significant_only=significant_only,
        alpha=alpha,
        permutations=permutations,
        seed=seed,
    )
    measures = _measures(demands, named, loaded.level, init=init)
    results = score_all(loaded, runs, list(measures.values()), missing=missing, scores=scores, match=match)
    ((system, result),) = results.items()
    checks = checks_of(result, compared, demands)
    note_old_runs(loaded, runs, match)
    outcome = _Outcome(loaded, system, result, checks, compared)
    _report(outcome, junit, markdown, github=github)
    warn(loaded)
    passed = all(check.passed for check in checks)
    if baseline and (init or (update and passed)):
        print_line = screen.note if markdown == "-" else screen.show
        print_line(_write_baseline(baseline, outcome, list(before.values if before else measures)))
    if not passed:
        raise typer.Exit(NEGATIVE)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The run as it was measured and checked, with the baseline as far as it is comparable."""

    gold: Gold
    system: str
    result: Result
    checks: Sequence[GateCheck]
    compared: Baseline | None


def _check_printed(markdown: str | None, *, github: bool) -> None:
    """Refuse options about what is printed that contradict one another."""
    option = "--json" if screen.json else "--github" if github else None
    if markdown == "-" and option:
        raise UsageError(f"{option} and --markdown - both print on standard output; give --markdown a file")


def _write_baseline(path: Path, outcome: _Outcome, measures: Sequence[str]) -> str:
    """Write the baseline, and return what was written."""
    from goldbench.score.scorecards import baseline_of

    write_record(path, baseline_of(outcome.gold, outcome.system, outcome.result, measures))
    screen.add(baseline=str(path))
    return f"Baseline of {queries(len(outcome.result.query_ids))} written to {path}"


def _measures(demands: Demands, named: Sequence[str], level: int, *, init: bool) -> dict[str, Measure]:
    """Return the measures to score by name: those that are checked, and those that a new baseline keeps."""
    measures = {measure.name: measure for measure in demands.measures()}
    if init:
        names = named or [parse_measure(name, rel=level).name for name in DECIDING]
        measures |= {name: parse_measure(name) for name in names}
    if not measures:
        raise UsageError("gate: there is nothing to check; give --baseline, --min or --target")
    return measures


def _read_baseline(path: Path | None, *, init: bool, update: bool) -> Baseline | None:
    """Return the baseline to compare with, or None."""
    from goldbench.score.common_queries import read_baseline

    if path is None and (init or update):
        raise UsageError("gate: --init and --update need --baseline FILE")
    if init and update:
        raise UsageError("gate: give --init or --update, not both")
    if path is None or init:
        if path is not None and path.exists():
            raise UsageError(f"--init: {path} exists already; give --update, or remove it first")
        return None
    if not path.exists():
        raise UsageError(f"--baseline: file {path} not found; make it with --init")
    return read_baseline(path)


def _report(outcome: _Outcome, junit: Path | None, markdown: str | None, *, github: bool) -> None:
    """Print the result of every check, and write the files that are asked for."""
    from goldbench.report import gate_text as report
    from goldbench.score.demands import differences

    checks = outcome.checks
    gold = outcome.gold
    notes = list(differences(outcome.compared, gold, outcome.result)) if outcome.compared else []
    texts = gold.queries() if markdown or any(check.fallen for check in checks) else {}
    screen.add(passed=all(check.passed for check in checks), checks=[asdict(check) for check in checks], notes=notes)
    if markdown != "-":
        for check in checks:
            screen.show(report.line(check), style="" if check.passed else "red")
            if not check.passed:
                screen.show(*(f"  {line}" for line in report.fallen(check, texts)))
        screen.show(*_failed_queries(outcome), *(f"Note: {note}." for note in notes))
    if junit:
        write_whole(junit, report.junit(checks, texts, notes))
    if github:
        for line in report.github(checks, texts):
            typer.echo(line)
    if markdown:
        text = _markdown(outcome, texts, notes)
        if markdown == "-":
            typer.echo(text, nl=False)
        else:
            write_whole(Path(markdown), text.encode())


def _markdown(outcome: _Outcome, texts: Mapping[str, str], notes: Sequence[str]) -> str:
    from goldbench.report.gate_text import GateOutcome, gate_markdown
    from goldbench.score.set_makers import makers_of

    notice = notice_of(outcome.gold.path)
    return gate_markdown(
        GateOutcome(
            system=outcome.system,
            result=outcome.result,
            checks=outcome.checks,
            texts=texts,
            notes=[*notes, *([brief(notice, "").removesuffix(".")] if notice else [])],
            place=makers_of(outcome.gold).place,
        )
    )


def _failed_queries(outcome: _Outcome) -> list[str]:
    """Return a line with the queries behind the first failed condition, and how to open the first; no line if all hold.

    They are those that fell most, or the worst ones of a mean that is too low.
    """
    from goldbench.score.set_makers import makers_of

    failed = [check for check in outcome.checks if not check.passed]
    if not failed:
        return []
    folder = makers_of(outcome.gold).place
    fallen = list(dict.fromkeys(query.query_id for check in failed for query in check.fallen))
    if fallen:
        return line_of("Fell most", fallen[:NAMED], folder)
    measure = failed[0].measure
    return line_of(f"Worst by {measure}", worst_of(outcome.result, measure), folder)


@monitor.command()
def record(
    gold: options.GoldPath,
    run: options.RunOption,
    history: Annotated[Path, options.Output(help="History file, one line per score.")],
    measure: options.MeasureOption = None,
    baseline: Annotated[Path | None, options.Input(help="Baseline written by goldbench gate.")] = None,
    alert_below: Annotated[
        list[str] | None, options.Measures(metavar="M=X", help="Exit 1 if a mean is lower, as recall@10=0.75.")
    ] = None,
    label: Annotated[str | None, options.Input(metavar="TEXT", help="What was scored, as a commit.")] = None,
    html: Annotated[Path | None, options.Output(help="Also write a page, which the history opens.")] = None,
    at: Annotated[str | None, options.Input(metavar="TIME", help="Time in ISO 8601 (default: now).")] = None,
    missing: options.MissingOption = "zero",
    scores: options.ScoresOption = "float64",
    match: options.MatchOption = "id",
) -> None:
    """Score runs and add them to the history.

    Compares with the last entry; exits 1 on an alert.

    Example: goldbench monitor runs/mine --run a.trec --history history.jsonl
    """
    from goldbench.formats.runs.history import append_history, read_history
    from goldbench.records.scorecard import Baseline, Method
    from goldbench.score.demands import lowest_means
    from goldbench.score.scorecards import entry_of
    from goldbench.score.set_makers import makers_of

    when = _moment(at)
    if label is not None and not (label.isprintable() and len(label) <= 200):
        raise UsageError("--label: give one line of at most 200 printable characters")
    known = read_history(history)
    fixed = read_record(baseline, Baseline).means() if baseline else None
    runs = named_runs(run)
    check_apart({"--html": html, "--history": history}, [gold, *(item.path for item in runs.values())])
    loaded = load_gold(gold)
    lowest = lowest_means(alert_below or [], loaded.level, option="alert_below")
    measures = {item.name: item for item in chosen(measure or list(DECIDING), None, loaded)}
    measures |= {name: parse_measure(name) for name in lowest}
    results = score_all(loaded, runs, list(measures.values()), missing=missing, scores=scores, match=match)
    page = _path_from(history, html) if html else None
    entries = []
    for name, result in results.items():
        alerts = _alerts(name, result, lowest)
        entry = entry_of(loaded, name, result, list(measures), at=when, label=label, alerts=alerts)
        entries.append(entry.model_copy(update={"run": _path_from(history, runs[name].path), "page": page}))
    if html is not None:
        from goldbench.score.page_data import scored_page

        method = Method(missing=missing, scores=scores)
        with explained(html):
            html.parent.mkdir(parents=True, exist_ok=True)
        write_whole(html, scored_page(loaded, runs, list(measures.values()), match=match, method=method)[0].encode())
    append_history(history, entries)
    note_old_runs(loaded, runs, match)
    warn(loaded)
    screen.add(entries=[entry.model_dump(mode="json") for entry in entries])
    folder = makers_of(loaded).place
    for entry in entries:
        _show_entry(entry, [earlier for earlier in known if earlier.system == entry.system], fixed)
        screen.show(*worst_line({entry.system: results[entry.system]}, next(iter(measures)), folder))
    if any(entry.alerts for entry in entries):
        raise typer.Exit(NEGATIVE)


@monitor.command()
def plot(
    history: Annotated[Path, typer.Argument(metavar="HISTORY", help="History written by goldbench monitor.")],
    target: Annotated[Path, options.Output("--out", help="Output file.")] = Path("history.html"),
) -> None:
    """Draw the history as an HTML page.

    Example: goldbench monitor plot history.jsonl
    """
    from goldbench.formats.runs.history import read_history
    from goldbench.report.pages import history_page

    check_apart({"--out": target}, [history])
    entries = read_history(history)
    if not entries:
        raise InputError(history, "is missing or empty; fill it with goldbench monitor GOLD --run FILE --history FILE")
    write_whole(target, history_page(entries, base=_path_from(target, history.parent) or ".").encode())
    screen.show(f"{amount(len(entries), 'entry', 'entries')} drawn in {target}")
    screen.add(entries=len(entries), written=str(target))


def _path_from(file: Path, target: Path | str) -> str | None:
    """Return the path of another file from the folder of a file, with slashes; None for standard input."""
    if str(target) == "-":
        return None
    try:
        return Path(os.path.relpath(target, file.parent)).as_posix()
    except ValueError:  # on another drive of Windows
        return Path(target).resolve().as_posix()


def _moment(at: str | None) -> str:
    """Return a time as ISO 8601 in UTC, to the second."""
    if at is None:
        return datetime.now(UTC).isoformat(timespec="seconds")
    try:
        moment = datetime.fromisoformat(at)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise UsageError(f"--at: not a valid time: {at!r}; give one as 2026-01-31T12:00:00+00:00") from None


def _alerts(system: str, result: Result, lowest: Mapping[str, float]) -> list[str]:
    means = {measure: result.mean(measure) for measure in lowest}
    return [
        f"{system}: {measure} {means[measure]:.4f} is below {bound:.4f}"
        for measure, bound in lowest.items()
        if means[measure] < bound - 1e-9
    ]


def _show_entry(entry: HistoryEntry, earlier: Sequence[HistoryEntry], baseline: Mapping[str, float] | None) -> None:
    """Print an entry beside its system's last entry and the baseline (by default the system's first entry)."""
    from goldbench.report.gate_text import change_rows, history_notes

    if baseline is None:
        baseline = {name: score.mean for name, score in earlier[0].means.items()} if earlier else {}
    screen.show(*(f"ALERT  {line}" for line in entry.alerts), style="red")
    screen.table(change_rows(entry, earlier[-1] if earlier else None, baseline))
    screen.show(*(f"Note: {line}." for line in history_notes(entry, earlier)))
