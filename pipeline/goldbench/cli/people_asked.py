"""The question before a command replaces a set that people judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from goldbench.cli.options import output_option
from goldbench.cli.review_files import decisions_kept
from goldbench.errors import UsageError

Yes = Annotated[bool, output_option("--yes", help="Do not ask before replacing a set people judged.")]


def ask_before_replacing(folder: Path, *, replace: bool, yes: bool) -> None:
    """Say what people decided about the set that is to be replaced, and ask whether to go on; nobody's work is deleted.

    Args:
        folder: The folder that the new set is to take.
        replace: Whether the set in it may be replaced; if not, nothing is asked.
        yes: Whether the answer is yes.

    Raises:
        UsageError: The answer is no, or there is no terminal to ask at.
    """
    decisions_kept(folder, strict=False)
    said = _decided(folder) if replace else None
    if said is None:
        return
    typer.echo(said, err=True)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("--replace: people judged the set here; nothing was changed; add --yes to replace it")
    if not typer.confirm("Replace the set?", err=True):
        raise UsageError("--replace: nothing was changed")


def _decided(folder: Path) -> str | None:
    """Return how many decisions people made on the set in a folder and where they stay; None if there are none."""
    from goldbench.goldset.folder import GoldFolder
    from goldbench.text.display import amount, shown

    home = GoldFolder(folder)
    if home.ledger.is_file():
        from goldbench.review.settled_decisions import settled_decisions

        found = settled_decisions(folder)
        count = 0 if found is None else len(found.verdicts) + sum(map(len, found.grades.values()))
        where = shown(home.ledger)
    else:
        count, where = _applied(home.metadata()) if home.has_reviews_applied() else 0, "the ledger they were made in"
    if not count:
        return None
    return (
        f"People made {amount(count, 'decision')} about the set in {shown(folder)}. They stay in {where}, and hold for "
        "the new set where query and passage have the same text."
    )


def _applied(metadata: Mapping[str, object]) -> int:
    """Return how many judgments and queries an applied review decided."""
    review = metadata.get("review")
    judgments = review.get("judgments") if isinstance(review, Mapping) else None
    queries = review.get("queries") if isinstance(review, Mapping) else None
    people = judgments.get("people") if isinstance(judgments, Mapping) else 0
    return (people if isinstance(people, int) else 0) + (len(queries) if isinstance(queries, Mapping) else 0)
