"""``goldbench drift``: how well a log of users' queries is covered."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from goldbench.cli.options import (
    Answers,
    DryRun,
    Given,
    Replay,
    input_option,
    judging_option,
    output_option,
    progress_console,
    statistics_option,
    system_option,
    takes,
)
from goldbench.cli.output import screen
from goldbench.cli.run_options import BenchConfig, GoldPath, Seed, answers_of, opened_system
from goldbench.errors import DONE_IN_PART, UsageError

if TYPE_CHECKING:
    from goldbench.explore.log_coverage import Comparison
    from goldbench.explore.log_reader import How
    from goldbench.ports import Retriever
    from goldbench.systems import Systems


@takes("grade.judges", "grade.panel", "grade.passages_per_call", "model")
def drift(
    gold: GoldPath,
    given: Given,
    queries: Annotated[
        str, input_option("--queries", metavar="FILE", help="Log: a query per line, CSV or JSON Lines; - is stdin.")
    ],
    column: Annotated[str | None, input_option(metavar="NAME", help="Column or key that holds the queries.")] = None,
    system: Annotated[
        str | None, system_option(metavar="NAME", help="System of vectors, as lsi (default: compare words).")
    ] = None,
    config: BenchConfig = None,
    answers: Answers = None,
    quantile: Annotated[
        float, statistics_option(metavar="Q", help="Share of own queries that is far (default: 0.05 = 5 %).")
    ] = 0.05,
    most: Annotated[
        int, input_option(metavar="N", min=1, help="Most frequent distinct queries used (default: 20000).")
    ] = 20_000,
    clusters: Annotated[int, output_option(metavar="N", min=1, help="Clusters shown (default: 10).")] = 10,
    seed: Seed = 0,
    passages: Annotated[
        int, judging_option(metavar="N", min=1, help="Passages read per undecided query (default: 10).")
    ] = 10,
    replay: Replay = False,
    dry_run: DryRun = False,
    form: Annotated[
        Literal["table", "json"], output_option("--format", help="What to print (default: table).")
    ] = "table",
    out: Annotated[Path | None, output_option("--out", metavar="FILE", help="Also write the report as JSON.")] = None,
) -> None:
    """Show how well a log of queries is covered.

    Says of each query whether the passages answer it, and which queries to add to the set. With --model, a model reads
    the nearest passages of each query that rules leave undecided, and decides it if it passes the judge checks.
    """
    import json

    from goldbench.errors import explained
    from goldbench.explore.log_coverage import Settings, check_quantile, compare
    from goldbench.formats.jsonl import write_texts
    from goldbench.formats.query_logs import read_log
    from goldbench.goldset.gold_path import check_apart
    from goldbench.report.drift_text import advice, lines
    from goldbench.score.runs import load_gold

    check_quantile(quantile)
    check_apart({"--out": out}, [gold, queries, *([config] if config else [])])
    store = answers or answers_of(Path(gold))
    how = _how(given, config, store, passages=passages, replay=replay, dry_run=dry_run)
    loaded, log = load_gold(gold), read_log(queries, column=column)
    settings = Settings(quantile=quantile, most=most, clusters=clusters, seed=seed)
    with _vectors(system, config, loaded.path, answers, replay=replay) as opened:
        asked = None if dry_run else how
        _note_destinations(asked, opened)
        vectors = (system, opened.retriever(system)) if system and opened else None
        compared, systems = compare(loaded, log, settings, vectors=vectors), [vectors[1]] if vectors else []
        if how is not None and dry_run:
            _plan(compared, how, systems, form)
            return
        found, complete = _report(compared, how, systems)
    report = {**found, "advice": advice(found)}
    text = json.dumps(report, ensure_ascii=False, indent=1)
    if out is not None:
        with explained(out):
            write_texts(out, [text])
    if form == "json":
        typer.echo(text)
    else:
        screen.show(*lines(report))
    if not complete:
        raise typer.Exit(DONE_IN_PART)


def _how(given: Given, config: Path | None, store: Path, *, passages: int, replay: bool, dry_run: bool) -> How | None:
    """Return how a model reads, or None if the command line names no model.

    Raises:
        UsageError: An option needs a model, and none is named; or no server is known.
    """
    if not {"name", "base_url"} & given.get("model", {}).keys():
        if replay or dry_run:
            raise UsageError("--replay and --dry-run need a model that reads: give --model")
        return None
    from goldbench.bench.bench_file import load_bench
    from goldbench.cli.event_loop import run
    from goldbench.config import load_config
    from goldbench.explore.log_reader import How
    from goldbench.generate.writers import check_replay
    from goldbench.grade.preparation import judging

    check_replay(replay=replay, batch=False, dry_run=dry_run)
    settings = load_bench(config, level=1, given=given).config if config else load_config(None, given)
    return How(run(judging(settings, asks=not (replay or dry_run), replay=replay)), store, passages, replay)


def _note_destinations(how: How | None, opened: Systems | None) -> None:
    """Print where texts go: to the model that reads, and to the system of vectors."""
    from goldbench.systems.destinations import text_line

    addresses = opened.destinations() if opened else []
    if how is not None:
        from goldbench.grade.preparation import destinations_of_judging

        addresses += destinations_of_judging(how.config, replay=how.replay)
    screen.note(text_line(addresses))


@contextlib.contextmanager
def _vectors(
    name: str | None, config: Path | None, gold: Path, answers: Path | None, *, replay: bool
) -> Iterator[Systems | None]:
    """Open the system of vectors, if one is named.

    Raises:
        UsageError: Its scores are not cosines.
    """
    if name is None:
        yield None
        return
    from goldbench.retrieval.system_settings import Vectors

    with opened_system(name, config, gold, answers=answers, replay=replay) as opened:
        if not isinstance(opened.settings[name], Vectors):
            problem = "its scores are not cosines; give a system of vectors, as lsi or embedding"
            raise UsageError(f"--system {name}: {problem}")
        yield opened


def _plan(compared: Comparison, how: How, systems: Sequence[Retriever], form: str) -> None:
    """Print what reading would take at most."""
    import json

    from goldbench.cli.event_loop import run
    from goldbench.explore.log_reader import plan_undecided
    from goldbench.report.build_text import plan_rows
    from goldbench.report.drift_text import plan_notes
    from goldbench.report.terminal import TerminalProgress

    progress = TerminalProgress(progress_console())
    stages, count = run(plan_undecided(compared, how, systems, progress=progress))
    if form == "json":
        planned = {"plan": [asdict(one) for one in stages], "queries": count, "model": how.config.model.name}
        typer.echo(json.dumps(planned, ensure_ascii=False, indent=1))
        return
    screen.table(plan_rows(stages))
    screen.show(*plan_notes(stages, queries=count, model=how.config.model.name or ""))


def _report(compared: Comparison, how: How | None, systems: Sequence[Retriever]) -> tuple[dict[str, Any], bool]:
    """Return the report, and whether everything was read; print what reading took."""
    from goldbench.explore.passage_pool import looked_up

    if how is None:
        return compared.report(looked_up(compared.undecided(), compared.corpus, compared.language)), True
    from goldbench.cli.event_loop import run
    from goldbench.explore.log_reader import read_undecided
    from goldbench.report.build_text import messages as failed_calls
    from goldbench.report.build_text import spending
    from goldbench.report.terminal import TerminalProgress

    progress = TerminalProgress(progress_console())
    found = run(read_undecided(compared, how, systems, progress=progress))
    screen.note(*spending(found.reading.usage), *failed_calls(found.reading.failures))
    return found.compared.report(found.look_at), found.reading.complete
