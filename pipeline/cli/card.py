"""``goldset card``: how far a gold set can be trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pipeline.goldset.file_names import CARD_JSON, CARD_MARKDOWN

if TYPE_CHECKING:
    from schemas.set_card import Card


def card(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a gold set: built, graded or imported.")],
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="The same seed gives the same card.")] = 0,
    form: Annotated[Literal["table", "markdown", "json"], typer.Option("--format", help="What to print.")] = "table",
    write: Annotated[
        bool, typer.Option("--write/--no-write", help=f"Whether {CARD_MARKDOWN} and {CARD_JSON} go into DIR.")
    ] = True,
) -> None:
    """Say how far a gold set can be trusted: coverage, overlap, holes, the judge, what rankings by it are worth."""
    from pipeline.card import make_card, write_card

    made = make_card(folder, seed=seed)
    if write:
        paths = write_card(folder, made)
    _print(made, form)
    if write:
        typer.echo(f"Written: {', '.join(map(str, paths))}", err=True)


def _print(made: Card, form: str) -> None:
    from pipeline.report import card_text as report
    from pipeline.text.display import printable

    if form == "json":
        typer.echo(made.model_dump_json(indent=1))
        return
    if form == "markdown":
        typer.echo(report.markdown(made), nl=False)
        return
    if not sys.stdout.isatty():
        typer.echo(report.plain(made), nl=False)
    else:
        from rich.console import Console

        console = Console(markup=False, highlight=False)
        console.print(printable(report.heading(made)))
        console.print(report.table(made))
        console.print(report.verdict(made))
    for line in report.remarks(made):
        typer.echo(printable(line), err=True)
