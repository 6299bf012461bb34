"""``goldbench card``: how far a gold set can be trusted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.cli.options import output_option
from goldbench.cli.output import screen
from goldbench.cli.run_options import Seed

if TYPE_CHECKING:
    from goldbench.records.set_card import Card


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
    from goldbench.card import make_card, write_card

    made = make_card(folder, seed=seed)
    if write:
        paths = write_card(folder, made)
    _print(made, form, folder)
    if write:
        screen.note(f"Written: {', '.join(map(str, paths))}")


def _print(made: Card, form: str, folder: Path) -> None:
    from goldbench.report import card_text as report

    if form == "json":
        typer.echo(made.model_dump_json(indent=1))
    elif form == "markdown":
        typer.echo(report.markdown(made), nl=False)
    else:
        _show(made, folder)
        if screen.verbose:
            screen.note(*report.remarks(made))
        elif made.notice:
            screen.warn(made.notice)


def _show(made: Card, folder: Path) -> None:
    """Print the verdict and the figures that limit it, with ``--verbose`` every figure with its meaning."""
    import shlex

    from goldbench.report import card_text as report
    from goldbench.report.verdict_text import first_lines, further_lines

    screen.show(*first_lines(made.verdict), report.heading(made), "")
    shown = made.figures if screen.verbose else report.doubtful(made)
    if shown:
        screen.described(report.figure_rows(shown, meanings=screen.verbose))
    screen.show(*report.named_queries(made, shlex.quote(str(folder))))
    further = further_lines(made.verdict, whole=screen.verbose)
    rest = "" if screen.verbose else f" goldbench card {shlex.quote(str(folder))} -v shows all of them."
    screen.show(*(["", *further] if further else []), f"{report.verdict(made)}{rest}")
