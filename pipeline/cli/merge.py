"""``goldbench merge``: two gold sets made into one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from goldbench.pipeline.cli.options import input_option, output_option, print_list
from goldbench.pipeline.cli.output import screen
from goldbench.pipeline.errors import NEGATIVE

if TYPE_CHECKING:
    from goldbench.pipeline.goldset.merged_folder import Merged
    from goldbench.pipeline.goldset.union import Conflict

_LEFT_OUT = {
    "wording": "the preferred set words them differently",
    "answerable": "they have an answer in one set only, and the preferred set stands",
    "held-out": "they need words that a query of the preferred set holds out, or the other way round",
    "passage-lost": "no passage of the merged set answers them",
}
"""Why queries of one set are left out, in words."""

SHOWN = 10
"""Most conflicts that are named on the screen; --json lists them all."""


def merge(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a gold set.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another gold set.")],
    out: Annotated[Path, output_option("--out", metavar="DIR", help="New folder of the merged set.")],
    prefer: Annotated[
        Literal["first", "second"] | None, input_option("--prefer", help="The set that is right in every conflict.")
    ] = None,
) -> None:
    """Make one gold set of two.

    Queries, passages and documents of the same text are taken once. Conflicts are listed, and nothing is written:
    two grades of one pair, two wordings or answers of one query, two texts of one document. With --prefer that set
    stands in each of them, and the manifest says so; no grade is averaged. Ledgers of reviews stay where they are.
    """
    from goldbench.pipeline.goldset.folder import GoldFolder
    from goldbench.pipeline.goldset.merged_folder import merge_sets
    from goldbench.pipeline.text.display import amount, queries

    found = merge_sets(first, second, out, prefer=prefer)
    screen.add(**_record(found, swapped=prefer == "second"))
    lines = (_line(one, swapped=prefer == "second") for one in found.conflicts)
    print_list(lines, shown=SHOWN, rest="more; --json lists all")
    if found.manifest is None:
        many = amount(len(found.conflicts), "conflict")
        typer.echo(f"goldbench: {many}; nothing was written; give --prefer first or --prefer second", err=True)
        raise typer.Exit(NEGATIVE)
    screen.show(f"{queries(found.manifest.queries)}, {amount(found.manifest.documents, 'document')} in {out}")
    for reason, count in sorted(found.reasons().items()):
        screen.note(f"{queries(count)} left out: {_LEFT_OUT.get(reason, reason)}.")
    if found.untested:
        screen.note(f"{queries(found.untested)} without an answer: nobody judged them against the new passages.")
    for folder in (first, second):
        if GoldFolder(folder).ledger.is_file():
            screen.note(f"Not copied: {GoldFolder(folder).ledger}; decisions that were not applied stay there.")


def _line(conflict: Conflict, *, swapped: bool) -> str:
    from goldbench.pipeline.text.display import one_line

    names = ("B", "A") if swapped else ("A", "B")
    said = sorted(f"{name}: {says}" for name, says in zip(names, conflict.says, strict=True) if says)
    text = one_line(" | ".join((*conflict.base, *said)))
    return f"conflict, {conflict.kind}: " + (text if len(text) <= 150 else text[:149] + "…")


def _record(found: Merged, *, swapped: bool) -> dict[str, object]:
    """Return what became of the merge for programs; the base is the second set if that is preferred."""
    names = ("b", "a") if swapped else ("a", "b")
    return {
        "written": found.manifest is not None,
        "conflicts": [
            {"kind": one.kind, names[0]: list(one.base), names[1]: list(one.other)}
            | {f"{name}_says": said for name, said in zip(names, one.says, strict=True) if said}
            for one in found.conflicts
        ],
        "left_out": dict(found.left_out),
    }
