"""People's decisions about a set that a command replaces or changes."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from goldbench.cli.output import screen
from goldbench.errors import UsageError
from goldbench.text.display import amount, shown

if TYPE_CHECKING:
    from goldbench.review.kept_decisions import KeptDecisions


def decisions_kept(folder: Path, ledger: str | None = None, *, strict: bool = True) -> KeptDecisions | None:
    """Return the decisions applied to the set in a folder, None if there are none; the extra is asked for only then.

    Args:
        folder: The folder, which need not exist.
        ledger: The file of the ledger; None for the file in the folder.
        strict: Whether decisions whose ledger is elsewhere are an error; otherwise they count as none.

    Raises:
        OutputError: As `kept_decisions`.
    """
    from goldbench.goldset.folder import GoldFolder

    if not GoldFolder(folder).has_reviews_applied():
        return None
    from goldbench.review.kept_decisions import kept_decisions

    return kept_decisions(folder, ledger, strict=strict, say=screen.note)


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
    count, origin = _count_decisions(folder) if replace else (0, "")
    if not count:
        return
    typer.echo(
        f"People made {amount(count, 'decision')} about the set in {shown(folder)}. They stay in {origin}, and hold "
        "for the new set where query and passage have the same text.",
        err=True,
    )
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("--replace: people judged the set here; nothing was changed; add --yes to replace it")
    if not typer.confirm("Replace the set?", err=True):
        raise UsageError("--replace: nothing was changed")


def _count_decisions(folder: Path) -> tuple[int, str]:
    """Return how many decisions people made on the set in a folder, and where they stay."""
    from goldbench.goldset.folder import GoldFolder

    home = GoldFolder(folder)
    if home.ledger.is_file():
        from goldbench.review.ledger import open_ledger
        from goldbench.review.state import fold

        with open_ledger(home.ledger, data_sha="", create=False) as ledger:
            state = fold(ledger.events())
        return len(state.query_verdicts()) + sum(map(len, state.gold().values())), shown(home.ledger)
    return _count_applied(home.metadata()) if home.has_reviews_applied() else 0, "the ledger they were made in"


def _count_applied(metadata: Mapping[str, object]) -> int:
    """Return how many judgments and queries an applied review decided."""
    review = metadata.get("review")
    judgments = review.get("judgments") if isinstance(review, Mapping) else None
    queries = review.get("queries") if isinstance(review, Mapping) else None
    people = judgments.get("people") if isinstance(judgments, Mapping) else 0
    return (people if isinstance(people, int) else 0) + (len(queries) if isinstance(queries, Mapping) else 0)
