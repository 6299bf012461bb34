"""``goldbench rechunk``: the same gold set on another chunking."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldbench.cli.options import beside, chunk_option, output_option, print_list
from goldbench.cli.output import screen
from goldbench.cli.people_asked import Yes, ask_before_replacing
from goldbench.goldset.file_names import DATASET, MANIFEST, REJECTIONS

SHOWN = 10
"""Most queries left out, and most skipped documents, that are named on the screen."""


def rechunk(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a gold set.")],
    chunk_size: Annotated[int, chunk_option("--chunk-size", metavar="N", min=1, help="Characters per chunk.")],
    chunk_overlap: Annotated[
        int | None,
        chunk_option("--chunk-overlap", metavar="N", help="Characters shared by neighbours (default: size / 10)."),
    ] = None,
    out: Annotated[
        Path | None, output_option("--out", metavar="DIR2", help="Output folder (default: DIR-SIZE-OVERLAP).")
    ] = None,
    replace: Annotated[bool, output_option("--replace", help="Replace a set with other settings in DIR2.")] = False,
    yes: Yes = False,
) -> None:
    """Move a gold set to another chunking.

    The queries and the documents stay the same, and no model is called. Retrievers on both chunkings can be compared.
    """
    from goldbench.goldset.projection import write_rechunked
    from goldbench.text.display import amount, queries

    overlap = chunk_size // 10 if chunk_overlap is None else chunk_overlap
    place = out or beside(folder, f"-{chunk_size}-{overlap}")
    ask_before_replacing(place, replace=replace, yes=yes)
    outcome = write_rechunked(folder, place, size=chunk_size, overlap=overlap, replace=replace)
    screen.add(
        folder=str(place),
        manifest=outcome.manifest.model_dump(mode="json"),
        skipped=list(map(str, outcome.skipped)),
        left_out=dict(outcome.left_out),
        passages_lost=outcome.passages_lost,
    )
    screen.note(*outcome.set_aside)
    screen.show(f"{queries(outcome.manifest.queries)} in {place / DATASET}")
    print_list((f"skipped {line}" for line in outcome.skipped), shown=SHOWN, rest=f"more, all in {place / MANIFEST}")
    if outcome.passages_lost:
        screen.note(
            f"{amount(outcome.passages_lost, 'relevant passage')} besides the source: the evidence is in no new chunk, "
            "so no chunk is labelled"
        )
    left_out = (f"left out {query_id}: {reason}" for query_id, reason in outcome.left_out.items())
    print_list(left_out, shown=SHOWN, rest=f"more, all in {place / REJECTIONS}")
