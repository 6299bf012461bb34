"""``goldbench build`` and ``goldbench chunk``: documents in, a gold set or its chunks out."""

from __future__ import annotations

import dataclasses
import functools
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
    check_replay,
    console_for,
    judging_option,
    output_option,
    takes,
)
from goldbench.pipeline.errors import GoldbenchError, UsageError
from goldbench.pipeline.goldset.file_names import BEIR, DATASET, TREC, answers_beside

if TYPE_CHECKING:
    from rich.console import Console

    from goldbench.pipeline.build.flow import Result
    from goldbench.pipeline.config import Config

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
    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    store = answers or answers_beside(out)
    import asyncio

    if dry_run:
        asyncio.run(_plan(settings, paths, out, store, replace=replace, batch=batch, grade=grade))
        return
    try:
        building = _build(settings, paths, out, store, replace=replace, batch=batch, replay=replay, grade=grade)
        result = asyncio.run(building)
    except KeyboardInterrupt:
        how = "the provider finishes the batches, and the same command fetches them" if batch else GO_ON
        raise Interrupted(how) from None
    if not result.complete:
        raise typer.Exit(DONE_WITH_FAILURES)


async def _build(
    config: Config, paths: list[str], out: Path, answers: Path, *, replace: bool, batch: bool, replay: bool, grade: bool
) -> Result:
    from goldbench.pipeline.build import flow
    from goldbench.pipeline.build.inputs import find_documents
    from goldbench.pipeline.build.writers import ModelWriter, writer_for
    from goldbench.pipeline.report.build_text import passed_over
    from goldbench.pipeline.report.terminal import TerminalProgress

    console, messages = console_for(), console_for(stderr=True)
    found = find_documents(paths)
    writer = await writer_for(config, answers, replay=replay)
    if batch and isinstance(writer, ModelWriter):
        writer.batches = messages.print
    messages.print(writer.announcement)
    for line in passed_over(found.ignored, found.repeated):
        messages.print(line)
    building = functools.partial(flow.build, writer, found, out, progress=TerminalProgress(messages), replace=replace)
    if not grade:
        result = await building()
        _report(console, messages, result, out, writer.config)
        return result
    from goldbench.pipeline.grade import preparation

    judging = await preparation.judging(writer.config, asks=not replay, replay=replay)
    progress = TerminalProgress(messages)
    opened = preparation.finishing(
        judging, answers, out, progress=progress, say=messages.print, replay=replay, batch=batch
    )
    with opened as (finish, graded):
        result = await building(finish=finish)
    _report(console, messages, result, out, writer.config)
    for item in graded:
        show_grading(console, messages, item, accounts=False)
        result = dataclasses.replace(result, target_met=result.target_met and item.complete)
    return result


async def _plan(
    config: Config, paths: list[str], out: Path, answers: Path, *, replace: bool, batch: bool, grade: bool
) -> None:
    from tempfile import TemporaryDirectory

    from goldbench.pipeline.build import flow
    from goldbench.pipeline.build.inputs import find_documents
    from goldbench.pipeline.build.writers import OfflineWriter, writer_for
    from goldbench.pipeline.goldset.folder import Claim, GoldFolder
    from goldbench.pipeline.report.build_text import plan_notes, plan_table
    from goldbench.pipeline.report.terminal import TerminalProgress

    console, messages = console_for(), console_for(stderr=True)
    found = find_documents(paths)
    writer = await writer_for(config, answers, asks=False)
    fingerprint = writer.config.fingerprint(writer.prompts)
    claim = Claim(writer.config.shaping(), fingerprint, replace=replace, graded=grade)
    GoldFolder(out).check_usable(claim)
    if grade:
        from goldbench.pipeline.grade import preparation

        await preparation.judging(writer.config, asks=False)
        console.print(preparation.expected(writer.config, writer.config.generate.queries or flow.UP_TO))
    if isinstance(writer, OfflineWriter):
        console.print(f"{writer.announcement} 0 requests, no cost.")
        return
    with TemporaryDirectory(prefix="goldbench-") as place:
        async with writer.rehearse() as (writing, planning):
            drawn = await flow.plan(writer.config, found, Path(place), writing, progress=TerminalProgress(messages))
            stages = planning.report(batch=batch)
    console.print(plan_table(stages))
    for line in plan_notes(stages, drawn, writer.config):
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

    def on_failure(error: GoldbenchError) -> None:
        failures.append(error)
        messages.print(f"skipped {error}", style="yellow")

    found = find_documents(paths)
    if out is not None and any(out.resolve() == file.path.resolve() for file in found.files):
        raise UsageError(f"--out {out}: is one of the documents; give another file")
    with explained(out or Path("standard output")):
        count = write_lines(out, cut(settings, found, on_failure=on_failure))
    messages.print(amount(count, "chunk") + (f" in {out}" if out else ""))
    if failures:
        raise typer.Exit(DONE_WITH_FAILURES)


def _report(console: Console, messages: Console, result: Result, out: Path, config: Config) -> None:
    from goldbench.pipeline.offline.notice import notice
    from goldbench.pipeline.report.build_text import funnel, mixture, shortfall, spending
    from goldbench.pipeline.text.display import queries

    manifest = result.manifest
    console.print(funnel(manifest))
    for line in (*mixture(manifest.mix), *spending(manifest.usage)):
        console.print(line)
    for line in shortfall(manifest, limit=result.limit, target_met=result.target_met):
        messages.print(line, style="yellow")
    if manifest.evidence_level == "smoke":
        messages.print(f"Warning: {notice(config.generate.recipe.value)}", style="yellow")
    console.print(f"\n{queries(manifest.queries)} in {out / DATASET} (also {out / BEIR}, {out / TREC})")
    console.print(f"Next: goldbench validate {out}")
