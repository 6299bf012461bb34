"""``goldbench diff``: what changed between two gold sets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import output_option
from goldbench.cli.output import screen
from goldbench.errors import NEGATIVE, InputError, UsageError

if TYPE_CHECKING:
    from goldbench.goldset.difference import Decisions


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="Gold set before: folder or dataset.json.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Gold set after: folder or dataset.json.")],
    markdown: Annotated[bool, output_option("--markdown", help="Print Markdown for a pull request.")] = False,
    examples: Annotated[
        int, output_option(metavar="N", min=0, help="Differences shown of each kind (default: 5).")
    ] = 5,
    exit_code: Annotated[bool, output_option("--exit-code", help="Exit with 1 if the sets differ.")] = False,
) -> None:
    """Show what changed between two gold sets.

    Compares documents, passages, queries, labels and people's decisions (of an applied review, and of the ledger in
    the folder, which is only read). The same text under another id is the same. A BEIR folder has no documents.
    Exits with 2 if a set cannot be read.
    """
    from goldbench.goldset.difference import compare_sets, read_contents, with_passage_texts
    from goldbench.report import difference_text as report

    if screen.json and markdown:
        raise UsageError("diff: --json and --markdown exclude one another; give one of them")
    try:
        people = _decisions(first), _decisions(second)
        found = compare_sets(read_contents(first), read_contents(second), people)
        found = with_passage_texts(found, (first, second), examples=examples)
    except InputError as error:
        raise UsageError(str(error)) from None
    names = first.as_posix(), second.as_posix()
    screen.add(**report.as_record(found, names))
    if markdown:
        typer.echo(report.markdown(found, names, examples=examples), nl=False)
    else:
        screen.show(*report.heading(names), *report.terminal_lines(found, examples=examples))
    if exit_code and found.differs:
        raise typer.Exit(NEGATIVE)


def _decisions(path: Path) -> Decisions | None:
    """Return the decisions in the ledger of a set's folder; the extra that reads it is needed only if there is one."""
    from goldbench.goldset.difference import home_of
    from goldbench.goldset.folder import GoldFolder

    folder = home_of(path)
    if not GoldFolder(folder).ledger.is_file():
        return None
    from goldbench.review.settled_decisions import settled_decisions

    return settled_decisions(folder, of_the_set=True)
