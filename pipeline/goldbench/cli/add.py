"""``goldbench add``: one's own queries, put into a gold set."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from goldbench.cli.options import limit_option, print_list, progress_console, takes
from goldbench.cli.output import screen

if TYPE_CHECKING:
    from goldbench.config import Config

SHOWN = 20
"""Most queries that the set has already and that are named on the screen."""


@takes("grade.depth")
def add(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set, built or imported.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="Queries: CSV, TSV, JSON Lines or text.")],
    settings: Config,
    dry_run: Annotated[bool, limit_option("--dry-run", help="Show what would be added; write nothing.")] = False,
) -> None:
    """Add your own queries to a gold set.

    FILE has a column query, or as .txt a query in each line. A query joins the set if its row says what answers it:
    ids of passages (column passages, separated by blanks), or words quoted from a document (column quote; column
    document names the file if several hold the words). The others wait: they get a pool of passages for goldbench
    grade or goldbench review, and join the set when a passage is found that answers them. A column answer is kept as
    the reference answer. No model is asked.
    """
    from goldbench.formats.own_queries import read_own_queries
    from goldbench.grade.addition import add_queries
    from goldbench.report.terminal import TerminalProgress
    from goldbench.text.display import printable, queries

    asked = read_own_queries(file)
    found = add_queries(folder, asked, file, settings, progress=TerminalProgress(progress_console()), dry_run=dry_run)
    if found.repeated:
        screen.note(f"{queries(len(found.repeated))} left out: in the set or in {file} already:")
    lines = (f"  line {one.line}: {printable(one.text)[:200]}" for one in found.repeated)
    print_list(lines, shown=SHOWN, rest="more")
    would = "would be " if dry_run else ""
    labelled, waiting = len(found.labelled), len(found.waiting)
    screen.add(dry_run=dry_run, labelled=labelled, waiting=waiting, left_out=[one.line for one in found.repeated])
    screen.show(f"{queries(labelled)} {would}added with labels, {queries(waiting)} {would}waiting for judgments")
    if dry_run:
        return
    place = shlex.quote(str(folder))
    if waiting:
        screen.explain(f"Next: goldbench grade {place} (a model judges), or goldbench review {place} (people judge)")
    elif labelled:
        screen.explain(f"Next: goldbench validate {place}")
