"""``goldbench bench`` and ``retrieve``: retrieval systems on one gold set."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from goldbench.cli import options
from goldbench.cli.output import screen
from goldbench.cli.runs import answers_of, cutoffs_of, opened_system
from goldbench.errors import DONE_IN_PART, OutputError, UsageError
from goldbench.goldset.file_names import BENCH, MANIFEST, RUNS, answers_beside
from goldbench.goldset.gold_path import check_apart, folder_of
from goldbench.report.named_queries import difference_line, worst_line
from goldbench.retrieval.system_settings import Analyzer, known_language
from goldbench.score.runs import load_gold
from goldbench.text.display import amount, one_line, shell_command
from goldbench.text.display import queries as count_of

if TYPE_CHECKING:
    from goldbench.bench.trial import TrialFigures
    from goldbench.records.experiment import Experiment


def bench(
    gold: options.GoldPath,
    config: options.BenchConfig = None,
    system: Annotated[
        list[str] | None, options.Systems(metavar="NAME", help="Measure only this system. Repeatable.")
    ] = None,
    measure: options.MeasureOption = None,
    k: options.CutoffOption = None,
    out: Annotated[Path | None, options.Output(metavar="DIR", help="Output folder (default: GOLD/bench).")] = None,
    html: Annotated[Path | None, options.Output(help="Also write a page.")] = None,
    published: Annotated[Path | None, options.Input(help="Printed figures to show beside, in TOML.")] = None,
    answers: options.Answers = None,
    again: Annotated[bool, options.Systems("--again", help="Search again although a finished run exists.")] = False,
    replay: options.Replay = False,
    wide: options.Wide = False,
) -> None:
    """Measure retrieval systems on one gold set.

    Shows the main figures with tests; --wide shows every cutoff and all times. An interrupted experiment continues
    where it stopped. Without a gold set's folder the output folder is bench-GOLD in the working directory.

    Example: goldbench bench runs/mine --system bm25
    """
    from goldbench.bench.bench_file import load_bench
    from goldbench.bench.trial import conduct
    from goldbench.score.set_makers import makers_of

    loaded = load_gold(gold)
    check_apart({"--html": html, "--out": out}, [loaded.path, *(path for path in (config, published) if path)])
    if html is not None and not html.resolve().parent.is_dir():
        raise OutputError(f"--html: folder {html.parent} not found; make it first")
    settings = load_bench(
        config,
        level=loaded.level,
        systems=system or (),
        measures=measure or (),
        cutoffs=cutoffs_of(k),
        published=published,
    )
    home = folder_of(loaded.path)
    if home is not None and not (home / MANIFEST).is_file():  # not a build: nothing is written there
        home = None
    stem = loaded.path.resolve().name.split(".")[0] or "gold"
    folder = out or (home / BENCH if home else Path(f"bench-{stem}"))
    trial = conduct(
        settings,
        loaded,
        folder=folder,
        answers=answers or answers_beside(home or folder),
        progress=screen.progress(),
        again=again,
        replay=replay,
    )
    if trial.outcome.kept:
        cached = ", ".join(trial.outcome.kept[:8]) + (", …" if len(trial.outcome.kept) > 8 else "")
        screen.note(f"Cached: {cached} (use --again to rerun)")
    if trial.experiment is not None:
        _show_experiment(trial.experiment, trial, makers_of(loaded).place, wide=wide, named=bool(measure))
        command = None if home is None else shell_command("open", shlex.quote(str(home)))
        _write_experiment(trial.experiment, trial, folder, html, command)
    failed = [failure.system for failure in trial.outcome.failures]
    if failed:
        screen.add(failed=failed)
        typer.echo(f"Failed (see above): {', '.join(failed)}", err=True)
        raise typer.Exit(DONE_IN_PART)


def _show_experiment(
    experiment: Experiment, trial: TrialFigures, folder: str | None, *, wide: bool, named: bool
) -> None:
    """Print the verdict, the figures, the tests and the doubts."""
    from goldbench.report import experiment_text as report
    from goldbench.report.scorecard_text import first_lines, further_lines, method_line

    card = experiment.card
    screen.add(experiment=experiment.model_dump(mode="json"), timings=trial.timings.model_dump(mode="json"))
    screen.show(*first_lines(card.verdict), *report.verdict(experiment), "")
    screen.table(report.leaderboard(experiment) if wide else report.main_rows(experiment, trial.timings, every=named))
    screen.show(*worst_line(trial.results, experiment.compared[0], folder))
    tables = [rows for _, rows in report.by_cutoff(experiment)] if wide else []
    if wide:
        tables.append(report.times(trial.timings, [system.system for system in card.systems]))
    for rows in [*tables, *(rows for _, rows in report.beside_published(experiment))]:
        screen.show("")
        screen.table(rows)
    _show_pairs(experiment, trial, folder, wide=wide)
    further = further_lines(card.verdict, whole=screen.verbose)
    screen.show(*(["", *further] if further else []))
    screen.warn(*report.warned(experiment))
    screen.note(*(f"Note: {line}" for line in experiment.notes))
    if screen.verbose:
        screen.show("", report.timing_line(trial.timings), method_line(card))


def _show_pairs(experiment: Experiment, trial: TrialFigures, folder: str | None, *, wide: bool) -> None:
    from goldbench.report import experiment_text as report
    from goldbench.report.scorecard_text import main_pair_rows, pair_rows

    comparisons = experiment.card.comparisons
    pairs = [pair for pair in comparisons if pair.measure == experiment.compared[0]][: report.MOST_PAIRS]
    if not pairs:
        return
    screen.show("")
    if wide:
        screen.table(pair_rows(pairs), words=3)
    else:
        screen.table(main_pair_rows(pairs), words=2)
    screen.show(*difference_line(trial.results, experiment.compared[0], folder))
    if len(pairs) < len(comparisons):
        screen.show(f"{len(pairs):,} of {len(comparisons):,} comparisons; all of them in figures.md")


def _write_experiment(
    experiment: Experiment, trial: TrialFigures, folder: Path, html: Path | None, command: str | None
) -> None:
    from goldbench.bench.experiment_files import write_tables
    from goldbench.formats.runs.scorecard_files import write_whole
    from goldbench.report import experiment_text as report
    from goldbench.report.text_tables import csv_text

    records: dict[str, Any] = {"experiment.json": experiment, "timings.json": trial.timings}
    texts = {"figures.csv": csv_text(report.figures_csv(experiment)), "figures.md": report.figures_markdown(experiment)}
    write_tables(folder, records, texts)
    screen.note(f"Written: {folder}: experiment.json, timings.json, {', '.join(texts)}, runs/, timings/")
    if html is not None:
        from goldbench.report.pages import experiment_page  # needs an extra

        write_whole(html, experiment_page(experiment, trial.timings, command=command).encode())
        screen.note(f"Written: {html}")


@options.takes("machines")
def retrieve(
    gold: options.SearchedGold,
    given: options.Given,
    output: Annotated[Path, options.Output("--output", "-o", metavar="FILE", help="Run in TREC format; - is stdout.")],
    system: options.SystemOption = "bm25",
    config: options.BenchConfig = None,
    change: Annotated[
        list[str] | None,
        options.Systems("--set", metavar="KEY=VALUE", help="Parameter of a system or part: bm25.k1=0.9."),
    ] = None,
    conversation: Annotated[
        Literal["last", "standalone", "joined"], options.Input(help="What is searched for conversations.")
    ] = "last",
    k: Annotated[int, options.Output(min=1, help="Passages per query.")] = 100,
    analyzer: Annotated[
        Analyzer | None, options.Systems(help="How texts are cut into terms (default: unicode).")
    ] = None,
    language: Annotated[
        str | None, options.Systems(metavar="L", help="Stem words and drop function words, as en.")
    ] = None,
    k1: Annotated[float | None, options.Systems(min=0, help="Saturation of BM25 (default: 1.2).")] = None,
    b: Annotated[
        float | None, options.Systems("--b", min=0, max=1, help="Length weight of BM25 (default: 0.75).")
    ] = None,
    answers: options.Answers = None,
    replay: options.Replay = False,
) -> None:
    """Search for every query and write a run.

    The system is bm25, ngrams, lsi, embedding, hybrid, one that --config describes, elasticsearch://HOST:9200,
    opensearch://..., python:MODULE:FUNCTION, http://... or run:FILE. --analyzer, --language, --k1 and --b are short for
    --set.

    Example: goldbench retrieve runs/mine -o bm25.trec
    """
    from goldbench.config import config_of
    from goldbench.errors import explained
    from goldbench.formats.runs.trec import write_run
    from goldbench.score.searched_queries import conversations, refuse_blanks, texts_to_search, told_of_conversations
    from goldbench.systems.destinations import text_line

    target = None if str(output) == "-" else output
    if screen.json and target is None:
        raise UsageError("--json: the run goes to standard output; give --output a file")
    if target and target.resolve().is_relative_to(Path(gold).resolve()) and target.parent.name != RUNS:
        raise UsageError(f"{output}: inside a build, runs go into its folder {RUNS}/")
    check_apart({"--output": target}, [config] if config else [])
    _check_language(language)
    parameters = {"analyzer": analyzer, "language": language, "k1": k1, "b": b}
    changes = [f"{key}={value}" for key, value in parameters.items() if value is not None] + (change or [])
    engine = config_of({}, given).machines.engine
    store = answers or answers_of(Path(gold))
    with opened_system(system, config, answers=store, replay=replay, overrides=changes, engine=engine) as systems:
        loaded = load_gold(gold)
        queries, corpus = texts_to_search(loaded, conversation)
        refuse_blanks(loaded, (*queries, *corpus))
        retriever = systems.retriever(system)
        screen.note(text_line(systems.destinations()))
        retriever.index(corpus)
        run = retriever.search(queries, k=k)
    with explained(output):
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
        tag = "_".join(one_line(system).split()) or "system"  # a run has no white space
        lines = write_run(target, run, tag=tag)
    written = f"in {target}" if target else "on standard output"
    empty = sum(not results for results in run.values())
    screen.add(results=lines, queries=len(queries), empty=empty, written=str(target))
    (screen.note if target is None else screen.show)(
        f"{amount(lines, 'result')} for {count_of(len(queries))} {written}"
    )
    if note := told_of_conversations(len(conversations(loaded)), conversation):
        screen.note(note)
    if empty:
        screen.note(f"{count_of(empty)} without results: a TREC run cannot hold them, and they score as missing.")


def _check_language(language: str | None) -> None:
    """Refuse a language that is not known, under the name of its option."""
    try:
        if language is not None:
            known_language(language)
    except ValueError as error:
        raise UsageError(f"--language: {error}") from None
