"""``goldbench bench``: many retrieval systems, or one with many settings, on one gold set."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldbench.cli.options import Answers, Replay, input_option, output_option, progress_console, system_option
from goldbench.cli.output import Wide, screen
from goldbench.cli.run_options import BenchConfig, CutoffOption, GoldPath, MeasureOption, cutoffs_of
from goldbench.errors import DONE_IN_PART, OutputError
from goldbench.goldset.file_names import BENCH, MANIFEST, answers_beside
from goldbench.text.display import shell_command

if TYPE_CHECKING:
    from goldbench.bench.trial import Found
    from goldbench.records.experiment import Experiment, Timings


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
        Path | None, input_option("--published", metavar="FILE", help="Printed figures to show beside, in TOML.")
    ] = None,
    answers: Answers = None,
    again: Annotated[bool, system_option("--again", help="Search again although a finished run exists.")] = False,
    replay: Replay = False,
    wide: Wide = False,
) -> None:
    """Measure retrieval systems on one gold set.

    Shows the main figures with tests; --wide shows every cutoff and all times. An interrupted experiment continues
    where it stopped. Without a gold set's folder the output folder is bench-GOLD in the working directory.
    """
    from goldbench.bench.bench_file import load_bench
    from goldbench.bench.experiment_files import read_published
    from goldbench.bench.trial import conduct
    from goldbench.goldset.gold_path import check_apart, folder_of
    from goldbench.report.terminal import TerminalProgress
    from goldbench.score.runs import load_gold
    from goldbench.score.set_makers import makers_of

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
    found = conduct(
        settings,
        loaded,
        folder=folder,
        answers=answers or answers_beside(home or folder),
        progress=TerminalProgress(progress_console()),
        again=again,
        replay=replay,
    )
    if found.outcome.kept:
        kept = ", ".join(found.outcome.kept[:8]) + (", …" if len(found.outcome.kept) > 8 else "")
        screen.note(f"Cached: {kept} (use --again to rerun)")
    if found.experiment is not None:
        _show(found.experiment, found, makers_of(loaded).place, wide=wide, named=bool(measure))
        _write(found.experiment, found.timings, folder)
    if found.experiment is not None and html is not None:
        from goldbench.formats.runs.scorecard_files import write_whole
        from goldbench.report.pages import experiment_page

        command = None if home is None else shell_command("open", shlex.quote(str(home)))
        write_whole(html, experiment_page(found.experiment, found.timings, command=command).encode())
        screen.note(f"Written: {html}")
    _fail(found)


def _stem(gold: Path) -> str:
    """Return the name of a collection that is not the folder of a gold set, in which nothing is written."""
    return gold.resolve().name.split(".")[0] or "gold"


def _show(found: Experiment, made: Found, place: str | None, *, wide: bool, named: bool) -> None:
    """Print the verdict, the figures, the tests and the doubts."""
    from goldbench.report import experiment_text as report
    from goldbench.report.named_queries import worst_line
    from goldbench.report.scorecard_text import method_line
    from goldbench.report.verdict_text import first_lines, further_lines

    screen.add(experiment=found.model_dump(mode="json"), timings=made.timings.model_dump(mode="json"))
    screen.show(*first_lines(found.card.verdict), *report.verdict(found), "")
    screen.table(report.leaderboard(found) if wide else report.main_rows(found, made.timings, every=named))
    screen.show(*worst_line(made.results, found.compared[0], place))
    beside = [rows for _, rows in report.beside_published(found)]
    order = [system.system for system in found.card.systems]
    more = [*(rows for _, rows in report.by_cutoff(found)), report.times(made.timings, order)] if wide else []
    for rows in [*more, *beside]:
        screen.show("")
        screen.table(rows)
    _show_pairs(found, made, place, wide=wide)
    further = further_lines(found.card.verdict, whole=screen.verbose)
    screen.show(*(["", *further] if further else []))
    screen.warn(*report.warned(found))
    screen.note(*(f"Note: {line}" for line in found.notes))
    screen.detail("", report.timing_line(made.timings), method_line(found.card))


def _show_pairs(found: Experiment, made: Found, place: str | None, *, wide: bool) -> None:
    from goldbench.report import experiment_text as report
    from goldbench.report.named_queries import difference_line
    from goldbench.report.scorecard_text import PAIR_HEADINGS, main_pair_rows, pair_row

    compared = [one for one in found.card.comparisons if one.measure == found.compared[0]][: report.MOST_PAIRS]
    if not compared:
        return
    screen.show("")
    if wide:
        screen.table([PAIR_HEADINGS, *map(pair_row, compared)], words=3)
    else:
        screen.table(main_pair_rows(compared), words=2)
    screen.show(*difference_line(made.results, found.compared[0], place))
    total = len(found.card.comparisons)
    if len(compared) < total:
        screen.show(f"{len(compared):,} of {total:,} comparisons; all of them in figures.md")


def _write(found: Experiment, timings: Timings, folder: Path) -> None:
    from goldbench.bench.experiment_files import write_tables
    from goldbench.report import experiment_text as report
    from goldbench.report.text_tables import csv_text

    records: dict[str, Any] = {"experiment.json": found, "timings.json": timings}
    texts = {"figures.csv": csv_text(report.figures_csv(found)), "figures.md": report.figures_markdown(found)}
    write_tables(folder, records, texts)
    screen.note(f"Written: {folder}: experiment.json, timings.json, {', '.join(texts)}, runs/, timings/")


def _fail(found: Found) -> None:
    failed = [one.system for one in found.outcome.failures]
    if failed:
        screen.add(failed=failed)
        typer.echo(f"Failed (see above): {', '.join(failed)}", err=True)
        raise typer.Exit(DONE_IN_PART)
