"""``goldset review apply``, ``report``, ``export``, ``import``: what becomes of people's decisions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from pipeline.errors import UsageError

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a build.")]
LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", metavar="URL", help="Where decisions are kept: a file or postgresql://… (DIR)."),
]
FormatOption = Annotated[
    Literal["native", "trec", "beir", "csv", "argilla", "label-studio"],
    typer.Option("--format", help="Native keeps everything; trec and beir settled grades only."),
]


def apply(
    folder: Folder,
    ledger: LedgerOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR2", help="Write a new set, leave this one alone.")] = None,
    reject_bad: Annotated[
        bool, typer.Option("--reject-bad", help="Reject every query that somebody called bad and nobody accepted.")
    ] = False,
) -> None:
    """Put people's grades and their decisions on queries into the set."""
    from pipeline.review.apply import apply_review

    made = apply_review(folder, ledger=ledger, out=out, reject_bad=reject_bad)
    dropped = ", ".join(f"{number:,} {reason}" for reason, number in made.dropped.items()) or "none"
    typer.echo(f"{made.queries:,} queries: {made.accepted:,} accepted, {made.edited:,} edited; left out: {dropped}")
    typer.echo(f"{made.people + made.model:,} judgments: {made.people:,} of people, {made.model:,} of the model")
    if made.carried:
        typer.echo(f"{made.carried:,} of people's were given to an earlier wording of an edited query", err=True)
    if made.undecided:
        typer.echo(
            f"{made.undecided:,} queries that somebody called bad are still in the set: decide, or give --reject-bad",
            err=True,
        )
    typer.echo(f"Written: {made.folder}")


def report(
    folder: Folder,
    ledger: LedgerOption = None,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="What to print.")] = "text",
    resamples: Annotated[int, typer.Option(metavar="N", min=100, help="Resamples of the queries.")] = 1000,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same intervals.")] = 0,
) -> None:
    """Say how far people agree with the model, with one another and with themselves, and whether to go on."""
    from pipeline.report.review_text import lines
    from pipeline.review.findings import report as made
    from pipeline.review.people import load_reviewed

    found = made(load_reviewed(folder, ledger), resamples=resamples, seed=seed)
    if form == "json":
        typer.echo(found.model_dump_json(indent=2))
        return
    for line in lines(found):
        typer.echo(line)


def export(
    folder: Folder,
    out: Annotated[
        Path, typer.Option("--out", metavar="PATH", help="A file; a folder for beir, argilla, label-studio.")
    ],
    form: FormatOption = "native",
    ledger: LedgerOption = None,
    with_model_labels: Annotated[
        bool, typer.Option("--with-model-labels", help="Take the model's grades along: whoever judges will see them.")
    ] = False,
    min_submitted: Annotated[
        int, typer.Option("--min-submitted", metavar="N", min=1, help="How many people judge a pair in Argilla.")
    ] = 1,
) -> None:
    """Write what people decided, for this and other tools."""
    from pipeline.review.exports import export as write
    from pipeline.review.people import load_reviewed

    if with_model_labels and form in {"native", "trec", "beir"}:
        raise UsageError(f"--with-model-labels: {form} holds people's decisions alone")
    reviewed = load_reviewed(folder, ledger, create=True)
    for path in write(reviewed, form, out, with_model_labels=with_model_labels, wanted=min_submitted):
        typer.echo(f"Written: {path}")


def import_(
    folder: Folder,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What was exported, here or by the other tool.")],
    form: FormatOption = "native",
    ledger: LedgerOption = None,
    annotator: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose judgments they are; trec and beir do not say.")
    ] = None,
) -> None:
    """Take judgments made elsewhere into the ledger: all of a file, or nothing."""
    from datetime import UTC, datetime

    from pipeline.review.imports import import_file
    from pipeline.review.ledger import ledger_url, open_ledger
    from pipeline.review.reviewable_set import load_reviewable

    material = load_reviewable(folder)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    with open_ledger(ledger_url(folder, ledger), data_sha=material.data_sha) as opened:
        done = import_file(file, form, material=material, ledger=opened, at=at, annotator=annotator)
    typer.echo(f"{done.read:,} read, {done.new:,} new")


commands: dict[str, Callable[..., Any]] = {"apply": apply, "report": report, "export": export, "import": import_}
