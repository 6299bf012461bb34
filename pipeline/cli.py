"""The ``goldset`` command: wires the parts together and prints. Heavy imports happen inside the commands."""

from __future__ import annotations

import dataclasses
import functools
import io
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer

from pipeline import (
    cli_agreement,
    cli_answers,
    cli_ask,
    cli_bench,
    cli_card,
    cli_compare,
    cli_drift,
    cli_feedback,
    cli_gate,
    cli_grade,
    cli_import,
    cli_monitor,
    cli_prompts,
    cli_rechunk,
    cli_retrieve,
    cli_review,
    cli_score,
)
from pipeline.errors import GoldsetError, UsageError
from prompts.loader import PromptError

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.config import Config
    from pipeline.flow import Result

DONE_WITH_FAILURES = 3
GO_ON = "run the same command again to go on"


class Interrupted(Exception):
    """The user ended the command; the message says how to go on."""

    exit_code = 130


app = typer.Typer(
    name="goldset",
    help="Turn a folder of documents into a retrieval test set one can trust.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

app.add_typer(cli_answers.app, name="answers")
app.add_typer(cli_prompts.app, name="prompts")
app.command("import")(cli_import.import_)
app.command()(cli_drift.drift)
app.command()(cli_feedback.feedback)
app.command()(cli_ask.ask)
app.command()(cli_retrieve.retrieve)
app.command()(cli_rechunk.rechunk)
app.command()(cli_score.score)
app.command()(cli_compare.compare)
app.command()(cli_bench.bench)
app.command()(cli_gate.gate)
app.command()(cli_agreement.agreement)
app.command()(cli_card.card)
app.command()(cli_grade.grade)
app.command()(cli_grade.topup)
app.add_typer(cli_monitor.app, name="monitor")
app.add_typer(cli_review.app, name="review")

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders or quoted globs.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A goldset.toml.")]
TextField = Annotated[str | None, typer.Option(help="Column or key that holds the text of a row.")]
IdField = Annotated[str | None, typer.Option(help="Column or key that holds the id of a row; kept as it is.")]
TitleField = Annotated[str | None, typer.Option(help="Column or key that holds the title of a row.")]
NoChunk = Annotated[bool | None, typer.Option("--no-chunk", help="Take each row or file as one ready chunk.")]
Size = Annotated[int | None, typer.Option("--chunk-size", metavar="N", help="Characters per chunk (1000).")]
Overlap = Annotated[int | None, typer.Option("--chunk-overlap", metavar="N", help="Shared by neighbours (size / 10).")]
Limit = Annotated[int | None, typer.Option("--limit-documents", metavar="N", help="Read only the first N documents.")]
Strict = Annotated[bool | None, typer.Option("--strict", help="End at the first document that cannot be read.")]


@app.command()
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
    base_url: Annotated[str | None, typer.Option(metavar="U", help="Any OpenAI-compatible server.")] = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Another seed draws other chunks (0).")] = None,
    limit_documents: Limit = None,
    strict: Strict = None,
    answers: Annotated[Path | None, typer.Option(metavar="FILE", help="The store of model answers.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace a run with other settings in DIR.")] = False,
    concurrency: Annotated[int | None, typer.Option(metavar="N", help="Most calls in flight at once (64).")] = None,
    max_requests: Annotated[int | None, typer.Option(metavar="N", help="Send no more requests than this.")] = None,
    max_tokens: Annotated[int | None, typer.Option(metavar="N", help="Spend no more tokens than this.")] = None,
    max_usd: Annotated[float | None, typer.Option(metavar="USD", help="Spend no more dollars than this.")] = None,
    deadline: Annotated[float | None, typer.Option(metavar="MIN", help="Ask nothing after so many minutes.")] = None,
    critics: Annotated[
        str | None, typer.Option(metavar="LIST", help="grounded,stand-alone,useful: who judges each query; or none.")
    ] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Answer from the store alone; no network.")] = False,
    batch: Annotated[bool, typer.Option("--batch", help="Send in batches: half the price, within a day.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; send and write nothing.")] = False,
    grade: Annotated[
        bool, typer.Option("--grade", help="Judge a pool of chunks for every query, as goldset grade does.")
    ] = False,
) -> None:
    """Build a gold set: documents in, queries with known answers out."""
    settings = _config(
        config,
        documents={
            "text_field": text_field,
            "id_field": id_field,
            "title_field": title_field,
            "no_chunk": no_chunk,
            "limit": limit_documents,
            "strict": strict,
        },
        chunk={"size": chunk_size, "overlap": chunk_overlap},
        generate={
            "generator": generator,
            "recipe": offline_recipe,
            "queries": queries,
            "seed": seed,
            "constraints": {"language": language, "per_chunk": per_chunk},
        },
        critics={"use": None if critics is None else named(critics)},
        model={
            "name": model,
            "base_url": base_url,
            "concurrency": concurrency,
            "max_requests": max_requests,
            "max_tokens": max_tokens,
            "max_usd": max_usd,
            "deadline_minutes": deadline,
        },
    )
    if replay and (batch or dry_run):
        raise UsageError("--replay asks nobody: leave out --batch and --dry-run")
    store = answers or out.parent / "answers.sqlite"
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


def named(text: str) -> list[str]:
    """Return the names in a list with commas; ``none`` is the empty list."""
    return [] if text.strip() == "none" else [name.strip() for name in text.split(",") if name.strip()]


async def _build(
    config: Config, paths: list[str], out: Path, answers: Path, *, replace: bool, batch: bool, replay: bool, grade: bool
) -> Result:
    from pipeline import flow
    from pipeline.formats.sources import find_files
    from pipeline.report.terminal import TerminalProgress, passed_over
    from pipeline.wiring import ModelWriter, writer_for

    console, messages = _console(), _console(stderr=True)
    found = find_files(paths)
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
    from pipeline.grading import opening

    judging = await opening.judging(writer.config, asks=not replay, replay=replay)
    progress = TerminalProgress(messages)
    opened = opening.finishing(judging, answers, out, progress=progress, say=messages.print, replay=replay, batch=batch)
    with opened as (finish, graded):
        result = await building(finish=finish)
    _report(console, messages, result, out, writer.config)
    for item in graded:
        cli_grade.show(console, messages, item, accounts=False)
        result = dataclasses.replace(result, target_met=result.target_met and item.complete)
    return result


async def _plan(
    config: Config, paths: list[str], out: Path, answers: Path, *, replace: bool, batch: bool, grade: bool
) -> None:
    from tempfile import TemporaryDirectory

    from pipeline import flow
    from pipeline.formats.folder import check_usable
    from pipeline.formats.sources import find_files
    from pipeline.report.plan import notes, plan_table
    from pipeline.report.terminal import TerminalProgress
    from pipeline.wiring import OfflineWriter, writer_for

    console, messages = _console(), _console(stderr=True)
    found = find_files(paths)
    writer = await writer_for(config, answers, asks=False)
    fingerprint = writer.config.fingerprint(writer.prompts)
    check_usable(out, settings=writer.config.shaping(), config_sha256=fingerprint, replace=replace, grades=grade)
    if grade:
        from pipeline.grading import opening

        await opening.judging(writer.config, asks=False)
        console.print(opening.expected(writer.config, writer.config.generate.queries or flow.UP_TO))
    if isinstance(writer, OfflineWriter):
        console.print(f"{writer.announcement} 0 requests, no cost.")
        return
    with TemporaryDirectory(prefix="goldset-") as place:
        async with writer.rehearse() as (writing, planning):
            drawn = await flow.plan(writer.config, found, Path(place), writing, progress=TerminalProgress(messages))
            stages = planning.report(share_of_price=0.5 if batch else 1.0)
    console.print(plan_table(stages))
    for line in notes(stages, drawn, writer.config):
        console.print(line)


@app.command()
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
    settings = _config(
        config,
        documents={
            "text_field": text_field,
            "id_field": id_field,
            "title_field": title_field,
            "no_chunk": no_chunk,
            "limit": limit_documents,
            "strict": strict,
        },
        chunk={"size": chunk_size, "overlap": chunk_overlap},
    )
    from pipeline.flow import cut
    from pipeline.formats.folder import explained
    from pipeline.formats.jsonl import write_lines
    from pipeline.formats.sources import find_files

    messages, failures = _console(stderr=True), []

    def on_failure(error: GoldsetError) -> None:
        failures.append(error)
        messages.print(f"skipped {error}", style="yellow")

    found = find_files(paths)
    if out is not None and any(out.resolve() == file.path.resolve() for file in found.files):
        raise UsageError(f"{out}: is one of the documents; give another --out")
    with explained(out or Path("standard output")):
        count = write_lines(out, cut(settings, found, on_failure=on_failure))
    messages.print(f"{count:,} chunks" + (f" in {out}" if out else ""))
    if failures:
        raise typer.Exit(DONE_WITH_FAILURES)


@app.command()
def validate(folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a finished run.")]) -> None:
    """Read a run again and check every reference, span and copy."""
    from pipeline.validate import validate as check

    found = check(folder)
    console = _console()
    for problem in found.problems:
        console.print(f"{folder}: {problem}", style="red")
    console.print(
        f"{found.documents:,} documents, {found.chunks:,} chunks, {found.queries:,} queries, {found.labels:,} labels: "
        + (f"{len(found.problems):,} problems" if found.problems else "every reference and span holds"),
    )
    if found.problems:
        raise typer.Exit(1)


@app.command()
def doctor(
    config: ConfigFile = None,
    model: Annotated[str | None, typer.Option(metavar="M", help="The model's name at its server.")] = None,
    base_url: Annotated[str | None, typer.Option(metavar="U", help="Any OpenAI-compatible server.")] = None,
) -> None:
    """Say what is configured, whether the model can be reached, and which local servers listen."""
    import asyncio

    from pipeline.doctor import examine

    healthy = True
    console = _console()
    for finding in asyncio.run(examine(_config(config, model={"name": model, "base_url": base_url}))):
        healthy = healthy and finding.good is not False
        mark = {True: "ok  ", False: "bad ", None: "    "}[finding.good]
        console.print(f"{mark}{finding.what}: {finding.says}")
    if not healthy:
        raise typer.Exit(1)


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"goldset {version('goldset')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


def _config(path: Path | None, **tables: dict[str, Any]) -> Config:
    from pipeline.config import load_config

    given = {
        name: {
            key: {k: v for k, v in value.items() if v is not None} or None if isinstance(value, dict) else value
            for key, value in table.items()
        }
        for name, table in tables.items()
    }
    return load_config(path, given)


def _console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=True, markup=False, highlight=False)


def _report(console: Console, messages: Console, result: Result, out: Path, config: Config) -> None:
    from pipeline.offline.notice import notice
    from pipeline.report.terminal import funnel, mixture, shortfall, spending

    manifest = result.manifest
    console.print(funnel(manifest))
    for line in (*mixture(manifest.mix), *spending(manifest.usage)):
        console.print(line)
    for line in shortfall(manifest, limit=result.limit, target_met=result.target_met):
        messages.print(line, style="yellow")
    if manifest.evidence_level == "smoke":
        messages.print(f"Warning: {notice(config.generate.recipe.value)}", style="yellow")
    console.print(
        f"\n{manifest.queries:,} queries in {out / 'dataset.json'} (also {out / 'beir'}, {out / 'trec'})",
    )
    console.print(f"Next: goldset validate {out}")


def main() -> None:
    """Run the command line; every error on purpose is one line and an exit code."""
    _prepare()
    try:
        code = app(standalone_mode=False)
        if code == Interrupted.exit_code:  # typer's own word for a KeyboardInterrupt
            code = _interrupted(GO_ON)
    except (typer.Abort, KeyboardInterrupt):
        code = _interrupted(GO_ON)
    except Interrupted as stop:
        code = _interrupted(str(stop))
    except PromptError as error:
        print(f"goldset: {_line(str(error))}", file=sys.stderr)
        code = UsageError.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        print(f"goldset: output cannot be written ({(error.strerror or 'closed').lower()})", file=sys.stderr)
        code = 1
    except GoldsetError as error:
        print(f"goldset: {_line(str(error))}", file=sys.stderr)
        code = error.exit_code
    except Exception as error:  # noqa: BLE001  the last resort: one line instead of a traceback
        code = _unexpected(error)
    sys.exit(code)


def _interrupted(how_to_go_on: str) -> int:
    print(f"goldset: interrupted; {how_to_go_on}", file=sys.stderr)
    return Interrupted.exit_code


def _prepare() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no «−» shows a question mark


def _interrupt(*_: object) -> NoReturn:
    """End at once: the event loop's own handler would wait for the next await, and whole stages have none.

    A second signal would only interrupt the tidying up.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _unexpected(error: Exception) -> int:
    """Print one line for what nobody foresaw; usage errors of the command line keep their own words."""
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        print(f"goldset: {_line(format_message())} (see goldset --help)", file=sys.stderr)
        return UsageError.exit_code
    if os.environ.get("GOLDSET_DEBUG"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    print(
        f"goldset: internal error, {type(error).__name__} at {place}; nothing was replaced. "
        "Set GOLDSET_DEBUG=1 for the traceback and report it.",
        file=sys.stderr,
    )
    return 1


def _line(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
