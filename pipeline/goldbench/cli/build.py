"""``goldbench build`` and ``goldbench chunk``: documents in, a gold set or its chunks out."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldbench.cli.build_of_users import built_of_users, users_order
from goldbench.cli.grade import show as show_grading
from goldbench.cli.options import (
    Answers,
    Batch,
    DryRun,
    Replay,
    input_option,
    judging_option,
    output_option,
    progress_console,
    takes,
)
from goldbench.cli.output import screen
from goldbench.cli.people_asked import Yes, ask_before_replacing
from goldbench.cli.process import GO_ON, Interrupted
from goldbench.cli.review_files import LedgerOption, decisions_kept
from goldbench.errors import DONE_IN_PART, GoldbenchError, UsageError
from goldbench.goldset.file_names import BEIR, DATASET, TREC, answers_beside

if TYPE_CHECKING:
    from goldbench.config import Config
    from goldbench.formats.documents.encodings import Encodings
    from goldbench.formats.documents.site_lines import LeftOut
    from goldbench.generate.flow import Result
    from goldbench.generate.renewal import Renewal
    from goldbench.grade.build_order import BuildOrder
    from goldbench.records.manifest import Manifest

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders or quoted globs.")]


@takes("documents", "chunk", "generate", "critics", "model", "machines")
def build(
    paths: Paths,
    out: Annotated[Path, output_option("--out", metavar="DIR", help="Folder of the gold set.")],
    settings: Config,
    replace: Annotated[bool, output_option("--replace", help="Replace a set with other settings in DIR.")] = False,
    yes: Yes = False,
    ledger: LedgerOption = None,
    answers: Answers = None,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
    grade: Annotated[bool, judging_option("--grade", help="Also judge a pool, as goldbench grade does.")] = False,
    queries_from: Annotated[
        str | None, input_option("--queries-from", metavar="LOG", help="Take users' queries of a log; write none.")
    ] = None,
    column: Annotated[
        str | None, input_option("--column", metavar="NAME", help="Column of queries in LOG (default: by name).")
    ] = None,
    count_column: Annotated[
        str | None, input_option("--count-column", metavar="NAME", help="Column of counts in LOG (default: by name).")
    ] = None,
    names: Annotated[
        Path | None, input_option("--names", metavar="FILE", help="Names; queries of LOG with one are left out.")
    ] = None,
    shares: Annotated[
        str | None, input_option("--shares", metavar="SHARES", help="Of LOG, as head=0.3,torso=0.4,tail=0.3.")
    ] = None,
) -> None:
    """Build a gold set from documents.

    Queries are written from the documents, each with the passage that answers it; or --queries-from takes those of
    users from a log (CSV, TSV, JSON Lines, text, or searches of OpenSearch's User Behavior Insights), without personal
    data. Users' queries join the set when a model (--grade) or a person (goldbench review) finds a passage for them.
    """
    from goldbench.generate.writers import check_replay

    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    store = answers or answers_beside(out)
    flags = {"replace": replace, "batch": batch, "replay": replay, "grade": grade}
    order = order_of(settings, paths, out, store, ledger=ledger, **flags)
    given = {"--column": column, "--count-column": count_column, "--names": names, "--shares": shares}
    if queries_from is not None:
        users = users_order(order, queries_from, column, count_column, names, shares)
        if not dry_run:
            ask_before_replacing(out, replace=replace, yes=yes)
        if not built_of_users(users, batch=batch, dry_run=dry_run):
            raise typer.Exit(DONE_IN_PART)
        return
    if (alone := next((name for name, value in given.items() if value is not None), None)) is not None:
        raise UsageError(f"{alone}: is about a log; give the log with --queries-from")
    if dry_run:
        show_plan(order)
        return
    ask_before_replacing(out, replace=replace, yes=yes)
    if not carried_out(order, batch=batch):
        raise typer.Exit(DONE_IN_PART)


def carried_out(order: BuildOrder, *, batch: bool) -> bool:
    """Build, print the result, and return whether it is complete.

    Args:
        order: What is to be built.
        batch: Whether requests are sent in batches.

    Raises:
        Interrupted: The user ended the command.
    """
    try:
        return _build(order)
    except KeyboardInterrupt:
        how = "the provider finishes the batches, and the same command fetches them" if batch else GO_ON
        raise Interrupted(how) from None


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
        ledger: The address of people's decisions; None for the file in the folder.
        flags: The other fields of the order.
    """
    from goldbench.generate.inputs import find_documents
    from goldbench.grade.build_order import BuildOrder

    kept = None if flags.get("replace") else decisions_kept(out, ledger)
    return BuildOrder(
        config=config,
        found=find_documents(paths),
        out=out,
        answers=answers,
        paths=paths,
        decisions=kept.put_on if kept else None,
        **flags,
    )


def _build(order: BuildOrder) -> bool:
    """Build, print the result, and return whether it is complete."""
    from goldbench.cli.event_loop import run
    from goldbench.grade.build_order import carry_out
    from goldbench.report.terminal import TerminalProgress

    built = run(carry_out(order, progress=TerminalProgress(progress_console()), say=screen.note))
    screen.add(folder=str(order.out), complete=built.complete, manifest=built.result.manifest.model_dump(mode="json"))
    if show_renewal(built.result.renewal, built.result.manifest, order.out):
        return built.complete
    _report(built.result, order.out, built.config)
    if built.graded is not None:
        show_grading(built.graded, accounts=False)
        if (problem := built.graded.problem(order.out, built=True)) is not None:
            raise problem
    return built.complete


def show_renewal(renewal: Renewal | None, manifest: Manifest, out: Path) -> bool:
    """Print what was kept of the set before, and return whether the set stayed as it was.

    Args:
        renewal: What was kept, None for a set that was built from nothing.
        manifest: The manifest of the set.
        out: Its folder.
    """
    from goldbench.report.renewal_text import renewal_lines, renewal_warnings

    if renewal is None:
        return False
    if renewal.stays:
        screen.show(f"No document changed: {out} stays as it is.")
        return True
    assert manifest.renewed is not None
    screen.show(*renewal_lines(manifest.renewed, renewal.retired))
    told = renewal_warnings(manifest.renewed, renewal.graded, len(renewal.standing.unanswerable), out)
    screen.note(*told, style="yellow")
    return False


def show_plan(order: BuildOrder) -> None:
    """Print what a build would send and keep."""
    from goldbench.cli.event_loop import run
    from goldbench.grade.build_order import plan
    from goldbench.report.build_text import plan_notes, plan_rows
    from goldbench.report.terminal import TerminalProgress

    planned = run(plan(order, progress=TerminalProgress(progress_console())))
    screen.add(plan=[asdict(one) for one in planned.stages])
    if planned.grading is not None:
        screen.show(planned.grading)
    if planned.renewal is not None and planned.drawn is not None:
        from goldbench.report.renewal_text import planned_lines

        told = planned.renewal.record(planned.renewal.new(planned.drawn))
        screen.show(*planned_lines(told, planned.renewal.retired))
    if planned.drawn is None or not planned.stages:
        screen.show(f"{planned.announcement} 0 requests, no cost.")
        return
    screen.table(plan_rows(planned.stages))
    screen.show(*plan_notes(planned.stages, planned.drawn, planned.config))


@takes("documents", "chunk", "machines")
def chunk(
    paths: Paths,
    settings: Config,
    out: Annotated[
        Path | None, output_option("--out", metavar="FILE", help="JSON Lines (default: the screen).")
    ] = None,
) -> None:
    """Cut documents into chunks, one per line.

    Each line is a JSON object; nothing else is built.
    """
    from goldbench.errors import explained
    from goldbench.formats.jsonl import write_lines
    from goldbench.generate.inputs import cut, find_documents
    from goldbench.report.build_text import passed_over
    from goldbench.text.display import amount

    failures: list[GoldbenchError] = []
    left_out: list[LeftOut] = []
    encodings: list[Encodings] = []

    def on_failure(error: GoldbenchError) -> None:
        failures.append(error)
        screen.note(f"skipped {error}", style="yellow")

    found = find_documents(paths)
    if out is not None and any(out.resolve() == file.path.resolve() for file in found.files):
        raise UsageError(f"--out {out}: is one of the documents; give another file")
    with explained(out or Path("standard output")):
        chunks = cut(settings, found, on_failure=on_failure, on_left_out=left_out.append, on_encodings=encodings.append)
        count = write_lines(out, chunks)
    screen.note(*passed_over(found.ignored, found.repeated))
    notes = [*(one.notes() for one in left_out), *(one.notes(has_manifest=False) for one in encodings)]
    screen.note(*chain.from_iterable(notes), amount(count, "chunk") + (f" in {out}" if out else ""))
    if failures:
        raise typer.Exit(DONE_IN_PART)


def _report(result: Result, out: Path, config: Config) -> None:
    from goldbench.generate.books import warning
    from goldbench.records.manifest import UNREADABLE
    from goldbench.report.build_text import funnel, mixture, shortfall, spending, unreached
    from goldbench.text.display import queries

    manifest = result.manifest
    screen.described(funnel(manifest))
    screen.show(*mixture(manifest.requested), *spending(manifest.usage))
    untold = [failure for failure in manifest.failures if failure.kind != UNREADABLE]  # "skipped" names the others
    screen.note(*shortfall(manifest, untold, limit=result.limit, target_met=result.target_met), style="yellow")
    screen.note(*unreached(result.unreached, manifest.queries), style="yellow")
    if manifest.evidence_level == "smoke":
        screen.warn(warning(config))
    screen.show("", f"{queries(manifest.queries)} in {out / DATASET} (also {out / BEIR}, {out / TREC})")
    if manifest.queries:
        screen.explain(f"Next: goldbench validate {shlex.quote(str(out))}")
