"""``goldbench build`` and ``goldbench chunk``: documents in, a gold set or its chunks out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.pipeline.cli.grade import show as show_grading
from goldbench.pipeline.cli.options import (
    DONE_WITH_FAILURES,
    GO_ON,
    Answers,
    Batch,
    DryRun,
    Interrupted,
    Replay,
    console_for,
    judging_option,
    output_option,
    takes,
)
from goldbench.pipeline.cli.review_files import decisions_kept
from goldbench.pipeline.errors import GoldbenchError, UsageError
from goldbench.pipeline.goldset.file_names import BEIR, DATASET, TREC, answers_beside

if TYPE_CHECKING:
    from rich.console import Console

    from goldbench.pipeline.build.flow import Result
    from goldbench.pipeline.config import Config
    from goldbench.pipeline.formats.documents.site_lines import LeftOut
    from goldbench.pipeline.grade.build_order import BuildOrder

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders or quoted globs.")]


@takes("documents", "chunk", "generate", "critics", "model")
def build(
    paths: Paths,
    out: Annotated[Path, output_option("--out", metavar="DIR", help="Folder of the gold set.")],
    settings: Config,
    replace: Annotated[bool, output_option("--replace", help="Replace a set with other settings in DIR.")] = False,
    answers: Answers = None,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
    grade: Annotated[bool, judging_option("--grade", help="Also judge a pool, as goldbench grade does.")] = False,
) -> None:
    """Build a gold set from documents.

    Queries are written from the documents, each with the passage that answers it.
    """
    from goldbench.pipeline.grade.preparation import check_replay

    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    store = answers or answers_beside(out)
    order = _order(settings, paths, out, store, replace=replace, batch=batch, replay=replay, grade=grade)
    if dry_run:
        _plan(order)
        return
    try:
        complete = _build(order)
    except KeyboardInterrupt:
        how = "the provider finishes the batches, and the same command fetches them" if batch else GO_ON
        raise Interrupted(how) from None
    if not complete:
        raise typer.Exit(DONE_WITH_FAILURES)


def _order(config: Config, paths: list[str], out: Path, answers: Path, **flags: bool) -> BuildOrder:
    from goldbench.pipeline.build.inputs import find_documents
    from goldbench.pipeline.grade.build_order import BuildOrder

    kept = None if flags["replace"] else decisions_kept(out)
    decisions = kept.put_on if kept else None
    return BuildOrder(
        config=config, found=find_documents(paths), out=out, answers=answers, decisions=decisions, **flags
    )


def _build(order: BuildOrder) -> bool:
    """Build, print the result, and return whether it is complete."""
    import asyncio

    from goldbench.pipeline.grade.build_order import carry_out
    from goldbench.pipeline.report.terminal import TerminalProgress

    console, messages = console_for(), console_for(stderr=True)
    built = asyncio.run(carry_out(order, progress=TerminalProgress(messages), say=messages.print))
    _report(console, messages, built.result, order.out, built.config)
    if built.graded is not None:
        show_grading(console, messages, built.graded, accounts=False)
        if (problem := built.graded.problem(order.out, built=True)) is not None:
            raise problem
    return built.complete


def _plan(order: BuildOrder) -> None:
    import asyncio

    from goldbench.pipeline.grade.build_order import plan
    from goldbench.pipeline.report.build_text import plan_notes, plan_table
    from goldbench.pipeline.report.terminal import TerminalProgress

    console, messages = console_for(), console_for(stderr=True)
    planned = asyncio.run(plan(order, progress=TerminalProgress(messages)))
    if planned.grading is not None:
        console.print(planned.grading)
    if planned.drawn is None:
        console.print(f"{planned.announcement} 0 requests, no cost.")
        return
    console.print(plan_table(planned.stages))
    for line in plan_notes(planned.stages, planned.drawn, planned.config):
        console.print(line)


@takes("documents", "chunk")
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
    from goldbench.pipeline.build.inputs import cut, find_documents
    from goldbench.pipeline.errors import explained
    from goldbench.pipeline.formats.jsonl import write_lines
    from goldbench.pipeline.text.display import amount

    messages, failures = console_for(stderr=True), []
    left_out: list[LeftOut] = []

    def on_failure(error: GoldbenchError) -> None:
        failures.append(error)
        messages.print(f"skipped {error}", style="yellow")

    found = find_documents(paths)
    if out is not None and any(out.resolve() == file.path.resolve() for file in found.files):
        raise UsageError(f"--out {out}: is one of the documents; give another file")
    with explained(out or Path("standard output")):
        count = write_lines(out, cut(settings, found, on_failure=on_failure, on_left_out=left_out.append))
    for note in (note for one in left_out for note in one.notes()):
        messages.print(note)
    messages.print(amount(count, "chunk") + (f" in {out}" if out else ""))
    if failures:
        raise typer.Exit(DONE_WITH_FAILURES)


def _report(console: Console, messages: Console, result: Result, out: Path, config: Config) -> None:
    from goldbench.pipeline.build.books import warning
    from goldbench.pipeline.report.build_text import funnel, mixture, shortfall, spending, writers_of
    from goldbench.pipeline.text.display import queries

    manifest = result.manifest
    console.print(funnel(manifest))
    for line in (*writers_of(manifest), *mixture(manifest.requested), *spending(manifest.usage)):
        console.print(line)
    for line in shortfall(manifest, limit=result.limit, target_met=result.target_met):
        messages.print(line, style="yellow")
    if manifest.evidence_level == "smoke":
        messages.print(f"Warning: {warning(config)}", style="yellow")
    console.print(f"\n{queries(manifest.queries)} in {out / DATASET} (also {out / BEIR}, {out / TREC})")
    console.print(f"Next: goldbench validate {out}")
