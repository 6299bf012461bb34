"""``goldbench validate``: a run folder read again and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldbench.pipeline.cli.options import console_for


def validate(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.")]) -> None:
    """Check every reference of a gold set.

    Reads the set again and also checks spans and copies of texts.
    """
    from goldbench.pipeline.goldset.gold_path import holds_no_query
    from goldbench.pipeline.goldset.integrity import validate as check
    from goldbench.pipeline.text.display import amount, queries

    found = check(folder)
    console = console_for()
    for problem in found.problems:
        console.print(f"{folder}: {problem}", style="red")
    console.print(
        f"{amount(found.documents, 'document')}, {amount(found.chunks, 'chunk')}, {queries(found.queries)}, "
        f"{amount(found.labels, 'label')}: "
        + (amount(len(found.problems), "problem") if found.problems else "every reference and span holds")
        + (f"; version {found.version.version}, content {found.version.content_sha256[:12]}" if found.version else "")
        + ("" if found.queries else f"; {holds_no_query(folder)}, so it measures nothing")
    )
    if found.problems:
        raise typer.Exit(1)
