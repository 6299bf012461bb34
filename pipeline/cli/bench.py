"""``goldbench bench``: many retrieval systems, or one with many settings, on one gold set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldbench.pipeline.cli.options import (
    DONE_WITH_FAILURES,
    Answers,
    Replay,
    console_for,
    input_option,
    output_option,
    system_option,
)
from goldbench.pipeline.cli.run_options import BenchConfig, CutoffOption, GoldPath, MeasureOption, cutoffs_of
from goldbench.pipeline.errors import OutputError
from goldbench.pipeline.goldset.file_names import BENCH, MANIFEST, answers_beside

if TYPE_CHECKING:
    from goldbench.pipeline.bench.trial import Found
    from goldbench.schemas.experiment import Experiment, Timings


def bench(
    gold: GoldPath,
    config: BenchConfig = None,
    system: Annotated[
        list[str] | None, system_option("--system", metavar="NAME", help="Measure only this system. Repeatable.")
    ] = None,
    measure: MeasureOption = None,
    k: CutoffOption = None,
    out: Annotated[
        Path | None, output_option("--out", metavar="DIR", help="Output folder (default: GOLD/bench).")
    ] = None,
    html: Annotated[Path | None, output_option("--html", metavar="FILE", help="Also write a page.")] = None,
    published: Annotated[
        Path | None,
        input_option("--published", metavar="FILE", help="Printed figures to show beside: TOML, JSON, CSV."),
    ] = None,
    answers: Answers = None,
    again: Annotated[bool, system_option("--again", help="Search again although a finished run exists.")] = False,
    replay: Replay = False,
) -> None:
    """Measure retrieval systems on one gold set.

    Shows figures at every cutoff, latency and tests. An interrupted experiment continues where it stopped. Without a
    gold set's folder the output folder is bench-GOLD in the working directory.
    """
    from goldbench.pipeline.bench.bench_file import load_bench
    from goldbench.pipeline.bench.experiment_files import read_published
    from goldbench.pipeline.bench.trial import conduct
    from goldbench.pipeline.goldset.gold_path import check_apart, folder_of
    from goldbench.pipeline.report.terminal import TerminalProgress
    from goldbench.pipeline.score.runs import load_gold

    loaded = load_gold(gold)
    check_apart({"--html": html, "--out": out}, [loaded.path, *(one for one in (config, published) if one)])
    if html is not None and not html.resolve().parent.is_dir():
        raise OutputError(f"--html: folder {html.parent} not found; make it first")
    settings = load_bench(
        config,
        level=loaded.level,
        systems=system or (),
        measures=measure or (),
        cutoffs=cutoffs_of(k),
        published=read_published(published) if published else None,
    )
    home = folder_of(loaded.path)
    if home is not None and not (home / MANIFEST).is_file():  # not a build: nothing is written there
        home = None
    folder = out or (home / BENCH if home else Path(f"bench-{_stem(loaded.path)}"))
    messages = console_for(stderr=True)
    found = conduct(
        settings,
        loaded,
        folder=folder,
        answers=answers or answers_beside(home or folder),
        progress=TerminalProgress(messages),
        again=again,
        replay=replay,
    )
    if found.outcome.kept:
        kept = ", ".join(found.outcome.kept[:8]) + (", …" if len(found.outcome.kept) > 8 else "")
        messages.print(f"Cached: {kept} (use --again to rerun)")
    if found.experiment is not None:
        _show(found.experiment, found.timings)
        _write(found.experiment, found.timings, folder)
    if found.experiment is not None and html is not None:
        from goldbench.pipeline.bench.experiment_queries import behind_experiment
        from goldbench.pipeline.formats.runs.scorecard_files import write_whole
        from goldbench.pipeline.report.experiment_page import page

        behind = behind_experiment(settings, loaded, found, folder=folder)
        write_whole(html, page(found.experiment, found.timings, behind).encode())
        typer.echo(f"Written: {html}", err=True)
    _fail(found)


def _stem(gold: Path) -> str:
    """Return the name of a collection that is not the folder of a gold set, in which nothing is written."""
    return gold.resolve().name.split(".")[0] or "gold"


def _show(found: Experiment, timings: Timings) -> None:
    from goldbench.pipeline.report import experiment_text as report
    from goldbench.pipeline.report.scorecard_text import method_line
    from goldbench.pipeline.report.text_tables import terminal_table
    from goldbench.pipeline.report.verdict_text import verdict_lines
    from goldbench.pipeline.text.display import printable

    order = [system.system for system in found.card.systems]
    console = console_for(wide=True)
    tables = [report.leaderboard(found), *(rows for _, rows in report.by_cutoff(found))]
    tables += [rows for _, rows in report.beside_published(found)]
    for rows in [*tables, report.times(timings, order)]:
        if rows:
            console.print(terminal_table(rows))
            console.print()
    compared = report.pairs(found, found.compared[0])[: report.MOST_PAIRS + 1]
    if compared:
        console.print(terminal_table(compared, words=3))
        total, shown = len(found.card.comparisons), len(compared) - 1
        if shown < total:
            console.print(f"{shown:,} of {total:,} comparisons; all of them in figures.md and comparisons.csv")
        console.print()
    for line in [*verdict_lines(found.card.verdict), *report.verdict(found)]:
        console.print(printable(line))
    for line in report.sources(found):
        console.print(printable(line))
    for line in report.warned(found):
        console.print(f"Warning: {printable(line)}", style="yellow")
    for line in found.notes:
        console.print(f"Note: {printable(line)}")
    console.print(report.timing_line(timings), style="dim")
    console.print(method_line(found.card), style="dim")


def _write(found: Experiment, timings: Timings, folder: Path) -> None:
    from goldbench.pipeline.bench.experiment_files import write_tables
    from goldbench.pipeline.report import experiment_text as report
    from goldbench.pipeline.report.text_tables import csv_text

    order = [system.system for system in found.card.systems]
    records: dict[str, Any] = {"experiment.json": found, "timings.json": timings}
    texts = {
        "figures.csv": csv_text(report.figures_csv(found)),
        "figures.md": report.figures_markdown(found),
        "comparisons.csv": csv_text(report.pairs(found)),
        "published.csv": csv_text(report.published_csv(found)),
        "timings.csv": csv_text(report.times_csv(timings, order)),
        "timings.md": report.times_markdown(timings, order),
    }
    kept = {name: text for name, text in texts.items() if text.count("\n") > 1}
    write_tables(folder, records, kept)
    typer.echo(f"Written: {folder}: experiment.json, {', '.join(kept)}, runs/, timings/", err=True)


def _fail(found: Found) -> None:
    failed = [one.system for one in found.outcome.failures]
    if failed:
        typer.echo(f"Failed (see above): {', '.join(failed)}", err=True)
        raise typer.Exit(DONE_WITH_FAILURES)
