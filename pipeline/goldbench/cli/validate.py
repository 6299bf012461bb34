"""``goldbench validate``: a run folder read again and checked."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from goldbench.cli.output import screen
from goldbench.errors import NEGATIVE


def validate(folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.")]) -> None:
    """Check every reference of a gold set.

    Reads the set again and also checks spans and copies of texts.
    """
    from goldbench.goldset.gold_path import holds_no_query
    from goldbench.goldset.integrity import validate as check
    from goldbench.text.display import amount, queries

    found = check(folder)
    screen.add(
        valid=not found.problems,
        problems=list(map(str, found.problems)),
        documents=found.documents,
        chunks=found.chunks,
        queries=found.queries,
        labels=found.labels,
    )
    screen.show(*(f"{folder}: {problem}" for problem in found.problems), style="red")
    screen.show(
        f"{amount(found.documents, 'document')}, {amount(found.chunks, 'chunk')}, {queries(found.queries)}, "
        f"{amount(found.labels, 'label')}: "
        + (amount(len(found.problems), "problem") if found.problems else "every reference and span holds")
        + (f"; content {found.content_sha256[:12]}" if found.content_sha256 else "")
        + ("" if found.queries else f"; {holds_no_query(folder)}, so it measures nothing")
    )
    if found.problems:
        raise typer.Exit(NEGATIVE)
    if found.queries:
        screen.explain(f"Next: goldbench bench {shlex.quote(str(folder))} --system bm25")
