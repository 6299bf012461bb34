"""``goldbench build``, ``refresh`` and ``chunk``: documents in, a gold set or its chunks out."""

from __future__ import annotations

import shlex
from collections.abc import Coroutine
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from goldbench.cli import options
from goldbench.cli.decisions import ask_before_replacing, decisions_kept
from goldbench.cli.grade import show_grading
from goldbench.cli.output import screen
from goldbench.cli.process import GO_ON, Interrupted, run
from goldbench.errors import DONE_IN_PART, GoldbenchError, UsageError
from goldbench.goldset.file_names import BEIR, CONFIG, DATASET, TREC, UNLABELLED, answers_beside
from goldbench.text.display import amount, queries

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.formats.documents.encodings import Encodings
    from goldbench.formats.documents.site_lines import LeftOutLines
    from goldbench.generate.flow import FinishedBuild
    from goldbench.generate.renewal import Renewal
    from goldbench.grade.build_order import BuildOrder
    from goldbench.grade.users_build import UsersOrder
    from goldbench.records.manifest import Manifest

T = TypeVar("T")
Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders or quoted globs.")]


@options.takes("documents", "chunk", "generate", "model", "machines")
def build(
    paths: Paths,
    out: Annotated[Path, options.Output(metavar="DIR", help="Folder of the gold set.")],
    settings: Config,
    replace: Annotated[bool, options.Output("--replace", help="Replace a set with other settings in DIR.")] = False,
    yes: options.Yes = False,
    ledger: options.LedgerOption = None,
    answers: options.Answers = None,
    replay: options.Replay = False,
    batch: options.Batch = False,
    dry_run: options.DryRun = False,
    grade: Annotated[bool, options.Judging("--grade", help="Also judge a pool, as goldbench grade does.")] = False,
    queries_from: Annotated[
        str | None, options.Input(metavar="LOG", help="Take users' queries of a log; write none.")
    ] = None,
    column: Annotated[str | None, options.Input(help="Column of queries in LOG (default: by name).")] = None,
    count_column: Annotated[str | None, options.Input(help="Column of counts in LOG (default: by name).")] = None,
    names: Annotated[Path | None, options.Input(help="Names; queries of LOG with one are left out.")] = None,
) -> None:
    """Build a gold set from documents.

    Queries are written from the documents, each with the passage that answers it; or --queries-from takes those of
    users from a log (CSV, TSV, JSON Lines, text, or searches of OpenSearch's User Behavior Insights), without personal
    data. Users' queries join the set when a model (--grade) or a person (goldbench review) finds a passage for them.

    Example: goldbench build docs --out runs/mine --queries 50
    """
    from goldbench.formats.query_logs import read_log, read_names
    from goldbench.generate.writers import check_replay
    from goldbench.grade.users_build import UsersOrder

    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    flags = {"replace": replace, "batch": batch, "replay": replay, "grade": grade}
    order = order_of(settings, paths, out, answers or answers_beside(out), ledger=ledger, **flags)
    about_log = {"--column": column, "--count-column": count_column, "--names": names}
    log_options = [option for option, value in about_log.items() if value is not None]
    if queries_from is None and log_options:
        raise UsageError(f"{log_options[0]}: is about a log; give the log with --queries-from")
    users = None
    if queries_from is not None:
        users = UsersOrder(
            order=order,
            log=read_log(queries_from, column=column, counts=count_column),
            names=tuple(read_names(names)) if names else (),
        )
    if not dry_run:
        ask_before_replacing(out, replace=replace, yes=yes)
        complete = _build(order) if users is None else _build_of_users(users)
        if not complete:
            raise typer.Exit(DONE_IN_PART)
    elif users is None:
        _show_plan(order)
    else:
        _show_users_plan(users)


@options.takes("model", "machines")
def refresh(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set that was built.")],
    given: options.Given,
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH]...", help="Documents (default: those of the last build).")
    ] = None,
    queries: Annotated[int | None, options.Queries(min=1, help="Queries to have (default: as many as before).")] = None,
    config: options.ConfigFile = None,
    ledger: options.LedgerOption = None,
    answers: options.Answers = None,
    replay: options.Replay = False,
    batch: options.Batch = False,
    dry_run: options.DryRun = False,
) -> None:
    """Read changed documents again.

    Queries whose evidence still stands are kept with their labels; a model is asked only about passages that are new
    or changed, or whose query is gone, up to the number of queries of the set. The settings are those of the set. From
    --config only [model] and [machines] are read; they override the set's settings.

    Example: goldbench refresh runs/mine
    """
    from goldbench.config import config_of, read_toml
    from goldbench.generate.writers import check_replay
    from goldbench.goldset.folder import GoldFolder
    from goldbench.grade.build_order import renewable_paths, renewed_settings

    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    if queries is not None:
        given = {**given, "generate": {"queries": queries}}
    home = GoldFolder(folder)
    documents = renewable_paths(home, paths or [])
    tables = read_toml(config) if config else {}
    settings = renewed_settings(home, tables, given.get("model", {}), asks=not (replay or dry_run))
    order = order_of(
        config_of(settings, given, path=home.file(CONFIG)),
        documents,
        folder,
        answers or answers_beside(folder),
        ledger=ledger,
        refresh=True,
        replay=replay,
        batch=batch,
    )
    if dry_run:
        _show_plan(order)
    elif not _build(order):
        raise typer.Exit(DONE_IN_PART)


@options.takes("documents", "chunk", "machines")
def chunk(
    paths: Paths,
    settings: Config,
    out: Annotated[Path | None, options.Output(help="JSON Lines (default: the screen).")] = None,
) -> None:
    """Cut documents into chunks, one per line.

    Each line is a JSON object; nothing else is built.

    Example: goldbench chunk docs --out chunks.jsonl
    """
    from goldbench.errors import explained
    from goldbench.formats.jsonl import write_lines
    from goldbench.generate.inputs import cut, find_documents
    from goldbench.report.build_text import passed_over

    failures: list[GoldbenchError] = []
    left_out: list[LeftOutLines] = []
    encodings: list[Encodings] = []

    def on_failure(error: GoldbenchError) -> None:
        failures.append(error)
        screen.note(f"skipped {error}", style="yellow")

    documents = find_documents(paths)
    if out is not None and any(out.resolve() == file.path.resolve() for file in documents.files):
        raise UsageError(f"--out {out}: is one of the documents; give another file")
    with explained(out or Path("standard output")):
        chunks = cut(
            settings, documents, on_failure=on_failure, on_left_out=left_out.append, on_encodings=encodings.append
        )
        count = write_lines(out, chunks)
    screen.note(*passed_over(documents.ignored, documents.repeated))
    notes = [*(lines.notes() for lines in left_out), *(encoding.notes(has_manifest=False) for encoding in encodings)]
    screen.note(*chain.from_iterable(notes), amount(count, "chunk") + (f" in {out}" if out else ""))
    if failures:
        raise typer.Exit(DONE_IN_PART)


def order_of(
    config: Config,
    paths: list[str],
    out: Path,
    answers: Path,
    *,
    ledger: str | None = None,
    **flags: Any,  # noqa: ANN401
) -> BuildOrder:
    """Return what is to be built.

    Args:
        config: The configuration.
        paths: The paths of the documents.
        out: The run folder.
        answers: The store of answers.
        ledger: The file of people's decisions; None for the file in the folder.
        flags: The other fields of the order.
    """
    from goldbench.generate.inputs import find_documents
    from goldbench.grade.build_order import BuildOrder

    decisions = None if flags.get("replace") else decisions_kept(out, ledger)
    return BuildOrder(
        config=config,
        sources=find_documents(paths),
        out=out,
        answers=answers,
        paths=paths,
        decisions=decisions.put_on if decisions else None,
        **flags,
    )


def _run_build(work: Coroutine[Any, Any, T], *, batch: bool) -> T:
    """Return the result of a build.

    Raises:
        Interrupted: The user ended the command.
    """
    try:
        return run(work)
    except KeyboardInterrupt:
        how = "the provider finishes the batches, and the same command fetches them" if batch else GO_ON
        raise Interrupted(how) from None


def _build(order: BuildOrder) -> bool:
    """Build, print the result, and return whether it is complete."""
    from goldbench.grade.build_order import carry_out

    built = _run_build(carry_out(order, progress=screen.progress(), say=screen.note), batch=order.batch)
    manifest = built.result.manifest
    renewal = built.result.renewal
    screen.add(folder=str(order.out), complete=built.complete, manifest=manifest.model_dump(mode="json"))
    if renewal is not None and renewal.stays:
        screen.show(f"No document changed: {order.out} stays as it is.")
        return built.complete
    if renewal is not None:
        _show_renewal(renewal, manifest, order.out)
    _report(built.result, order.out, built.config)
    if built.graded is not None:
        show_grading(built.graded, accounts=False)
        if (problem := built.graded.problem(order.out, built=True)) is not None:
            raise problem
    return built.complete


def _show_renewal(renewal: Renewal, manifest: Manifest, out: Path) -> None:
    """Print what was kept of the set before."""
    from goldbench.report.build_text import renewal_lines, renewal_warnings

    assert manifest.renewed is not None
    screen.show(*renewal_lines(manifest.renewed, renewal.retired))
    warnings = renewal_warnings(manifest.renewed, renewal.graded, len(renewal.standing.unanswerable), out)
    screen.note(*warnings, style="yellow")


def _report(result: FinishedBuild, out: Path, config: Config) -> None:
    from goldbench.generate.books import warning
    from goldbench.records.manifest import UNREADABLE
    from goldbench.report.build_text import funnel, mixture, shortfall, spending, unreached

    manifest = result.manifest
    screen.described(funnel(manifest))
    screen.show(*mixture(manifest.requested), *spending(manifest.usage))
    failures = [failure for failure in manifest.failures if failure.kind != UNREADABLE]  # "skipped" names the others
    screen.note(*shortfall(manifest, failures, limit=result.limit, target_met=result.target_met), style="yellow")
    screen.note(*unreached(result.unreached, manifest.queries), style="yellow")
    if manifest.evidence_level == "smoke":
        screen.warn(warning(config))
    screen.show("", f"{queries(manifest.queries)} in {out / DATASET} (also {out / BEIR}, {out / TREC})")
    if manifest.queries:
        screen.explain(f"Next: goldbench validate {shlex.quote(str(out))}")


def _show_plan(order: BuildOrder) -> None:
    """Print what a build would send and keep."""
    from goldbench.grade.build_order import plan
    from goldbench.report.build_text import plan_notes, plan_rows, planned_lines

    planned = run(plan(order, progress=screen.progress()))
    screen.add(plan=[asdict(stage) for stage in planned.stages])
    if planned.grading is not None:
        screen.show(planned.grading)
    if planned.renewal is not None and planned.drawn is not None:
        renewed = planned.renewal.record(planned.renewal.new(planned.drawn))
        screen.show(*planned_lines(renewed, planned.renewal.retired))
    if planned.drawn is None or not planned.stages:
        screen.show(f"{planned.announcement} 0 requests, no cost.")
        return
    screen.table(plan_rows(planned.stages))
    screen.show(*plan_notes(planned.stages, planned.drawn, planned.config))


def _show_users_plan(users: UsersOrder) -> None:
    from goldbench.grade.users_build import plan_users
    from goldbench.report.build_text import users_queries_lines
    from goldbench.systems.destinations import destinations, text_line

    drawn, cost = plan_users(users)
    screen.note(text_line(destinations(users.order.config)))
    screen.show(*users_queries_lines(drawn), cost)
    screen.add(plan=cost)


def _build_of_users(users: UsersOrder) -> bool:
    """Build a set of users' queries, print the result, and return whether it is complete."""
    from goldbench.grade.users_build import build_users
    from goldbench.report.build_text import users_queries_lines

    order = users.order
    out = users.order.out
    built = _run_build(build_users(users, progress=screen.progress(), say=screen.note), batch=order.batch)
    screen.show(*users_queries_lines(built.drawn))
    screen.add(folder=str(out), manifest=built.manifest.model_dump(mode="json"), waiting=built.waiting)
    if built.graded is not None:
        show_grading(built.graded)
        if (problem := built.graded.problem(out, built=True)) is not None:
            raise problem
    screen.show("", f"{queries(built.manifest.queries)} in {out / DATASET}, {built.waiting:,} waiting in {UNLABELLED}")
    folder = shlex.quote(str(out))
    if built.waiting:
        screen.explain(f"Next: goldbench review {folder} (people judge), or goldbench grade {folder} (a model judges)")
    else:
        screen.explain(f"Next: goldbench validate {folder}")
    return built.complete
