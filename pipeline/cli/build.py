"""``goldset build`` and ``goldset chunk``: documents in, a gold set or its chunks out."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pipeline.cli.grade import show as show_grading
from pipeline.cli.options import (
    DONE_WITH_FAILURES,
    Answers,
    BaseUrl,
    Batch,
    Concurrency,
    ConfigFile,
    Deadline,
    DryRun,
    MaxRequests,
    MaxTokens,
    MaxUsd,
    Replay,
    check_replay,
    configured,
    console_for,
    model_table,
    named,
)
from pipeline.errors import GoldsetError, UsageError
from pipeline.goldset.file_names import ANSWERS, BEIR, DATASET, TREC

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.build.flow import Result
    from pipeline.config import Config

GO_ON = "run the same command again to go on"


class Interrupted(Exception):
    """The user ended the command; the message says how to go on."""

    exit_code = 130


Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders or quoted globs.")]
TextField = Annotated[str | None, typer.Option(help="Column or key that holds the text of a row.")]
IdField = Annotated[str | None, typer.Option(help="Column or key that holds the id of a row; kept as it is.")]
TitleField = Annotated[str | None, typer.Option(help="Column or key that holds the title of a row.")]
NoChunk = Annotated[bool | None, typer.Option("--no-chunk", help="Take each row or file as one ready chunk.")]
Size = Annotated[int | None, typer.Option("--chunk-size", metavar="N", help="Characters per chunk (1000).")]
Overlap = Annotated[int | None, typer.Option("--chunk-overlap", metavar="N", help="Shared by neighbours (size / 10).")]
Limit = Annotated[int | None, typer.Option("--limit-documents", metavar="N", help="Read only the first N documents.")]
Strict = Annotated[bool | None, typer.Option("--strict", help="End at the first document that cannot be read.")]


def build(  # noqa: PLR0913, PLR0917  a command has as many options as it has
    paths: Paths,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the run goes.")],
    config: ConfigFile = None,
    queries: Annotated[int | None, typer.Option(metavar="N", help="How many queries must come out.")] = None,
    per_chunk: Annotated[int | None, typer.Option(metavar="N", help="Queries per chunk, 1 to 3 (1).")] = None,
    chunk_size: Size = None,
    chunk_overlap: Overlap = None,
    no_chunk: NoChunk = None,
    text_field: TextField = None,
    id_field: IdField = None,
    title_field: TitleField = None,
    language: Annotated[str | None, typer.Option(metavar="L", help="Language of the queries, as en or zh.")] = None,
    generator: Annotated[Literal["auto", "model", "offline"] | None, typer.Option(help="Who writes (auto).")] = None,
    offline_recipe: Annotated[
        Literal["terms", "held-out", "mixed"] | None, typer.Option(help="How queries are simulated (terms).")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="The model's name at its server.")] = None,
    base_url: BaseUrl = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Another seed draws other chunks (0).")] = None,
    limit_documents: Limit = None,
    strict: Strict = None,
    answers: Answers = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a run with other settings in DIR.")] = False,
    concurrency: Concurrency = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    deadline: Deadline = None,
    critics: Annotated[
        str | None, typer.Option(metavar="LIST", help="grounded,stand-alone,useful: who judges each query; or none.")
    ] = None,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
    grade: Annotated[
        bool, typer.Option("--grade", help="Judge a pool of chunks for every query, as goldset grade does.")
    ] = False,
) -> None:
    """Build a gold set: documents in, queries with known answers out."""
    settings = configured(
        config,
        documents=documents_table(text_field, id_field, title_field, limit_documents, no_chunk=no_chunk, strict=strict),
        chunk={"size": chunk_size, "overlap": chunk_overlap},
        generate={
            "generator": generator,
            "recipe": offline_recipe,
            "queries": queries,
            "seed": seed,
            "constraints": {"language": language, "per_chunk": per_chunk},
        },
        critics={"use": named(critics)},
        model=model_table(model, base_url, concurrency, max_requests, max_tokens, max_usd, deadline),
    )
    check_replay(replay=replay, batch=batch, dry_run=dry_run)
    store = answers or out.parent / ANSWERS
    import asyncio

    if dry_run:
        asyncio.run(_plan(settings, paths, out, store, replace=replace, batch=batch, grade=grade))
        return
    try:
        building = _build(settings, paths, out, store, replace=replace, batch=batch, replay=replay, grade=grade)
        result = asyncio.run(building)
    except KeyboardInterrupt:
        raise Interrupted("batches go on at the provider, the same command picks them up" if batch else GO_ON) from None
    if not result.complete:
        raise typer.Exit(DONE_WITH_FAILURES)


def documents_table(
    text_field: str | None,
    id_field: str | None,
    title_field: str | None,
    limit: int | None,
    *,
    no_chunk: bool | None,
    strict: bool | None,
) -> dict[str, Any]:
    """Return the table ``[documents]`` of a command line."""
    fields = {"text_field": text_field, "id_field": id_field, "title_field": title_field}
    return {**fields, "no_chunk": no_chunk, "limit": limit, "strict": strict}


async def _build(
    config: Config, paths: list[str], out: Path, answers: Path, *, replace: bool, batch: bool, replay: bool, grade: bool
) -> Result:
    from pipeline.build import flow
    from pipeline.build.inputs import find_documents
    from pipeline.build.writers import ModelWriter, writer_for
    from pipeline.report.build_text import passed_over
    from pipeline.report.terminal import TerminalProgress

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
    from pipeline.grade import preparation

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

    from pipeline.build import flow
    from pipeline.build.inputs import find_documents
    from pipeline.build.writers import OfflineWriter, writer_for
    from pipeline.goldset.folder import Claim, GoldFolder
    from pipeline.report.build_text import plan_notes, plan_table
    from pipeline.report.terminal import TerminalProgress

    console, messages = console_for(), console_for(stderr=True)
    found = find_documents(paths)
    writer = await writer_for(config, answers, asks=False)
    fingerprint = writer.config.fingerprint(writer.prompts)
    claim = Claim(writer.config.shaping(), fingerprint, replace=replace, graded=grade)
    GoldFolder(out).check_usable(claim)
    if grade:
        from pipeline.grade import preparation

        await preparation.judging(writer.config, asks=False)
        console.print(preparation.expected(writer.config, writer.config.generate.queries or flow.UP_TO))
    if isinstance(writer, OfflineWriter):
        console.print(f"{writer.announcement} 0 requests, no cost.")
        return
    with TemporaryDirectory(prefix="goldset-") as place:
        async with writer.rehearse() as (writing, planning):
            drawn = await flow.plan(writer.config, found, Path(place), writing, progress=TerminalProgress(messages))
            stages = planning.report(share_of_price=0.5 if batch else 1.0)
    console.print(plan_table(stages))
    for line in plan_notes(stages, drawn, writer.config):
        console.print(line)


def chunk(  # noqa: PLR0913, PLR0917  a command has as many options as it has
    paths: Paths,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write JSON Lines here, not to the screen.")
    ] = None,
    config: ConfigFile = None,
    chunk_size: Size = None,
    chunk_overlap: Overlap = None,
    no_chunk: NoChunk = None,
    text_field: TextField = None,
    id_field: IdField = None,
    title_field: TitleField = None,
    limit_documents: Limit = None,
    strict: Strict = None,
) -> None:
    """Only cut documents into chunks, one JSON object per line."""
    settings = configured(
        config,
        documents=documents_table(text_field, id_field, title_field, limit_documents, no_chunk=no_chunk, strict=strict),
        chunk={"size": chunk_size, "overlap": chunk_overlap},
    )
    from pipeline.build.inputs import cut, find_documents
    from pipeline.errors import explained
    from pipeline.formats.jsonl import write_lines
    from pipeline.text.display import amount

    messages, failures = console_for(stderr=True), []

    def on_failure(error: GoldsetError) -> None:
        failures.append(error)
        messages.print(f"skipped {error}", style="yellow")

    found = find_documents(paths)
    if out is not None and any(out.resolve() == file.path.resolve() for file in found.files):
        raise UsageError(f"{out}: is one of the documents; give another --out")
    with explained(out or Path("standard output")):
        count = write_lines(out, cut(settings, found, on_failure=on_failure))
    messages.print(amount(count, "chunk") + (f" in {out}" if out else ""))
    if failures:
        raise typer.Exit(DONE_WITH_FAILURES)


def _report(console: Console, messages: Console, result: Result, out: Path, config: Config) -> None:
    from pipeline.offline.notice import notice
    from pipeline.report.build_text import funnel, mixture, shortfall, spending
    from pipeline.text.display import queries

    manifest = result.manifest
    console.print(funnel(manifest))
    for line in (*mixture(manifest.mix), *spending(manifest.usage)):
        console.print(line)
    for line in shortfall(manifest, limit=result.limit, target_met=result.target_met):
        messages.print(line, style="yellow")
    if manifest.evidence_level == "smoke":
        messages.print(f"Warning: {notice(config.generate.recipe.value)}", style="yellow")
    console.print(
        f"\n{queries(manifest.queries)} in {out / DATASET} (also {out / BEIR}, {out / TREC})",
    )
    console.print(f"Next: goldset validate {out}")
