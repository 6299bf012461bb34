"""``goldset grade`` and ``goldset topup``: a pool of chunks for every query, each graded 0 to 3 by a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

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
from pipeline.goldset.file_names import BEIR, DATASET, TREC, answers_beside

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.config import Config
    from pipeline.grade import Graded, Work

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a build or an import.")]
Model = Annotated[str | None, typer.Option(metavar="M", help="The model that judges first.")]
Depth = Annotated[int | None, typer.Option(metavar="N", min=1, help="Results of each retriever that are judged (10).")]
Judges = Annotated[
    str | None, typer.Option(metavar="LIST", help="Further models, asked about pairs in doubt; none: other wordings.")
]
PanelOption = Annotated[
    Literal["escalate", "all"] | None, typer.Option(help="Which pairs go to every judge (escalate: those in doubt).")
]
Canaries = Annotated[
    float | None, typer.Option(metavar="SHARE", min=0, max=0.5, help="Calls that test the judge (0.05).")
]
PerCall = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, max=50, help="Passages per call (1); more is cheaper, agreement not measured."),
]
Runs = Annotated[
    list[str] | None, typer.Option("--run", metavar="NAME=FILE", help="A run whose results are judged as well.")
]
Replace = Annotated[bool, typer.Option("--replace", help="Put new grades in the place of another judge's.")]


def grade(  # noqa: PLR0913, PLR0917  a command has as many options as it has
    folder: Folder,
    config: ConfigFile = None,
    run: Runs = None,
    depth: Depth = None,
    judges: Judges = None,
    panel: PanelOption = None,
    canaries: Canaries = None,
    passages_per_call: PerCall = None,
    model: Model = None,
    base_url: BaseUrl = None,
    answers: Answers = None,
    replace: Replace = False,
    concurrency: Concurrency = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    deadline: Deadline = None,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Judge a pool of chunks for every query of a set, and put graded labels in the place of its own."""
    settings = configured(
        config,
        grade=grade_table(depth, judges, panel, canaries, passages_per_call),
        model=model_table(model, base_url, concurrency, max_requests, max_tokens, max_usd, deadline),
    )
    how = How(tuple(run or ()), replay=replay, batch=batch, replace=replace, dry_run=dry_run)
    _go(folder, settings, answers, how)


def topup(  # noqa: PLR0913, PLR0917  a command has as many options as it has
    folder: Folder,
    run: Annotated[list[str], typer.Option("--run", metavar="NAME=FILE", help="The run whose holes are judged.")],
    config: ConfigFile = None,
    depth: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Results of the run that are judged (as the pool's).")
    ] = None,
    judges: Judges = None,
    panel: PanelOption = None,
    canaries: Canaries = None,
    passages_per_call: PerCall = None,
    model: Model = None,
    base_url: BaseUrl = None,
    answers: Answers = None,
    concurrency: Concurrency = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    max_usd: MaxUsd = None,
    deadline: Deadline = None,
    replay: Replay = False,
    batch: Batch = False,
    dry_run: DryRun = False,
) -> None:
    """Judge what a new run finds and nobody has judged yet, and write the labels again."""
    settings = configured(
        config,
        grade=grade_table(None, judges, panel, canaries, passages_per_call),
        model=model_table(model, base_url, concurrency, max_requests, max_tokens, max_usd, deadline),
    )
    how = How(tuple(run), replay=replay, batch=batch, dry_run=dry_run, again=True, depth=depth)
    _go(folder, settings, answers, how)


def grade_table(
    depth: int | None, judges: str | None, panel: str | None, canaries: float | None, passages_per_call: int | None
) -> dict[str, Any]:
    """Return the table ``[grade]`` of a command line."""
    return {
        "depth": depth,
        "judges": named(judges),
        "panel": panel,
        "canaries": canaries,
        "passages_per_call": passages_per_call,
    }


@dataclass(frozen=True, slots=True)
class How:
    """How a grading is run; see the options of the commands."""

    runs: tuple[str, ...] = ()
    replay: bool = False
    batch: bool = False
    replace: bool = False
    dry_run: bool = False
    again: bool = False
    depth: int | None = None


def _go(folder: Path, config: Config, answers: Path | None, how: How) -> None:
    import asyncio

    check_replay(replay=how.replay, batch=how.batch, dry_run=how.dry_run)
    _check_folder(folder)
    from pipeline.grade import ModelPanel, Work, grade_folder
    from pipeline.grade.preparation import judging, pools
    from pipeline.report.terminal import TerminalProgress

    config = asyncio.run(judging(config, asks=not how.replay and not how.dry_run, replay=how.replay))
    store = answers or answers_beside(folder)
    console, messages = console_for(), console_for(stderr=True)
    panel = ModelPanel(config, store, replay=how.replay, batches=messages.print if how.batch else None)
    opened = pools(config, store, how.runs, replay=how.replay, again=how.again, depth=how.depth, dry_run=how.dry_run)
    with opened as chosen:
        work = Work(
            panel=panel, pools=chosen, progress=TerminalProgress(messages), say=messages.print, replace=how.replace
        )
        if how.dry_run:
            asyncio.run(_plan(folder, work, console, batch=how.batch))
            return
        graded = asyncio.run(grade_folder(folder, work))
    show(console, messages, graded)
    console.print(f"\nGraded labels in {folder / DATASET} (also {folder / BEIR}, {folder / TREC})")
    console.print(f"Next: goldset validate {folder}")
    if not graded.complete:
        raise typer.Exit(DONE_WITH_FAILURES)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds no finished set, before anything is made in it.

    Raises:
        InputError: It holds none.
    """
    from pipeline.goldset.folder import GoldFolder

    home = GoldFolder(folder)
    if not home.is_half_published():
        home.manifest()


async def _plan(folder: Path, work: Work, console: Console, *, batch: bool) -> None:
    from pipeline.grade import plan_folder
    from pipeline.report.build_text import plan_table
    from pipeline.text.display import dollars

    stages, queries = await plan_folder(folder, work, share_of_price=0.5 if batch else 1.0)
    console.print(plan_table(stages))
    requests = sum(row.requests for row in stages if not row.stage.endswith("(about)"))
    console.print(
        f"{requests:,} requests for {queries:,} queries, {requests / max(1, queries):.1f} a query; exact, if every "
        "reply shows the quote it must. Which pairs are in doubt is known once they are judged: about 23 % of a pool."
    )
    known = [row.usd for row in stages]
    if known and all(usd is not None for usd in known):
        console.print(f"About {dollars(sum(usd or 0.0 for usd in known) / max(1, queries))} a query.")
    elif known:
        name = work.panel.config.model.name
        console.print(f"The price of {name} is not known: set usd_per_million_input and usd_per_million_output.")
    console.print("Nothing was sent or written.")


def show(console: Console, messages: Console, graded: Graded, *, accounts: bool = True) -> None:
    """Print what a grading came to, and what each account of it cost unless that was said already."""
    from pipeline.report.build_text import spending
    from pipeline.report.grading_text import cost_per_query, graded_lines, grading_warnings

    manifest = graded.manifest
    for line in graded_lines(graded.grading, manifest):
        console.print(line)
    usage = graded.usage
    for line in spending(usage) if accounts else ():
        console.print(line)
    queries = next(report.read for report in manifest.stages if report.stage == "judge-check")
    console.print(cost_per_query(usage, max(1, queries)))
    for line in grading_warnings(graded.grading, graded.failures, graded.limit, queries=manifest.queries):
        messages.print(line, style="yellow")
