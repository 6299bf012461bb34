"""``goldbench card``: how far a gold set can be trusted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.pipeline.cli.options import output_option
from goldbench.pipeline.cli.run_options import Seed

if TYPE_CHECKING:
    from goldbench.schemas.set_card import Card


def card(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set: built, graded or imported.")],
    seed: Seed = 0,
    form: Annotated[
        Literal["table", "markdown", "json"], output_option("--format", help="What to print (default: table).")
    ] = "table",
    write: Annotated[
        bool, output_option("--write/--no-write", help="Write card.md and card.json into DIR (default: write).")
    ] = True,
) -> None:
    """Show how far a gold set can be trusted.

    Covers coverage, overlap, unjudged passages, the judge, and what rankings by the set are worth.
    """
    from goldbench.pipeline.text.language import load_ahead

    load_ahead()
    from goldbench.pipeline.card import make_card, write_card

    made = make_card(folder, seed=seed)
    if write:
        paths = write_card(folder, made)
    _print(made, form)
    if write:
        typer.echo(f"Written: {', '.join(map(str, paths))}", err=True)


def _print(made: Card, form: str) -> None:
    from goldbench.pipeline.report import card_text as report
    from goldbench.pipeline.report.verdict_text import verdict_lines
    from goldbench.pipeline.text.display import printable

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
        for line in [*verdict_lines(made.verdict), printable(report.heading(made))]:
            console.print(line)
        console.print(report.table(made))
        console.print(report.verdict(made))
    for line in report.remarks(made):
        typer.echo(printable(line), err=True)
