"""``goldbench split``: a gold set divided into parts for development and test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from goldbench.cli.options import beside, input_option, output_option, statistics_option
from goldbench.cli.output import screen
from goldbench.errors import DONE_IN_PART


def split(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.")],
    shares: Annotated[str, input_option(metavar="LIST", help="Parts and their shares, as dev=0.3,test=0.7.")],
    by: Annotated[
        Literal["query", "source"],
        input_option("--by", help="Keep linked queries or documents together (default: query)."),
    ] = "query",
    seed: Annotated[int, statistics_option(metavar="N", min=0, help="Seed of the random order (default: 0).")] = 0,
    out: Annotated[
        Path | None, output_option(metavar="DIR2", help="New folder of the parts (default: DIR-parts).")
    ] = None,
) -> None:
    """Divide a gold set into dev and test.

    Each part is a set of its own below the new folder, with the whole corpus. Queries stay on one side that share a
    passage or a near-duplicate of it, have almost the same words, belong to one conversation, or are a noisy form of
    one another. Labels, judgments and applied reviews go with their query; the ledger of a review stays in DIR.
    Exits with 3 if linked queries do not add up to the numbers asked for.
    """
    from goldbench.goldset.division import parse_shares, split_set
    from goldbench.goldset.folder import GoldFolder
    from goldbench.text.display import amount, queries

    place = out or beside(folder, "-parts")
    found = split_set(folder, place, shares=parse_shares(shares), by=by, seed=seed)
    for part in found.parts:
        unanswered = f", {queries(part.unanswerable)} without an answer" if part.unanswerable else ""
        screen.show(
            f"{part.name}: {queries(part.queries)}{unanswered}, {amount(part.labels, 'label')} in {part.folder}"
        )
    screen.add(
        parts=[
            {"name": one.name, "queries": one.queries, "wanted": one.wanted, "folder": str(one.folder)}
            for one in found.parts
        ],
        groups=found.groups,
    )
    screen.note(f"{amount(found.groups, 'group')} of queries that stay together, the largest of {found.largest}.")
    if found.shared:
        screen.note(
            f"{amount(found.shared, 'passage')} relevant to queries of several parts, written from other passages."
        )
    ledger = GoldFolder(folder).ledger
    if ledger.is_file():
        screen.note(f"Not copied: {ledger}; decisions that were not applied are in no part.")
    missed = [part for part in found.parts if part.queries != part.wanted]
    for part in missed:
        screen.note(f"{part.name}: {queries(part.queries)}, not {part.wanted}: linked queries stay together.")
    if missed:
        raise typer.Exit(DONE_IN_PART)
